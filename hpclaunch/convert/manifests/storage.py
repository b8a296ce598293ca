"""Volumes and mounts -> `mounts` of the job, and what a site says of each volume."""

import re

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.claims import Claims
from hpclaunch.convert.manifests.fields import Field
from hpclaunch.convert.manifests.hints import flow, of_site
from hpclaunch.convert.manifests.workload import Pod, Workload
from hpclaunch.spec.mounts import complaint, long_form
from hpclaunch.values.conversion import Place

_SHM = "/dev/shm"
# Paths of the host that the container runtime, the device plugins or hpclaunch give by themselves.
_OF_DEVICES = re.compile(
    r"/dev/(infiniband|nvidia\S*|shm)(/|$)|/sys(/|$)|/proc(/|$)|/var/lib/kubelet|/var/run/nvidia"
)
_HOSTFILES = ("/etc/mpi", "/kubeflow/mpi")
_SUFFIX = re.compile(r"[-_.]?(pvc|claim|pv|vol|volume)$")
_PREFIX = re.compile(r"^(pvc|claim)[-_.]")
# Kinds of volumes that no site can name, and what to do.
_OTHER = {
    "secret": "give what the program needs from it by its variables: secrets, and kubernetes.secrets of the site",
    "projected": "give its files by a volume of the site",
    "downwardAPI": "let the program ask its own node",
    "csi": "make a claim for it, and name that as a volume of the site",
    "ephemeral": "make a claim for it, or use an empty folder (empty_dir) of the site",
    "image": "put the files into the job's image, or on a volume of the site",
    "gitRepo": "clone it in a setup step",
}


def put(workload: Workload, claims: Claims, draft: Draft) -> None:
    """The mounts of the container that ranks run in. Those of the launcher alone are left."""
    targets = _of_pod(workload.ranks, claims, draft, set())
    for pod in (*([workload.starter] if workload.is_apart else []), *workload.others):
        _beside(pod, targets, draft)


def volume_name(name: str) -> str:
    """The site's name of a claim: without what says that it is one."""
    bare = _PREFIX.sub("", _SUFFIX.sub("", name))
    return bare or name


def _of_pod(pod: Pod, claims: Claims, draft: Draft, seen: set[str]) -> set[str]:
    volumes = _volumes(pod)
    mounts = pod.container.get("volumeMounts")
    used: set[str] = set()
    for mount in mounts.items() if mounts is not None else []:
        named, path = mount.get("name"), mount.get("mountPath")
        name = named.text() if named is not None else ""
        target = path.text() if path is not None else ""
        used.add(name)
        seen.add(target)
        volume = volumes.get(name)
        if volume is None:
            mount.take()
            why = "the pod has no volume of this name, and the API refuses it"
            draft.say("defect", [mount.place], f"the mount {name} at {target}", why=why)
            continue
        _mount(volume, mount, target, claims, draft)
    for name, volume in volumes.items():
        if name not in used:
            volume.take()
            draft.say(
                "without effect", [volume.place], f"the volume {name}", why="no mount of the ranks names it"
            )
    return seen


def _volumes(pod: Pod) -> dict[str, Field]:
    found = {}
    volumes = pod.spec.get("volumes")
    for volume in volumes.items() if volumes is not None else []:
        name = volume.get("name")
        if name is not None:
            found[name.text()] = volume
    return found


def _beside(pod: Pod, targets: set[str], draft: Draft) -> None:
    """Mounts of a pod whose container is not the ranks' own."""
    volumes = pod.spec.get("volumes")
    mounts = pod.container.get("volumeMounts")
    for mount in mounts.items() if mounts is not None else []:
        path = mount.get("mountPath")
        target = path.text() if path is not None else ""
        mount.take()
        if target in targets or target == _SHM:
            draft.say(
                "carried", [mount.place], f"{target} of the {pod.of}", became="the same mount of the ranks"
            )
        else:
            why = f"only the {pod.of} has it, and the ranks run in other pods"
            todo = "if the ranks need it, add it to mounts"
            draft.say("left", [mount.place], f"the mount at {target}", why=why, todo=todo)
    if volumes is not None:
        volumes.take()
        draft.say("without effect", [volumes.place], f"volumes of the {pod.of}", why="see its mounts")


def _mount(volume: Field, mount: Field, target: str, claims: Claims, draft: Draft) -> None:
    read_only, folder = mount.get("readOnly"), mount.get("subPath")
    reads = read_only.truth() if read_only is not None else False
    inside = folder.text().strip("/") if folder is not None else ""
    expression = mount.get("subPathExpr")
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        propagation.take()
        draft.say("left", [propagation.at], "mountPropagation", why="a job's mounts are those of its begin")
    places = [mount.place, volume.place]
    if expression is not None:
        text = expression.text()
        question = f"what is mounted at {target}: the folder {text} is made of the pod's variables"
        draft.ask(("mounts", draft.count("mounts")), question, places, "subPathExpr")
        volume.take()
        return
    what = f"the mount at {target}"
    claim, host, nfs = (volume.get(key) for key in ("persistentVolumeClaim", "hostPath", "nfs"))
    empty, config = volume.get("emptyDir"), volume.get("configMap")
    if claim is not None:
        name, own = claim.get("claimName"), claim.get("readOnly")
        outer = volume.get("readOnly")
        if outer is not None:
            outer.take()
            why = "readOnly stands beside the claim, where the API does not know it: it had no effect"
            draft.say("defect", [outer.at], "volume.readOnly", why=why)
        reads = reads or (own is not None and own.truth())
        _claim(name.text() if name is not None else "", inside, reads, target, places, claims, draft)
    elif host is not None:
        _host_path(host, inside, reads, target, places, draft)
    elif nfs is not None:
        server, path, own = (nfs.get(key) for key in ("server", "path", "readOnly"))
        reads = reads or (own is not None and own.truth())
        export = (path.text() if path is not None else "") + (f"/{inside}" if inside else "")
        source = {"server": server.text() if server is not None else "", "path": export}
        _volume(_name_of(volume), {"nfs": source}, reads, target, places, what, draft)
    elif empty is not None:
        _empty(volume, empty, target, places, draft)
    elif config is not None:
        _config_map(config, inside, target, places, draft)
    else:
        _unknown(volume, target, places, draft)


def _name_of(volume: Field) -> str:
    name = volume.get("name")
    return name.text() if name is not None else "volume"


def _volume(
    name: str,
    source: dict[str, object],
    reads: bool,
    target: str,
    places: list[Place],
    what: str,
    draft: Draft,
) -> None:
    """A volume that the site names. Two of one name that are not the same have different ones."""
    known = draft.hints.get(f"volumes.{name}")
    number = 2
    while known is not None and known != flow(source):
        known = draft.hints.get(f"volumes.{name}-{number}")
        name, number = (
            (f"{name}-{number}", number + 1) if known in (None, flow(source)) else (name, number + 1)
        )
    if known is None:
        of_site(draft, f"volumes.{name}", source, places, what)
    _add({"volume": name, "target": target, "read_only": reads}, places, what, draft)


def _add(mount: dict[str, object], places: list[Place], what: str, draft: Draft, why: str = "") -> None:
    """In the short form where that says all."""
    side = str(mount.get("volume") or mount.get("source"))
    short = f"{side}:{mount['target']}" + (":ro" if mount["read_only"] else "")
    entry: object = short
    try:
        read = long_form(short)
    except ValueError:
        read = None
    same = read is not None and (read.volume or read.source) == side and read.target == mount["target"]
    if not same or mount.get("file") or read is None or (read.volume is None) == ("volume" in mount):
        entry = {key: value for key, value in mount.items() if value}
    if read is not None and complaint(read):
        why = why or complaint(read)
    draft.add("mounts", entry, places, what, why=why)


def _claim(
    name: str, folder: str, reads: bool, target: str, places: list[Place], claims: Claims, draft: Draft
) -> None:
    source: dict[str, object] = {"claim": name}
    label = volume_name(name)
    if folder:
        source["folder"] = folder
        label = f"{label}-{re.sub('[^A-Za-z0-9]+', '-', folder).strip('-')}"
    more, lines = claims.of(name)
    source |= more
    _volume(label, source, reads, target, [*places, *lines], f"the claim {name} at {target}", draft)


def _host_path(host: Field, folder: str, reads: bool, target: str, places: list[Place], draft: Draft) -> None:
    path, kind = host.get("path"), host.get("type")
    source = path.text() if path is not None else ""
    kind_text = kind.text() if kind is not None else ""
    if folder:
        source = f"{source.rstrip('/')}/{folder}"
    if target == _SHM or _OF_DEVICES.match(source):
        why = "devices come with the GPUs and HCAs that the job has; /dev/shm is hpclaunch's own"
        draft.say("replaced", places, f"the host's {source}", why=why)
        return
    if kind_text == "DirectoryOrCreate":
        why = "the kubelet made the folder where it was not there; hpclaunch does not: make it on all nodes first"
        draft.say("left", places, f"hostPath type {kind_text}", why=why)
    mount: dict[str, object] = {"source": source, "target": target, "read_only": reads}
    if kind_text in ("File", "FileOrCreate", "Socket", "CharDevice", "BlockDevice"):
        mount["file"] = True
    _add(mount, places, f"the host's {source} at {target}", draft)


def _empty(volume: Field, empty: Field, target: str, places: list[Place], draft: Draft) -> None:
    medium, size = empty.get("medium"), empty.get("sizeLimit")
    memory = medium is not None and medium.text() == "Memory"
    limit = size.text() if size is not None else ""
    if target == _SHM:
        draft.say(
            "replaced", places, "an emptyDir at /dev/shm", why="hpclaunch gives every pod one in memory"
        )
        if limit:
            of_site(draft, "kubernetes.shm", limit, places, "its sizeLimit")
        return
    source: dict[str, object] = {"memory": True} if memory else {}
    if limit:
        source["size"] = limit
    _volume(
        _name_of(volume), {"empty_dir": source}, False, target, places, f"an empty folder at {target}", draft
    )


def _config_map(config: Field, folder: str, target: str, places: list[Place], draft: Draft) -> None:
    name, items = config.get("name"), config.get("items")
    text = name.text() if name is not None else ""
    config.take()
    if target.startswith(_HOSTFILES):
        draft.say(
            "replaced",
            places,
            f"the config map {text}",
            why="hpclaunch and the operator tell mpirun the hosts",
        )
        return
    if items is not None or folder:
        why = "some of its keys, or under other names: the volume of a site has all keys by their names"
        draft.say("left", places, f"items of the config map {text}", why=why)
    _volume(volume_name(text), {"config_map": text}, True, target, places, f"the config map {text}", draft)


def _unknown(volume: Field, target: str, places: list[Place], draft: Draft) -> None:
    kinds = [key for key, _ in volume.fields() if key != "name"]
    volume.take()
    kind = kinds[0] if kinds else "nothing"
    todo = _OTHER.get(kind, "name it as a volume of the site (a path, a claim, nfs), and add it to mounts")
    draft.say(
        "left", places, f"a volume of kind {kind} at {target}", why="no site has such a volume", todo=todo
    )
