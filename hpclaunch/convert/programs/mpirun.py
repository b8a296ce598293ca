"""mpirun, mpiexec and horovodrun: how many ranks, where, and what they are told.

How many words an option takes is what `readback/kubernetes/mpirun.py` knows of Open MPI 4 and 5, Hydra and
Intel MPI; beside it are Open MPI 1.x's (orterun.c of 1.4 to 1.10), Horovod's (horovod/runner/launch.py) and
those of HPE Cray PALS and of IBM's Blue Gene/P.
"""

from collections.abc import Iterator, Sequence

from hpclaunch.convert.programs.flags import Table, is_named_options, leading, stands_for_options, table, take
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.kubernetes import mpirun
from hpclaunch.readback.shell.values import Value, known, program_of

# One name for what both families of launchers can say.
_NAMES = {
    "ranks": "np",
    "per node": "npernode",
    "one per node": "pernode",
    "map": "map-by",
    "bind": "bind-to",
    "hosts": "hostfile",
    "cwd": "wdir",
    "carry": "x",
    "set": "x",
    "parameter": "mca",
    "carry all": "genvall",
    "carry none": "genvnone",
}
ENV_LIST = "mca_base_env_list"
_LISTS = ("genvlist", "envlist")  # of Hydra
_HOSTS = {"H": "host", "hosts": "host"}
_OLD_OPEN_MPI = table(
    (
        (0, "bind-to-none bysocket bind-to-board display-devel-map display-topo tmpdir-keep xml"),
        (0, "report-pid loadbalance nooversubscribe no-oversubscribe"),
        (1, "num-boards num-sockets num-cores stride slot-list tmpdir report-uri ompi-server"),
        (1, "report-events wait-for-server server-wait-time output-proctable"),
        # Fujitsu MPI's files for output (its user's guide, "mpiexec"; of Fugaku's, "Standard output"), and
        # that which says where ranks are.
        (1, "of ofout oferr of-proc ofout-proc oferr-proc ofprefix std-proc stdout-proc stderr-proc"),
        (1, "std stdout stderr vcoordfile"),
    )
)
_HOROVOD = table(
    (
        (1, "np=num-proc host=H,hosts hostfile ssh-port=p ssh-identity-file=i config-file output-filename"),
        (1, "network-interface=network-interfaces start-timeout mpi-args binding-args fusion-threshold-mb"),
        (1, "cycle-time-ms cache-capacity autotune-log-file timeline-filename gloo-timeout-seconds"),
        (1, "num-nccl-streams thread-affinity log-level min-np=min-num-proc max-np=max-num-proc"),
        (1, "slots-per-host elastic-timeout reset-limit host-discovery-script"),
        (1, "stall-check-warning-time-seconds stall-check-shutdown-time-seconds autotune-warmup-samples"),
        (1, "autotune-steps-per-sample autotune-bayes-opt-max-samples autotune-gaussian-process-noise"),
        (2, "blacklist-cooldown-range"),
        (0, "verbose version=v check-build=cb disable-cache gloo mpi jsrun tcp autotune no-autotune"),
        (0, "hierarchical-allreduce hierarchical-allgather no-stall-check mpi-threads-disable"),
        (0, "timeline-mark-cycles log-with-timestamp prefix-timestamp=prefix-output-with-timestamp"),
    )
)
# Blue Gene/P's, which no other launcher has ("IBM System Blue Gene Solution: Blue Gene/P Application
# Development", "mpirun"): a variable of the script's, a folder, the ranks of a node by a name, and others.
_BLUE_GENE = {"exp_env": ("x", 1), "cwd": ("wdir", 1), **table(((1, "mode exe args partition mapfile"),))}


def _table(kind: str, others: Table) -> Table:
    known_here = {
        name: (_HOSTS.get(name) or _NAMES.get(meaning, name), count)
        for name, (count, meaning) in mpirun.TABLES[kind].items()
    }
    return {**_BLUE_GENE, **others, **known_here}


_OPEN_MPI = _table(mpirun.OPEN_MPI, _OLD_OPEN_MPI)
# mpiexec(1) of HPE Cray PALS, which has -n, -ppn and -genv as Hydra has them.
_PALS = table(((1, "depth cpu-bind mem-bind gpu-bind exclude-hosts"), (0, "line-buffer")))
_HYDRA = _table(mpirun.HYDRA, _PALS)
ONLY_PALS = frozenset(_PALS) - frozenset(mpirun.TABLES[mpirun.HYDRA])
_ONLY_HYDRA = frozenset(_HYDRA) - frozenset(_OPEN_MPI)
# As they are written. --map-by and --bind-to are Hydra's too.
_ONLY_OPEN_MPI = frozenset(_OPEN_MPI) - frozenset(_HYDRA)


def read(words: Sequence[Value]) -> tuple[Layer, list[Value]]:
    """The layer "mpirun" (Open MPI's), "mpiexec.hydra" (MPICH's and Intel's) or "horovodrun". A setting of
    two words (-mca KEY VALUE, -genv KEY VALUE) is one value with "=" in it. Where several programs are
    started at once (a : b) there is an option "app"."""
    program = program_of(words)
    if program == "horovodrun":
        options, rest = take(words[1:], _HOROVOD)
        return Layer("horovodrun", tuple(options)), rest
    hydra = mpirun.PROGRAMS.get(program) == mpirun.HYDRA or any(
        leading(word).startswith("-") and leading(word).lstrip("-").partition("=")[0] in _ONLY_HYDRA
        for word in _before_command(words[1:])
    )
    options, rest = take(words[1:], _HYDRA if hydra else _OPEN_MPI, own=_stands_for_options)
    options = list(_with_listed([each for given in options for each in _each_named(_spelled_out(given))]))
    if any(known(word) == ":" for word in rest):
        options.append(Option("app", None, ":"))
    return Layer("mpiexec.hydra" if hydra else "mpirun", tuple(options), name=program), rest


def listed(text: str, written: str, delimiter: str = ";") -> list[Option]:
    """The options -x that a list of variables stands for: mca_base_env_list of Open MPI, NAME=VALUE;NAME
    (mca_base_var.c)."""
    return [Option("x", (each.strip(),), written) for each in text.split(delimiter) if each.strip()]


def _with_listed(options: Sequence[Option]) -> Iterator[Option]:
    texts = [known(each.value or ()) or "" if each.name == "mca" else "" for each in options]
    named = next((text for text in texts if text.startswith(f"{ENV_LIST}_delimiter=")), "")
    delimiter = named.partition("=")[2] or ";"
    for option, text in zip(options, texts, strict=True):
        name, _, value = text.partition("=")
        if name == ENV_LIST:
            yield from listed(value, option.written, delimiter)
        elif name != f"{ENV_LIST}_delimiter":
            yield option


def _each_named(option: Option) -> list[Option]:
    """Those that -genvlist and -envlist of Hydra stand for: NAME,NAME."""
    text = known(option.value or ()) if is_list(option) else None
    return [option] if text is None else listed(text, option.written, ",")


def is_list(option: Option) -> bool:
    """Whether it is one of Hydra's that name the variables that are handed on."""
    return option.name == "x" and option.written.lstrip("-").startswith(_LISTS)


def is_of_open_mpi(option: Option) -> bool:
    """Whether only Open MPI's launcher has the option, -x or --mca."""
    return option.written.lstrip("-").replace("=", " ").split(" ")[0] in _ONLY_OPEN_MPI


def _before_command(words: Sequence[Value]) -> list[Value]:
    """The words up to the command, as Hydra would count them: enough to see whose options they are."""
    options, rest = take(words, {**_OPEN_MPI, **_HYDRA}, own=_stands_for_options)
    return list(words[: len(words) - len(rest)]) if options else []


def _spelled_out(option: Option) -> Option:
    """Options of Open MPI 1.x by their later names."""
    later = {
        "bind-to-none": ("bind-to", "none"),
        "bind-to-core": ("bind-to", "core"),
        "bycore": ("map-by", "core"),
        "bind-to-socket": ("bind-to", "socket"),
        "bysocket": ("map-by", "socket"),
        "byslot": ("map-by", "slot"),
        "bynode": ("map-by", "node"),
    }.get(option.name)
    return Option(later[0], (later[1],), option.written) if later else option


_IS_OPTIONS = stands_for_options({**_OPEN_MPI, **_HYDRA})


def _stands_for_options(value: Value, after: Sequence[Value]) -> bool:
    follows = bool(after) and (leading(after[0]).startswith("-") or is_named_options(value))
    return follows and _IS_OPTIONS(value, after)
