"""Objects that stand beside the job: claims, volumes, classes, config maps, Secrets, accounts."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.pods.environment import Config
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.repair import Object
from hpclaunch.convert.secrets.names import is_name_of_code, tells_where
from hpclaunch.spec.tree import MappingNode
from hpclaunch.values.conversion import Place

_BY_NUMBER = "a job asks for GPUs by their number, and kubernetes.gpu_resource of the site says for which"
# What is done with objects of these kinds, which say nothing of the launch itself.
_SITE = {
    "ServiceAccount": "`hpclaunch site export rbac` makes it for a site",
    "Role": "`hpclaunch site export rbac` makes what jobs need for a site",
    "RoleBinding": "`hpclaunch site export rbac` makes what jobs need for a site",
    "ClusterRole": "`hpclaunch site export rbac` makes what jobs need for a site",
    "ClusterRoleBinding": "`hpclaunch site export rbac` makes what jobs need for a site",
    "SecurityContextConstraints": "`hpclaunch site export rbac` makes one for OpenShift",
    "Namespace": "jobs run in a namespace that is there: kubernetes.namespace of the site",
    "Service": "ranks find each other by the operator's own Service, or the scheduler",
    "PodGroup": "a site's kubernetes.gang places whole jobs",
    "LocalQueue": "a job names it: sites.NAME.queue",
    "ResourceClaim": _BY_NUMBER,
    "ResourceClaimTemplate": _BY_NUMBER,
}


_OF_CONFIG_MAPS = ("configMap", "configMapRef", "configMapKeyRef")


class Claims:
    """Claims with the volumes and classes behind them."""

    def __init__(
        self, given: Sequence[Object], scripts: Mapping[str, tuple[str, Place]] = MappingProxyType({})
    ) -> None:
        """`scripts` are files that the job's pods start, by their names."""
        self._scripts = scripts
        self._claims = _by_name(given, "PersistentVolumeClaim")
        self._volumes = _by_name(given, "PersistentVolume")
        self._classes = _by_name(given, "StorageClass")
        self._maps = _by_name(given, "ConfigMap")

    def has_map(self, name: str) -> bool:
        """Whether a config map of that name is given."""
        return name in self._maps

    def text_of(self, name: str, key: str) -> str:
        """What such a config map has for a key, as it is written, or a given file of that name."""
        if name not in self._maps:
            return self._scripts[key][0] if key in self._scripts else ""
        found = self._maps[name].get("data", key)
        return found.peek() if found is not None else ""

    def of(self, name: str) -> tuple[dict[str, object], list[Place]]:
        """What a site's volume says of a claim beside its name (see `site export storage`), and the lines."""
        claim = self._claims.get(name)
        spec = claim.get("spec") if claim is not None else None
        if claim is None or spec is None:
            return {}, []
        found: dict[str, object] = {}
        places = [claim.place]
        size = spec.get("resources", "requests", "storage")
        if size is not None:
            found["size"] = size.text()
        modes = [mode.text() for mode in _items(spec.get("accessModes"))]
        if modes and modes[0] != "ReadWriteMany":
            found["access"] = modes[0]
        kind = spec.get("storageClassName")
        if kind is not None:
            found["storage_class"] = kind.text()
        labels = spec.get("selector", "matchLabels")
        wanted = labels.pairs() if labels is not None else {}
        if wanted:
            found["labels"] = wanted
        self._behind(spec, str(found.get("storage_class", "")), wanted, found, places)
        return found, places

    def _behind(
        self, spec: Field, kind: str, wanted: dict[str, str], found: dict[str, object], places: list[Place]
    ) -> None:
        volume = self._volume(spec, wanted)
        source = volume.get("spec", "csi") if volume is not None else None
        if volume is not None and source is not None:
            driver, handle = source.get("driver"), source.get("volumeHandle")
            found["csi"] = {
                "driver": driver.text() if driver is not None else "",
                # A handle that was broken over two lines has a blank there that no driver takes.
                "handle": "".join(handle.text().split()) if handle is not None else "",
            }
            attributes = source.get("volumeAttributes")
            if attributes is not None:
                found["csi"] = {**found["csi"], "attributes": attributes.pairs()}  # type: ignore[dict-item]
            places.append(volume.place)
            return
        made = self._classes.get(kind)
        provisioner = made.get("provisioner") if made is not None else None
        if made is not None and provisioner is not None and not wanted:
            parameters = made.get("parameters")
            found["provision"] = {
                "provisioner": provisioner.text(),
                **({"parameters": parameters.pairs()} if parameters is not None else {}),
            }
            places.append(made.place)

    def _volume(self, spec: Field, wanted: dict[str, str]) -> Field | None:
        named = spec.get("volumeName")
        if named is not None:
            return self._volumes.get(named.text())
        for volume in self._volumes.values():
            labels = volume.get("metadata", "labels")
            has = labels.pairs() if labels is not None else {}
            if wanted and wanted.items() <= has.items():
                return volume
        return None


def _items(field: Field | None) -> list[Field]:
    return field.items() if field is not None else []


def _by_name(given: Sequence[Object], kind: str) -> dict[str, Field]:
    found = {}
    for each in given:
        name = each.root.get("metadata", "name") if each.kind == kind else None
        if name is not None:
            found[name.text()] = each.root
    return found


def config(given: Sequence[Object]) -> Config:
    """The config maps and Secrets of the input. Values of Secrets are not read."""
    maps: dict[str, dict[str, tuple[str, Place]]] = {}
    secrets: dict[str, dict[str, Place]] = {}
    for name, root in _by_name(given, "ConfigMap").items():
        data = root.get("data")
        maps[name] = {key: (field.text(), field.place) for key, field in data.fields()} if data else {}
    for name, root in _by_name(given, "Secret").items():
        groups = [group for key in ("data", "stringData") if (group := root.get(key)) is not None]
        secrets[name] = {key: field.at for group in groups for key, field in group.fields()}
    return Config(maps, secrets)


def _secrets_of(secret: Field) -> Iterator[str]:
    """What looks like a secret among the values of a Secret, as they are written and decoded: another line
    of the input may have it too. The name of a user is none."""
    for key in ("data", "stringData"):
        group = secret.get(key)
        for _, field in group.fields() if group is not None else ():
            texts = [field.text()]
            if key == "data":
                with suppress(ValueError):  # also what is no UTF-8
                    texts.append(b64decode(texts[0], validate=True).decode())
            for line in "\n".join(texts).split("\n"):
                value = line.strip()
                if not (is_name_of_code(value) or tells_where(value) or "://" in value):
                    yield value


def _is_in_env(config_map: Object, draft: Draft) -> bool:
    """Whether the job's env has its values: no volume then makes files of them."""
    data = config_map.root.get("data")
    places = [field.place for _, field in data.fields()] if data is not None else []
    lines = {(place.file, place.line) for place in places}
    of_env = (each for each in draft.findings if each.key.startswith("env.") and each.kind == "carried")
    told = {(place.file, place.line) for each in of_env for place in each.places}
    return bool(lines) and lines <= told


def _config_maps_of(root: Field) -> set[str]:
    """The names of the config maps that an object uses."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        field = waiting.pop()
        if field.is_list:
            waiting += field.items()
        elif isinstance(field.node, MappingNode):
            for key, below in field.fields():
                waiting.append(below)
                names = key in _OF_CONFIG_MAPS and isinstance(below.node, MappingNode)
                named = below.get("name") if names else None
                found |= {named.peek()} if named is not None else set()
    return found


def account(given: Sequence[Object], job: Object | None, draft: Draft) -> None:
    """What became of each object that is no job. Those of which a hint has all are told by it. `job` is the
    object that counts, None where there is none."""
    told = {(place.file, place.line) for each in draft.findings for place in each.places}
    used = _config_maps_of(job.root) if job is not None else set()
    for each in given:
        place, name = each.root.place, each.root.get("metadata", "name")
        if each.kind in ("PersistentVolumeClaim", "PersistentVolume", "StorageClass"):
            if (place.file, place.line) not in told:
                todo = "a site's volume describes it, and `hpclaunch site export storage` makes it"
                draft.say("left", [place], each.name, why="the job does not mount it", todo=todo)
        elif each.kind == "ConfigMap" and _is_in_env(each, draft):
            draft.say("carried", [place], each.name, why="its values are in env")
        elif each.kind == "ConfigMap" and job is not None and (name is None or name.peek() not in used):
            todo = "apply it on its own, where something else needs it"
            draft.say("left", [place], each.name, why="the job does not use it", todo=todo)
        elif each.kind == "ConfigMap":
            draft.say(
                "left",
                [place],
                each.name,
                why="its files must be in the namespace: the job does not make them",
                todo="apply it on its own; on a Slurm site its volume is a folder with these files",
            )
        elif each.kind == "Secret":
            for value in _secrets_of(each.root):
                draft.secrets[value] = "SECRET"
            draft.say(
                "left",
                [place],
                each.name,
                why="a Secret stays where it is: the job file and this report have no value of it",
                todo="apply it on its own, and keep it out of files that others may read",
            )
        elif each.kind in _SITE:
            draft.say(
                "left",
                [place],
                each.name,
                why="it is about the site and not about the job",
                todo=_SITE[each.kind],
            )
        else:
            shown = f"{each.name} ({each.version})" if each.version else each.name
            why = "a kind that hpclaunch does not know: MPIJob, PyTorchJob, Pod and Job start ranks"
            why = why if each.kind else "no object of Kubernetes: it has no kind"
            draft.say("left", [place], shown, why=why, todo="apply it on its own, if the job needs it")
