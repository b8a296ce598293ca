"""Volumes and mounts -> `mounts` of the job, and what a site says of each volume."""

import re
from collections.abc import Mapping
from itertools import count

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.claims import Claims
from hpclaunch.convert.manifests.objects.workload import Pod, Workload
from hpclaunch.convert.manifests.pods.volumes import Behind, behind
from hpclaunch.convert.manifests.running.shelltext import launcher_in
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.readback.place import Form
from hpclaunch.spec.mounts import complaint, long_form
from hpclaunch.values.conversion import Place

_SHM = "/dev/shm"
# Paths of the host that the container runtime or the device plugins give by themselves, at the same place.
_OF_DEVICES = re.compile(
    r"/dev/(infiniband|nvidia\S*)(/|$)|/sys(/|$)|/proc(/|$)|/var/lib/kubelet|/var/run/nvidia"
)
_HOSTFILES = ("/etc/mpi", "/kubeflow/mpi")
# Where programs are found by their names (PATH of login(1) and of Docker's own images).
_ON_PATH = frozenset(f"{above}{name}" for above in ("", "/usr", "/usr/local") for name in ("/bin", "/sbin"))
# What a program reads, and nobody executes; and a shell that is given a file to read.
_DATA = re.compile(r"\.(?:ya?ml|json|toml|ini|cfg|conf|properties|csv|tsv|txt)$")
_BY_SHELL = re.compile(rf"(?:^|[\s/])(?:{'|'.join(sorted(SHELLS))}|source|\.)\s+(?:-\S+\s+)*$")
# Kinds of volumes that no site can name, and what to do.
_OTHER = {
    "secret": "give what the program needs from it by variables: secrets, and kubernetes.secrets of the site",
    "projected": "give its files by a volume of the site",
    "downwardAPI": "let the program ask its own node",
    "csi": "make a claim for it, and name that as a volume of the site",
    "ephemeral": "make a claim for it, or use an empty folder (empty_dir) of the site",
    "image": "put the files into the job's image, or on a volume of the site",
    "gitRepo": "clone it in a setup step",
}


class Sources(Struct, frozen=True):
    """What is known of volumes: the objects of the input, and the site's own names by what is behind them."""

    claims: Claims
    names: Mapping[Form, str]


def put(workload: Workload, claims: Claims, draft: Draft, options: Options) -> None:
    """The mounts of the container that ranks run in. Those of the launcher alone are left. Where the site is
    known its own names of volumes are taken."""
    sources = Sources(claims, {form: name for name, form in options.volumes.items()})
    targets = put_mounts(workload.ranks, sources, draft)
    for pod in (*([workload.starter] if workload.is_apart else []), *workload.others):
        _beside(pod, targets, draft)


def put_mounts(pod: Pod, sources: Sources, draft: Draft) -> set[str]:
    """The mounts of a pod's container. Returns their targets."""
    volumes = _by_name(pod)
    mounts = pod.container.get("volumeMounts")
    used: set[str] = set()
    targets: set[str] = set()
    for mount in mounts.items() if mounts is not None else []:
        named, path = mount.get("name"), mount.get("mountPath")
        name = named.text() if named is not None else ""
        target = _absolute(path.text()) if path is not None else ""
        used.add(name)
        targets.add(target)
        volume = volumes.get(name)
        if volume is None:
            mount.take()
            why = "the pod has no volume of this name, and the API refuses it"
            draft.say("defect", [mount.place], f"the mount {name} at {target}", why=why)
        else:
            _mount(volume, mount, target, sources, draft)
    for name, volume in volumes.items():
        if name not in used:
            volume.take()
            why = "no mount of the ranks names it"
            draft.say("without effect", [volume.place], f"the volume {name}", why=why)
    return targets


def _absolute(target: str) -> str:
    """As the kubelet mounts it (makeMounts in kubernetes/kubernetes, pkg/kubelet/kubelet_pods.go): a relative
    path is one below /. A place that somebody fills in stays."""
    return target if not target or target[0] in "/$<{" else f"/{target}"


def _by_name(pod: Pod) -> dict[str, Field]:
    volumes = pod.spec.get("volumes")
    return {
        name.text(): volume
        for volume in (volumes.items() if volumes is not None else [])
        if (name := volume.get("name")) is not None
    }


def _beside(pod: Pod, targets: set[str], draft: Draft) -> None:
    """Mounts of a pod whose container is not the ranks' own."""
    volumes, mounts = pod.spec.get("volumes"), pod.container.get("volumeMounts")
    for mount in mounts.items() if mounts is not None else []:
        path = mount.get("mountPath")
        target = _absolute(path.text()) if path is not None else ""
        mount.take()
        if target in targets or target == _SHM:
            became = "the same mount of the ranks"
            draft.say("carried", [mount.place], f"{target} of the {pod.of}", became=became)
        else:
            why = f"only the {pod.of} has it, and the ranks run in other pods"
            todo = "if the ranks need it, add it to mounts"
            draft.say("left", [mount.place], f"the mount at {target}", why=why, todo=todo)
    if volumes is not None:
        volumes.take()
        draft.say("without effect", [volumes.place], f"volumes of the {pod.of}", why="see its mounts")


def _mount(volume: Field, mount: Field, target: str, sources: Sources, draft: Draft) -> None:
    places = [mount.place, volume.place]
    read_only, folder, expression, propagation = (
        mount.get(key) for key in ("readOnly", "subPath", "subPathExpr", "mountPropagation")
    )
    reads = read_only is not None and read_only.truth()
    if propagation is not None:
        propagation.take()
        draft.say("left", [propagation.at], "mountPropagation", why="a job's mounts are those of its begin")
    if expression is not None:
        text = expression.text()
        question = f"what is mounted at {target}: the folder {text} is made of the pod's variables"
        draft.ask(("mounts", draft.count("mounts")), question, places, "subPathExpr")
        volume.take()
        return
    found = behind(volume, folder.text().strip("/") if folder is not None else "", sources.claims)
    outer = volume.get("readOnly")
    if outer is not None:
        outer.take()
        why = "readOnly stands beside the claim, where the API does not know it: it had no effect"
        draft.say("defect", [outer.at], "volume.readOnly", why=why)
    if found is not None and found.form[0] == "empty" and folder is not None:
        why = f"{target} showed {folder.text()} of it, and a site's empty folder is mounted as a whole"
        todo = "let the program look one folder deeper, or take a path of the host, or a claim"
        draft.say("left", places, "subPath of an empty folder", why=why, todo=todo)
    if found is None:
        _unknown(volume, target, places, draft)
    elif not _is_given(found, target, places, draft):
        _place(found, target, reads or found.read_only, [*places, *found.more], sources, draft)


def _is_given(found: Behind, target: str, places: list[Place], draft: Draft) -> bool:
    """Whether hpclaunch, the runtime or the operator gives it without being asked."""
    kind, source, _ = found.form
    if target == _SHM:
        draft.say(
            "replaced", places, f"{found.what} at {_SHM}", why="hpclaunch gives every pod one in memory"
        )
        if kind == "empty" and found.note:
            draft.hint("kubernetes.shm", found.note, places, "its sizeLimit")
        return True
    if kind == "path" and _OF_DEVICES.match(source) and source.rstrip("/") == target.rstrip("/"):
        draft.say("replaced", places, found.what, why="devices come with the GPUs and HCAs that the job has")
        return True
    if kind == "config map" and target.startswith(_HOSTFILES):
        draft.say("replaced", places, found.what, why="the scheduler knows the hosts of a job")
        return True
    return False


def _place(
    found: Behind, target: str, reads: bool, places: list[Place], sources: Sources, draft: Draft
) -> None:
    kind, source, _ = found.form
    what = f"{found.what} at {target}"
    if kind == "path" and found.note == "DirectoryOrCreate":
        why = "the kubelet made the folder where it was not there; hpclaunch does not"
        draft.say(
            "left", places, "hostPath type DirectoryOrCreate", why=why, todo="make it on all nodes first"
        )
    if kind == "config map":
        _ask_for_script(found, target, places, sources, draft)
    if kind == "config map" and found.note not in ("", "items"):
        # A key of a config map is a file, and so is what subPath shows of it.
        # Without a colon behind the path: what stood behind /etc/passwd: would be taken for a password.
        said = f"{found.note} of {found.what}, one file, and a site's volume is a folder with all of them"
        todo = "mount that at a folder, and let the command take the file from there"
        question = f"what is mounted at {target}, which is {said}"
        draft.ask(("mounts", draft.count("mounts")), question, places, what, todo)
        return
    if kind == "config map" and found.note:
        why = "some of its keys, or under other names: the volume of a site has all keys by their names"
        draft.say("left", places, f"items of {found.what}", why=why)
    if found.started:
        # SetDefaults_ConfigMapVolumeSource in kubernetes/kubernetes, pkg/apis/core/v1/defaults.go
        why = (
            "its files could be executed by their names, and in a site's volume of Kubernetes have mode 0644"
        )
        todo = (
            "let a shell start what is a script (sh FILE); under Slurm give the files in the folder the mode"
        )
        draft.say("left", places, f"{found.started} of {found.what}", why=why, todo=todo)
    own = sources.names.get(found.form)
    if own is not None:
        _add(
            {"volume": own, "target": target, "read_only": reads}, places, what, draft, "the site's own name"
        )
    elif not found.says:
        mount: dict[str, object] = {"source": source, "target": target, "read_only": reads}
        _add({**mount, "file": True} if found.file else mount, places, what, draft)
    else:
        name = _free_name(found, draft)
        if f"volumes.{name}" not in draft.hints:
            draft.hint(f"volumes.{name}", found.says, places, what)
        _add({"volume": name, "target": target, "read_only": reads}, places, what, draft)


def _ask_for_script(found: Behind, target: str, places: list[Place], sources: Sources, draft: Draft) -> None:
    """The question what a script does that the job's command has of a config map."""
    fact = draft.facts.get(("command",))
    words = " ".join(fact.value) if fact is not None and isinstance(fact.value, list) else ""
    words = words or (str(fact.value) if fact is not None and not fact.is_open else "")
    script = re.search(rf"(?<!\S){re.escape(target.rstrip('/'))}(?:/\S+)?(?![\w.-])", words)
    folder, _, name = target.rpartition("/")
    if script is None and folder in _ON_PATH:  # a program by its name alone
        script = re.match(rf"{re.escape(name)}(?!\S)", words)
    if script is not None and not _is_only_read(script[0], words[: script.start()]):
        why = "its text is not read: it may start several ranks, set variables for them, or bind them"
        todo = "write its text as the command of the pod (args: of sh -c), and convert again"
        if script[0].endswith(".py"):
            todo = "see whether it does: no shell reads such a text"
        text = sources.claims.text_of(found.form[1], script[0].rpartition("/")[2])
        if launcher := launcher_in(text):
            why = f"each rank starts it, and {launcher} in it is not read: it may start ranks of its own"
            todo = "where these are to be the job's ranks write ranks_per_node, and a command without it"
        elif text or sources.claims.has_map(found.form[1]):
            why = "each rank starts it, and no launcher that is known is in it; it may set variables, or bind"
            todo = "see whether it does"
        what = f"what {script[0]} of {found.what} does"
        draft.say("question", [*fact.places, *places] if fact else places, what, why=why, todo=todo)


def _is_only_read(path: str, before: str) -> bool:
    """Whether a word of a command is a file of data, which the program opens. `before` is what stands before
    it."""
    return bool(before.strip() and _DATA.search(path)) and not _BY_SHELL.search(before)


def _free_name(found: Behind, draft: Draft) -> str:
    """Two volumes of one name that are not the same have different ones."""
    names = (f"{found.name}-{number}" if number > 1 else found.name for number in count(1))
    return next(name for name in names if draft.hints.get(f"volumes.{name}", found.says) == found.says)


def _add(mount: dict[str, object], places: list[Place], what: str, draft: Draft, why: str = "") -> None:
    """In the short form where that says all."""
    side = str(mount.get("volume") or mount.get("source"))
    short = f"{side}:{mount['target']}" + (":ro" if mount["read_only"] else "")
    entry: object = {key: value for key, value in mount.items() if value}
    try:
        read = long_form(short)
    except ValueError:
        read = None
    if read is not None and not mount.get("file"):
        same = (read.volume, read.source, read.target) == (
            mount.get("volume"),
            mount.get("source"),
            mount["target"],
        )
        entry = short if same else entry
        why = complaint(read) or why
    draft.add("mounts", entry, places, what, why=why)


def _unknown(volume: Field, target: str, places: list[Place], draft: Draft) -> None:
    kinds = [key for key, _ in volume.fields() if key != "name"]
    volume.take()
    kind = kinds[0] if kinds else "nothing"
    todo = _OTHER.get(kind, "name it as a volume of the site (a path, a claim, nfs), and add it to mounts")
    what = f"a volume of kind {kind} at {target}"
    draft.say("left", places, what, why="no site has such a volume", todo=todo)
