"""mpirun's options -> how many ranks a node has, who binds them, and parameters of Open MPI.

srun starts the ranks itself, through PMIx: hosts, daemons and the way to them are no longer anybody's
business. Which parameters those are is in Open MPI's and PRRTE's documentation, by the framework's name.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.cores import BESIDE_ITS_GPU, CORES
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.bind import of_mpirun
from hpclaunch.convert.mapping.ranks import mpi_library
from hpclaunch.convert.mapping.ranks.mpi_library import CRAY, INTEL_MPI, OPEN_MPI, Library, is_before_srun
from hpclaunch.convert.mapping.slurm.batch.asked import number
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.mapping.words.texts import path, split
from hpclaunch.convert.programs.flags import not_told
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.programs.mpirun import ENV_LIST, ONLY_PALS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Place

# Parameters about starting processes on hosts, which srun does (ompi_info --param all all).
_OF_THE_LAUNCH = (
    "plm_", "prte_", "orte_", "rmaps_", "rtc_", "ras_", "odls_", "oob_", "routed_", "ess_", "state_",
    "grpcomm_", "iof_", "dfs_", "filem_", "allow_run_as_root", "hwloc_base_binding_policy",
    "hwloc_default_binding_policy", "hwloc_base_report_bindings", "mca_base_param_files",
    "mpi_paffinity_alone", "opal_paffinity_alone", ENV_LIST,
)  # fmt: skip
MAPPINGS = ("rmaps_base_mapping_policy", "rmaps_default_mapping_policy")
_MOST = 1000  # options
# Parameters of Open MPI 5's launcher alone, and of PMIx in launcher and ranks (prterun(1)).
_TO_PRRTE, _TO_PMIX = ("-prtemca ", "--prtemca "), ("-pmixmca ", "--pmixmca ")
_OF_PARAMETER = re.compile(r"\w+", re.ASCII)  # its name
BY_SRUN = "srun starts the ranks itself: there are no daemons, no ssh and no list of hosts"
_OUTPUT = "`hpclaunch logs` shows the output of all ranks"
_FILES = "it wrote a file for each rank, and a job's log has the output of all (`hpclaunch logs`)"
_PLACED = "`hpclaunch explain` shows where each rank is, `hpclaunch verify` where it was"
_REPLACED = {
    "allow-run-as-root": BY_SRUN,
    "launch-agent": f"{BY_SRUN}, so nothing needs `docker exec` on the other nodes",
    "hostfile": BY_SRUN,
    "host": BY_SRUN,
    "prefix": BY_SRUN,
    "noprefix": BY_SRUN,
    "nolocal": BY_SRUN,
    "np": "the job says nodes and ranks per node",
    "npernode": "the job says ranks per node",
    "pernode": "the job says ranks per node",
    "npersocket": "the job says ranks per node",
    "oversubscribe": "ranks are placed by the node type, also more than there are slots",
    "nooversubscribe": "ranks are placed by the node type",
    "use-hwthread-cpus": "the site's node type says what threads its cores have",
    "tag-output": _OUTPUT,
    "timestamp-output": _OUTPUT,
    "merge-stderr-to-stdout": _OUTPUT,
    "output": _OUTPUT,
    "report-bindings": _PLACED,
    "display-map": _PLACED,
    "display-allocation": _PLACED,
    "display-devel-map": _PLACED,
    "display-topo": _PLACED,
    "genvall": "ranks get what the job file names",
    "genvnone": "ranks get what the job file names",
    "bootstrap": BY_SRUN,
    **dict.fromkeys(("mpiexec", "mpiexec-no-n", "remote-shell", "nodegroup", "rsh", "ssh"), BY_SRUN),
    **dict.fromkeys(("scalable-start", "batch", "maxrsh", "useip", "legacy"), BY_SRUN),
    "affinity": BESIDE_ITS_GPU,
    "ppn": "the command has it: +ppn",
    **dict.fromkeys(("cpus-per-proc", "cpus-per-rank"), "each rank gets the cores beside its GPU"),
    "depth": CORES,
    "line-buffer": _OUTPUT,
    "launcher": BY_SRUN,
    "rmk": BY_SRUN,
    "iface": "the site's file says which interface is for sockets (network.socket_ifname)",
    "prepend-rank": _OUTPUT,
    "l": _OUTPUT,
    "ssh-port": BY_SRUN,
    "ssh-identity-file": BY_SRUN,
    "network-interface": "the site's file says which interface is for sockets (network.socket_ifname)",
    "start-timeout": BY_SRUN,
    "disable-cache": BY_SRUN,
    "mpi": "the job says mpi: pmix",
    **dict.fromkeys(("quiet", "q", "verbose", "v", "show-progress"), _OUTPUT),
    **dict.fromkeys(("disable-recovery", "disable-auto-cleanup"), "one rank that fails ends the job"),
}
# Launchers that do not tell with which MPI the program was built.
_ASKED = {
    "mpiexec.slurm": "it starts srun without --mpi, and so it was the site's own default (MpiDefault)",
    "mpiexec_mpt": "it is of HPE's MPT, and how its ranks find each other under srun no line tells",
    "charmrun": "as the Charm++ of the program was built, which srun can start with MPI, UCX or OFI alone",
    "ibrun": "as the MPI of the program needs it, which ibrun chose by the site's modules",
}
# "MPI Users Guide" of Slurm (mpi_guide.html), Intel MPI.
_PMI_LIBRARY = "I_MPI_PMI_LIBRARY"
# These of --map-by fill one node after the other, but for what is behind a colon, which may change that. Any
# other goes by the nodes (mpirun(1) of Open MPI).
FILLS = frozenset(("slot", "core", "hwthread", "l1cache", "l2cache", "l3cache", "numa", "socket", "package"))


class Size(Struct, frozen=True):
    """How many ranks a node has, None where it is not told; the lines, and what they say."""

    per_node: int | None
    places: tuple[Place, ...]
    what: str


class Told(Struct, frozen=True):
    """What mpirun's options say of ranks: `per_node` of them on a node, or `total` of them (None where the
    option's value is not told). `policy` is that of --map-by, "" for none."""

    option: Option
    per_node: int | None = None
    total: int | None = None
    policy: str = ""

    @property
    def is_total(self) -> bool:
        """Whether the option counts the ranks of all nodes."""
        return self.option.name == "np"


def told_by(layer: Layer, count: Callable[[Option], int | None]) -> Told | None:
    """What counts of all that mpirun is told (mpirun(1) of Open MPI, "Mapping, ranking, and binding"): ranks
    on a node before those of all. None where no option speaks of ranks."""
    for name in ("npernode", "slots-per-host"):
        option = layer.option(name)
        if option is not None:
            return Told(option, count(option))
    option = layer.option("pernode")
    if option is not None:
        return Told(option, 1)
    mapped = layer.option("map-by") or mapped_by_parameter(layer)
    policy = (known(mapped.value or ()) or "").lower().split(":") if mapped is not None else []
    by_resource = len(policy) > 2 and policy[0] == "ppr"
    if mapped is not None and by_resource and policy[2] == "node":
        return Told(mapped, int(policy[1]) if policy[1].isdecimal() and len(policy[1]) < 6 else None)
    option = layer.option("np")
    if option is not None:
        return Told(option, None, count(option), policy[0] if policy else "")
    by_socket = layer.option("npersocket")
    if mapped is not None and by_resource:
        return Told(mapped)
    return Told(by_socket) if by_socket is not None else None


def mapped_by_parameter(layer: Layer) -> Option | None:
    """-mca rmaps_base_mapping_policy ppr:4:node, which --map-by stands for."""
    for option in layer.all("mca"):
        name, _, policy = shown(option.value or ()).partition("=")
        if name in MAPPINGS:
            return Option("map-by", (policy,), option.written)
    return None


def ranks_of(
    reading: ShellReading, command: Command, layer: Layer, nodes: int | None, slurm: Mapping[str, int]
) -> Size | None:
    """Ranks on a node by the options of mpirun alone; None where none of them says anything about it."""
    told = told_by(layer, lambda option: number(option.value, reading, slurm))
    if told is None:
        return None
    places = lines_of(reading, command, told.option)
    if not told.is_total:
        return Size(told.per_node, places, told.option.written)
    host, slots = layer.option("host"), slots_of(layer)
    if told.total is not None and nodes and told.total % nodes == 0:
        return Size(told.total // nodes, places, told.option.written)
    if slots and host is not None:
        return Size(slots, places, f"{told.option.written} {host.written}")
    return Size(None, places, told.option.written)


def nodes_of(layer: Layer) -> int | None:
    """How many hosts a -H or -host names, None where it is not known. Of several behind commas each is one,
    also where it is a variable: $FIRST,$SECOND."""
    host = layer.option("host")
    names = [each for each in split(host.value or (), ",") if each] if host is not None else []
    if not names or not all(_is_one(each, alone=len(names) == 1) for each in names):
        return None
    return len({shown(each).partition(":")[0] for each in names})


def _is_one(host: Value, *, alone: bool) -> bool:
    """Whether it is the name of one host: `$(scontrol show hostnames)` may be that of all, and what stands
    behind a name is its slots (localhost:$GPUS)."""
    if known(host) is not None or alone:
        is_named = bool(host) and isinstance(host[0], str) and host[0].find(":") > 0
        return any(map(str.isalnum, known(host) or "")) or is_named  # of "..." somebody makes the names
    part = host[0] if len(host) == 1 else ""
    return not isinstance(part, Unknown) or part.kind in ("variable", "argument")


def slots_of(layer: Layer) -> int | None:
    """The slots of each host in -H a:8,b:8, where all have as many."""
    host = layer.option("host")
    hosts = known(host.value or ()) or "" if host is not None else ""
    counts = {each.partition(":")[2] for each in hosts.split(",") if each}
    only = counts.pop() if len(counts) == 1 else ""
    return int(only) if only.isdecimal() and int(only) else None


def put_options(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """Findings and facts for all options but those about how many ranks there are and -x, which the caller
    carries."""
    given = sorted((each for each in layer.options if each.name != "x"), key=_is_policy)
    for option in given[:_MOST]:
        places = lines_of(reading, command, option)
        if of_mpirun.option(option, places, draft):
            continue
        if option.name == "timeout" and layer.program == "charmrun":
            draft.say("replaced", places, option.written, why=BY_SRUN)  # how long it waits for its processes
        elif option.name in _SPECIAL:
            _SPECIAL[option.name](option, places, draft)
        elif option.name in _REPLACED:
            draft.say("replaced", places, option.written, why=_REPLACED[option.name])
        elif option.name == "":
            _of_a_variable(reading, option, places, draft)
        elif option.name == "output-filename":
            draft.say(
                "left", places, option.written, why=_FILES, todo="let the command write files of its own"
            )
        else:
            why, todo = mpi_library.without_counterpart(option.name, layer)
            draft.say("left", places, option.written, why=why, todo=todo)


def _is_policy(option: Option) -> bool:
    """Whether it says how ranks are bound where nothing says to which CPUs."""
    return option.name == "bind-to"


def _of_a_variable(reading: ShellReading, option: Option, places: Sequence[Place], draft: Draft) -> None:
    """Words that a variable holds in some cases: of no weight where all that it is ever given is replaced."""
    names = not_told(option.value or ())
    given = [
        word for each in reading.assigned if each.name in names for word in (known(each.value) or "?").split()
    ]
    if given and all(word.startswith("-") and word.lstrip("-") in _REPLACED for word in given):
        why = _REPLACED[given[0].lstrip("-")]
        draft.say("replaced", places, f"{option.written}: {' '.join(given)}", why=why)
    else:
        why = f"options that no line tells ({option.written})"
        draft.say("unread", places, option.written, why=why, todo="give it with --env and convert again")


def put_kind(command: Command, layer: Layer, library: Library | None, draft: Draft) -> None:
    """That the ranks use MPI, and how they find each other; who binds them where no option tells it.
    `library` is the MPI whose launcher it is, None where nothing tells it."""
    of_mpirun.by_itself(command, layer, draft)
    lines = (command.place,)
    pals = next((each.written for each in layer.options if each.name in ONLY_PALS), "")
    pals = library.told_by if library is not None and library.name == CRAY else pals
    if layer.program in _ASKED:
        draft.ask(("mpi",), f"pmix, pmi2 or none: {_ASKED[layer.program]}", lines, layer.called)
    elif layer.program in ("mpiexec.hydra", "mpirun") and pals:
        question = f"pmix, pmi2 or none: {pals} is of HPE Cray's, whose PALS has a way of its own"
        draft.ask(("mpi",), question, lines, layer.called)
    elif layer.program in ("mpiexec.hydra", "mpirun_rsh"):
        why = "srun starts the ranks, which MPICH, MVAPICH2 and Intel MPI take through PMI-2"
        draft.put(("mpi",), "pmi2", lines, layer.called, why=why)
    elif library is not None and library.name != OPEN_MPI:
        why = f"it is {library.name}'s by {library.told_by}, whose ranks find each other through PMI-2"
        draft.put(("mpi",), "pmi2", lines, layer.called, why=why)
        given = {**dict(command.environment), **dict(command.prefix)}
        if library.name == INTEL_MPI and _PMI_LIBRARY not in given:
            why = "under srun its ranks find each other by Slurm's libpmi2.so, which this variable names"
            todo = f"write env: {{{_PMI_LIBRARY}: ...}}, with the path that it has at the site"
            draft.say("question", lines, _PMI_LIBRARY, why=why, todo=todo)
    elif library is not None and is_before_srun(library.old):
        why = f"{library.old} is of an Open MPI before 1.5, and srun starts ranks of later ones"
        question = f"pmix, or pmi2 before release 2: {why}"
        draft.ask(("mpi",), question, lines, layer.called)
    elif library is not None and library.old:
        why = f"{library.old} is of Open MPI 1, which knows PMI-2, where it was built with it, and no PMIx"
        draft.put(("mpi",), "pmi2", lines, layer.called, why=why)
    elif library is not None:
        why = "srun starts the ranks, which find each other through PMIx: no ssh, keys, daemons or hosts"
        draft.put(("mpi",), "pmix", lines, layer.called, why=why)
    else:
        why = mpi_library.taken_for(layer)
        draft.put(("mpi",), "pmix", lines, layer.called, why=why, kind="assumed")
    if library is not None and library.beside:
        why = (
            f"{library.told_by} and {library.beside} are of two MPIs whose ranks find each other in two ways"
        )
        why += f": it is taken for {library.name}'s"
        todo = "where it is the other's write mpi: pmix for Open MPI, and pmi2 for the others"
        draft.say("question", lines, f"whose {layer.called} it is", why=why, todo=todo)


def is_of_the_launch(name: str) -> bool:
    """Whether a parameter of Open MPI is about how processes are started."""
    return name.startswith(_OF_THE_LAUNCH)


def parameter(name: str, value: str, places: Sequence[Place], what: str, draft: Draft) -> None:
    """A parameter of Open MPI: kept as OMPI_MCA_*, or gone with the launcher that it was for."""
    if of_mpirun.is_parameter(name):
        of_mpirun.put_parameter(name, value, places, what, draft)
    elif is_of_the_launch(name):
        draft.say("replaced", places, what, why=BY_SRUN)
    elif name == "mpi_warn_on_fork" or name.endswith(("_warn_default_gid_prefix", "_warn_on_fork")):
        draft.put(("env", f"OMPI_MCA_{name}"), value, places, what, why="a warning less")
    else:
        draft.put(("env", f"OMPI_MCA_{name}"), value, places, what, why="Open MPI reads it of OMPI_MCA_*")


def _mca(option: Option, places: Sequence[Place], draft: Draft) -> None:
    name, _, value = shown(option.value or ()).partition("=")
    if not _OF_PARAMETER.fullmatch(name):
        why = f"{name} is no name of a parameter"
        draft.say("left", places, option.written, why=why, todo="write it in env as OMPI_MCA_NAME")
    elif of_mpirun.is_parameter(name):
        of_mpirun.put_parameter(name, known(option.value or ()) and value, places, option.written, draft)
    elif option.written.startswith(_TO_PRRTE):
        draft.say("replaced", places, option.written, why=BY_SRUN)
    elif option.written.startswith(_TO_PMIX):
        text, key = known(option.value or ()), ("env", f"PMIX_MCA_{name}")
        if text is None:
            draft.ask(key, f"the value of PMIx's parameter {name}", places, option.written)
        else:
            draft.put(key, value, places, option.written, why="PMIx reads it of PMIX_MCA_*")
    elif known(option.value or ()) is None and not is_of_the_launch(name):
        question = f"the value of Open MPI's parameter {name}"
        draft.ask(("env", f"OMPI_MCA_{name}"), question, places, option.written)
    else:
        parameter(name, value, places, option.written, draft)


def _map(option: Option, places: Sequence[Place], draft: Draft) -> None:
    policy = (known(option.value or ()) or "?").lower().split(":")[0]
    if policy in FILLS | {"ppr"}:
        draft.say("replaced", places, option.written, why="ranks go over nodes in blocks, as mpirun had it")
    elif policy == "node" and draft.number("ranks_per_node") == 1:
        draft.say("replaced", places, option.written, why="a node has one rank, in any order of them")
    else:
        draft.say(
            "left",
            places,
            option.written,
            why="ranks go over nodes in blocks: 0 to N-1 on the first node",
            todo="where the program counts on another order, let it take that from its own arguments",
        )


def _folder(option: Option, places: Sequence[Place], draft: Draft) -> None:
    folder = path(option.value or ())
    if folder is None:
        draft.ask(
            ("workdir",), f"the folder in which the ranks start: {option.written}", places, option.written
        )
    else:
        draft.put(("workdir",), folder, places, option.written)


def _several(option: Option, places: Sequence[Place], draft: Draft) -> None:
    question = "what each rank executes: mpirun starts several programs at once (a : b), and a group has one"
    todo = "write a group for each program, with nodes of its own, or submit the parts as jobs of their own"
    draft.ask(("command",), question, places, "mpirun ... : ...", todo=todo)


def _limit(option: Option, places: Sequence[Place], draft: Draft) -> None:
    """mpirun(1), "--timeout": seconds, after which it ends what it has started."""
    draft.say(
        "left",
        places,
        option.written,
        why="mpirun ends the ranks after so many seconds, and the job has one limit, `time`",
        todo="write `time`, which is for the whole job, or begin the command with `timeout SECONDS`",
    )


def _aborts(option: Option, places: Sequence[Place], draft: Draft) -> None:
    draft.say(
        "left",
        places,
        option.written,
        why="one rank that fails ends the job",
        todo="where ranks are to go on alone, catch the failure in the program",
    )


_SPECIAL: dict[str, Callable[[Option, Sequence[Place], Draft], None]] = {
    "mca": _mca,
    "map-by": _map,
    "rank-by": _map,
    "app": _several,
    "wdir": _folder,
    "enable-recovery": _aborts,
    "continuous": _aborts,
    "timeout": _limit,
}
