"""Options of docker run and exec -> mounts, working directory, user; and why the others are gone."""

from collections.abc import Callable, Sequence
from os.path import basename

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.docker import env_files
from hpclaunch.convert.mapping.docker.mounts import mount, volume
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.programs.docker import MPI_OF_HPC, is_option
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Place

_STEP = "the container is the step's: it ends with it and leaves nothing behind"
# Enroot unshares users and mounts alone, and with Pyxis net, ipc and uts where --container-unshare asks for
# it (ENROOT_UNSHARE_* in pyxis_slurmstepd.c).
_HOST = "Pyxis gives a container the host's network, names and shared memory; a pod's are the site's business"
_HOOK = "Enroot's hook lets the HCAs in; the HCAs of the job are those of the site's node type"
_TERMINAL = "a job has no terminal; its output is in `hpclaunch logs`"
_SEE = "see whether the job needs it"
_OWN_MPI = "the image's own MPI takes part by PMIx or PMI-2"
_SITES = "podman-hpc brought it from the machine, by a module of the site's"
_MOST = 1000
_REPLACED = {
    "rm": _STEP,
    "name": _STEP,
    "replace": _STEP,
    "cidfile": _STEP,
    "detach": _STEP,
    "init": "srun ends the processes of a step itself",
    "sig-proxy": "srun passes signals on",
    "interactive": _TERMINAL,
    "tty": _TERMINAL,
    "attach": _TERMINAL,
    "detach-keys": _TERMINAL,
    "quiet": _TERMINAL,
    "shm-size": "the container has the node's own /dev/shm; on Kubernetes it is a volume in memory",
    "pull": "the image is fetched where it is first used; `image: {ref: ..., import: shared}` does it once",
    "no-healthcheck": _STEP,
    "disable-content-trust": "the registry's own checks count",
    "pids-limit": "a step has the node's own limits",
    "oom-kill-disable": "a step has the node's own limits",
    "cgroupns": "Slurm's own cgroups hold the step",
    "log-driver": _TERMINAL,
    "log-opt": _TERMINAL,
    **dict.fromkeys(
        ("host", "context", "config", "log-level"), "srun starts the ranks: no daemon of docker's"
    ),
    "label": _STEP,
    # Of podman-hpc.
    "gpu": "Enroot's hook lets the GPUs of the job in",
    **dict.fromkeys(MPI_OF_HPC, _OWN_MPI),
}
_LEFT = {
    "cap-add": ("a container of Pyxis has its user's rights alone", "ask the site where it is needed"),
    "privileged": ("a container of Pyxis has its user's rights", f"{_SEE}: container.privileged"),
    "memory": ("a job that takes all GPUs of a node has all its memory", _SEE),
    "memory-swap": ("a job that takes all GPUs of a node has all its memory", _SEE),
    "cpus": ("cores follow from the node type and `bind`", _SEE),
    "cpuset-cpus": ("cores follow from the node type and `bind`", "write bind.cpus where these cores matter"),
    "cpuset-mems": ("memory follows from the node type and `bind`", "write bind.memory where it matters"),
    "hostname": ("a step has its node's own name", _SEE),
    "add-host": ("names are the nodes' own", "put the address where the program finds it, or ask the site"),
    "tmpfs": ("a job file has no such mount", "mount a folder of the node, or use /dev/shm"),
    "volumes-from": ("a job has one container", "name its mounts here"),
    "publish": ("the container has the node's own network, so each port is there already", ""),
    "restart": ("a job that fails ends, and is not started again by itself", ""),
    "volume-driver": ("volumes of docker's are no volumes of the site's", "name a folder or a site's volume"),
    "env-host": (
        "it hands on all that is exported where the container starts",
        "name what the ranks need under env and inherit",
    ),
    "nccl": (_SITES, "see that the image's NCCL has the plugin for the network of the nodes"),
    **dict.fromkeys(("cvmfs", "home", "scratch", "cfs", "jupyter"), (_SITES, "write the folder in mounts")),
    "group-add": ("the user has the groups that the node gives", _SEE),
}  # fmt: skip


class Context(Struct, frozen=True):
    """Whose options are read: the command, and which layer of it."""

    reading: ShellReading
    command: Command
    layer: Layer

    def lines(self, option: Option) -> tuple[Place, ...]:
        """The lines that give the option its value."""
        return lines_of(self.reading, self.command, option)


def put(context: Context, draft: Draft, *, is_main: bool) -> None:
    """Facts and findings for all options but -e, --gpus and --entrypoint, which the caller carries.
    `is_main`: the working directory and the user are those of the job's command."""
    options = list(context.layer.options)
    if len(options) > _MOST:
        what = f"{len(options) - _MOST:,} more options of {context.layer.program}"
        draft.say(
            "unread", (context.command.place,), what, why="a command with more options than anybody reads"
        )
        options = options[:_MOST]
    hcas = [each for each in options if _is_hca(each)]
    if hcas:
        places = tuple(dict.fromkeys(place for each in hcas for place in context.lines(each)))
        more = f" and {len(hcas) - 1} more of /dev/infiniband" if len(hcas) > 1 else ""
        draft.say("replaced", places, hcas[0].written + more, why=_HOOK)
    for option in options:
        if option.name in ("env", "gpus", "entrypoint") or option in hcas:
            continue
        places = context.lines(option)
        if option.name in _SPECIAL:
            _SPECIAL[option.name](option, places, context, draft, is_main)
        elif option.name in _REPLACED:
            draft.say("replaced", places, option.written, why=_REPLACED[option.name])
        elif option.name in _LEFT:
            why, todo = _LEFT[option.name]
            draft.say("left", places, option.written, why=why, todo=todo)
        elif option.name == "":
            _unknown(option, context, draft)
        elif is_option(context.layer.program.partition(" ")[2], option.name):
            draft.say("left", places, option.written, why="a job file has nothing like it", todo=_SEE)
        else:
            draft.say("unread", places, option.written, why="no option of docker that is known", todo=_SEE)


def _is_hca(option: Option) -> bool:
    return option.name == "device" and "/dev/infiniband" in shown(option.value or ())


def _unknown(option: Option, context: Context, draft: Draft) -> None:
    """Options that a variable holds which nobody gave, and a word in quotes that is empty."""
    if known(option.value or ()) == "":
        its = "container" if context.layer.program == "docker exec" else "image"
        why = f"docker takes it for the {its}, and ends there: the command is read as if it were not there"
        todo = "give the variable in the quotes with --env NAME=..., or take the quotes away"
        draft.say(
            "defect", (context.command.place,), "an empty word among docker's options", why=why, todo=todo
        )
        return
    written = shown(option.value or ())
    name = written if written.startswith("$(") else written.strip("${}")
    name = "$@" if name.startswith("@") else name
    places = tuple(dict.fromkeys((context.command.place, *context.reading.wanted.get(name, ()))))
    if "IBDEV" in name.upper():
        draft.say("replaced", places, option.written, why=_HOOK)
    else:
        its = "variables and user" if context.layer.program == "docker exec" else "mounts, variables and user"
        question = f"which options of docker {name} holds: {its} may be among them"
        todo = "write what it says in the job file"
        if name.isidentifier():
            todo = f"give it with --env {name}='...' and convert again, or {todo}"
        elif name == "$@":
            todo = f"convert again with --args '...', the words behind the script's name, or {todo}"
        draft.say("question", places, option.written, why=question, todo=todo)


Rule = Callable[[Option, Sequence[Place], Context, Draft, bool], None]


def _namespace(
    option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool
) -> None:
    if known(option.value or ()) == "host":
        draft.say("replaced", places, option.written, why=_HOST)
    else:
        why = "a step has the host's network, names and shared memory"
        draft.say("left", places, option.written, why=why, todo="see whether two jobs on a node may meet")


def _limit(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    name = shown(option.value or ()).partition("=")[0]
    if name == "memlock":
        why = (
            "the nodes' own limit counts, and before ranks start it is checked that InfiniBand can do with it"
        )
        draft.say("replaced", places, option.written, why=why)
    elif name == "stack":
        draft.say(
            "left",
            places,
            option.written,
            why="the nodes' own limits count (--propagate=NONE); docker counts in bytes, ulimit -s in KiB",
            todo="where the program needs it, begin the command with `ulimit -s 65536` (64 MiB)",
        )
    else:
        todo = "ask the site for the limit, or begin the command with ulimit"
        draft.say("left", places, option.written, why="the nodes' own limits count", todo=todo)


def _security(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    why = "an unprivileged container needs none of docker's filters and labels taken away"
    draft.say("replaced", places, option.written, why=why)


def _device(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    text = shown(option.value or ())
    if "nvidia" in text or "/dev/dri" in text:
        draft.say("replaced", places, option.written, why="Enroot's hook lets the GPUs of the job in")
    else:
        draft.say("left", places, option.written, why="the node's /dev is in the container", todo=_SEE)


def _user(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    text = known(option.value or ())
    first = (text or "").partition(":")[0]
    if not is_main:
        return
    if first in ("0", "root"):
        why = "the user is root inside the container alone, and himself to the files of the node"
        draft.put(("container", "remap_root"), True, places, option.written, why=why)
    elif text is None:
        draft.say("replaced", places, option.written, why="the submitter's own user runs the job")
    else:
        why = "the submitter's own user runs the job"
        draft.say("left", places, option.written, why=why, todo="see whether the files belong to another one")


def _workdir(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    if not is_main:
        return
    text = known(option.value or ())
    if text is None:
        question = f"the working directory in the container: {option.written} is not told"
        draft.ask(("workdir",), question, places, option.written)
    else:
        draft.put(("workdir",), text, places, option.written)


def _runtime(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    draft.say("replaced", places, option.written, why="Enroot's hook lets the GPUs of the job in")


def _file(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    file = env_files.file_of(context.reading, option)
    if file is None:
        why = f"which variables the container gets: {option.written} was not given"
        todo = "give the file beside the others, or write its lines under env in the job file"
        draft.say("question", places, option.written, why=why, todo=todo)
        return
    draft.say("carried", (*places, Place(file.name)), option.written, became="env", why="its lines are told")
    for place, name in env_files.unread(file):
        why = f"{shown((name,))} is no name that a shell's variable can have"
        draft.say(
            "left",
            (place,),
            f"a line of {basename(file.name)}",
            why=why,
            todo="set it in a script of the ranks",
        )


def _mount(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    mount(option.value or (), option.written, places, draft, context.command.folder)


def _volume(option: Option, places: Sequence[Place], context: Context, draft: Draft, is_main: bool) -> None:
    volume(option.value or (), option.written, places, draft, context.command.folder)


_SPECIAL: dict[str, Rule] = {
    **dict.fromkeys(("network", "uts", "ipc", "pid", "userns"), _namespace),
    "ulimit": _limit,
    "security-opt": _security,
    "device": _device,
    "user": _user,
    "workdir": _workdir,
    "runtime": _runtime,
    "env-file": _file,
    "volume": _volume,
    "mount": _mount,
}


def gpus(value: Value) -> int | None:
    """How many GPUs --gpus or NV_GPU names: 4, 0,1,2,3, device=0,1. None for all, or what is not known."""
    text = (known(value) or "").strip().strip("'\"")
    text = text.removeprefix("device=").split(",capabilities")[0]
    if text.isdecimal():
        return None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return len(parts) if parts and all(_is_gpu(part) for part in parts) else None


def _is_gpu(text: str) -> bool:
    return text.isdecimal() or text.startswith(("GPU-", "MIG-"))


def count_of_gpus(option: Option) -> int | None:
    """How many GPUs `--gpus` gives: a number is a count there, and device=1 and device=0,1 are lists."""
    text = (known(option.value or ()) or "").strip().strip("'\"").removeprefix("count=")
    if text.isdecimal():
        return int(text)
    return visible_gpus((text.removeprefix("device="),)) if text.startswith("device=") else None


def visible_gpus(value: Value) -> int | None:
    """How many GPUs NV_GPU or NVIDIA_VISIBLE_DEVICES names: a number is one GPU there."""
    text = (known(value) or "").strip()
    return 1 if text.isdecimal() else gpus(value)
