"""Who binds the ranks of an mpirun, and to what: its options, and Open MPI's parameters -> `bind`.

mpirun(1) of Open MPI 4.1, "Mapping, Ranking, and Binding"; `-bind-to user:` is handle_user_binding in hydra's
tools/topo/hwloc/topo_hwloc.c, with CPUs as Linux counts them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hpclaunch.convert.cores import BESIDE_ITS_GPU
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.bind import by_ranks
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values import cpulist
from hpclaunch.values.conversion import Place

Places = Sequence[Place]

_BINDS = {
    # horovod/runner/mpi_run.py: -bind-to none; its other launcher, Gloo, binds nothing.
    "horovodrun": "binds no rank",
    "charmrun": "binds no rank",
    "ibrun": "binds ranks as the site has set it up",
    # The library of MVAPICH2 binds each rank, as MV2_ENABLE_AFFINITY is 1 (its user guide, 2.3, "Running with
    # Efficient CPU (Core) Mapping").
    "mpiexec.hydra": "binds no rank without -bind-to (MPICH), or by its own defaults (Intel MPI, MVAPICH2)",
}
_LIST = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*")
_VERBOSE = re.compile(r"(?:v|verbose),")
_CORES_OF_RANK = re.compile(r":pe=(\d+)", re.IGNORECASE)  # mpirun(1), "PE=n": bound to n of them
_OF_OPENMPI = ("OMPI_MCA_", "PRTE_MCA_")
_POLICY = re.compile(r"(?:hwloc_base|hwloc_default)_binding_policy")
# Of Open MPI up to 1.6, where it is the switch for binding each rank to a processor (its FAQ, "Tuning").
_ALONE = re.compile(r"(?:mpi|opal)_paffinity_alone")
_RANKFILE = re.compile(r"rmaps_(?:rank_?file_path|rankfile|default_rankfile)|rank_?file")
# What IBM's POE attaches each task to, a core or CPU or so many of them or an MCM, where it is not -1, for
# none (poe(1) of IBM's Parallel Environment, -task_affinity); none of MPICH's or Intel's launchers reads it.
_BY_POE = "MP_TASK_AFFINITY"
_CPUS = re.compile(r"cpu-set|cpu-list|slot-list|(?:hwloc_base|hwloc_default)_(?:cpu_set|cpu_list|slot_list)")


def by_itself(command: Command, layer: Layer, draft: Draft) -> None:
    """Who binds where no option of mpirun tells it: variables that it or the ranks read, or its defaults."""
    if any(_says_binding(each) for each in layer.options):
        _say_cores(layer, command, draft)
        return
    given = {**dict(command.environment), **dict(command.prefix), **dict(_handed(layer))}
    for name, value in given.items():
        parameter = next((name.removeprefix(each) for each in _OF_OPENMPI if name.startswith(each)), "")
        if parameter and is_parameter(parameter):
            put_parameter(parameter, known(value), (command.place,), f"{name}={shown(value)}", draft)
            _say_cores(layer, command, draft)
            return
    if ("bind", "cpus") in draft.facts or by_ranks.of_library(given, (command.place,), draft, by_mpirun=True):
        return
    what = f"{layer.called} {_BINDS.get(layer.program, 'without --bind-to binds by its own defaults')}"
    what = _cores(layer, "cores") or _by_poe(layer, given) or what
    draft.say("replaced", (command.place,), what, became="bind: cpus: local", why=BESIDE_ITS_GPU)


def _by_poe(layer: Layer, given: Mapping[str, Value]) -> str | None:
    """What the variables tell IBM's POE to bind each rank to; None where they do not."""
    to = given.get(_BY_POE)
    if to is None or known(to) in ("", "-1") or layer.program == "mpiexec.hydra":
        return None
    # A variable that is set on a condition has itself for its value.
    what = _BY_POE if shown(to) == f"${{{_BY_POE}}}" else f"{_BY_POE}={shown(to)}"
    return f"{what} binds each rank where {layer.called} is IBM's POE"


def _cores(layer: Layer, kind: str) -> str | None:
    """How many cores, or hardware threads, a rank is bound to by --map-by; None where it does not tell it."""
    mapped = layer.option("map-by")
    cores = _CORES_OF_RANK.search(known(mapped.value or ()) or "") if mapped is not None else None
    return f"{mapped.written} binds each rank to {cores[1]} {kind}" if mapped and cores else None


def _say_cores(layer: Layer, command: Command, draft: Draft) -> None:
    """Where something says to which kind of thing ranks are bound, PE=n of --map-by says to how many of them
    (mpirun(1), "PE=n"); nobody is told of it where no rank is bound, or a list has its CPUs."""
    bound = layer.option("bind-to")
    by_threads = bound is not None and (known(bound.value or ()) or "").lower().startswith("hwthread")
    what = _cores(layer, "hardware threads" if by_threads else "cores")
    if what is not None and ("bind", "cpus") not in draft.facts:
        draft.say("replaced", (command.place,), what, became="bind: cpus: local", why=BESIDE_ITS_GPU)


def overruled(layer: Layer | None, names: Iterable[str]) -> list[str]:
    """Of variables those that say nothing of binding, since an option of mpirun does (mpirun(1), "MCA")."""
    if layer is None or not any(_says_binding(each) for each in layer.options):
        return []
    pairs = ((name, name.removeprefix(prefix)) for name in names for prefix in _OF_OPENMPI)
    return [name for name, parameter in pairs if parameter != name and is_parameter(parameter)]


def is_parameter(name: str) -> bool:
    """Whether a parameter of Open MPI says to what ranks are bound."""
    return any(pattern.fullmatch(name) for pattern in (_POLICY, _ALONE, _RANKFILE, _CPUS))


def put_parameter(name: str, value: str | None, places: Places, what: str, draft: Draft) -> None:
    """What such a parameter says, None for a value that is not told."""
    if _POLICY.fullmatch(name):
        policy(value, places, what, draft)
    elif _ALONE.fullmatch(name):
        policy("none" if value is not None and value.strip() in by_ranks.OFF else value, places, what, draft)
    else:
        _ask_cpus(places, what, draft)


def policy(value: str | None, places: Places, what: str, draft: Draft) -> None:
    """--bind-to, and the parameters that say the same."""
    to, _, lists = (value or "").lower().partition(":")
    if value is None:
        draft.ask(("bind", "cpus"), f"what ranks are bound to: {what} is not told", places, what)
    elif to == "none":
        why = "mpirun binds nobody; without these keys hpclaunch gives each rank the cores beside its GPU"
        draft.put(("bind", "cpus"), "none", places, what, why=why)
        draft.put(("bind", "memory"), "none", places, what, why=why)
    elif to == "user":
        _user(lists, places, what, draft)
    elif to in ("cpu-list", "cpulist"):
        _ask_cpus(places, what, draft)
    elif ("bind", "cpus") in draft.facts:
        draft.say("replaced", places, what, why="something else says to which CPUs")
    else:
        draft.say("replaced", places, what, became="bind: cpus: local", why=BESIDE_ITS_GPU)


def _ask_cpus(places: Places, what: str, draft: Draft) -> None:
    """The question which CPUs each rank has, which a file or a list in Open MPI's own numbers tells."""
    question = (
        f"the CPUs of each local rank, as {what} places them: Open MPI counts cores in its own order, and "
        "this key has the CPUs as Linux numbers them"
    )
    todo = "write a list for each rank of a node, or local: the cores beside the rank's GPU"
    draft.ask(("bind", "cpus"), question, places, what, todo=todo)


def option(each: Option, places: Places, draft: Draft) -> bool:
    """Put what an option of mpirun says of binding; False where it says nothing of it."""
    if each.name == "bind-to":
        policy(known(each.value or ()), places, each.written, draft)
    elif each.name in ("rankfile", "rf") or _is_rankfile(each):
        _ask_cpus(places, each.written, draft)
        why = "ranks go over nodes in blocks: 0 to N-1 on the first node"
        todo = "where the file has another order, let the program take its place from its own arguments"
        draft.say("left", places, each.written, why=why, todo=todo)
    elif _CPUS.fullmatch(each.name):
        _ask_cpus(places, each.written, draft)
    elif each.name == "cpu-bind":
        _pals(known(each.value or ()), places, each.written, draft)
    else:
        return False
    return True


def _says_binding(each: Option) -> bool:
    if each.name == "mca":
        return is_parameter(shown(each.value or ()).partition("=")[0])
    return (
        each.name in ("bind-to", "cpu-bind", "rankfile", "rf")
        or bool(_CPUS.fullmatch(each.name))
        or _is_rankfile(each)
    )


def _is_rankfile(each: Option) -> bool:
    return each.name == "map-by" and shown(each.value or ()).lower().startswith("rankfile")


def _pals(text: str | None, places: Places, what: str, draft: Draft) -> None:
    """--cpu-bind of HPE Cray PALS's mpiexec: list:0-7:8-15 has the CPUs of each local rank. The word in front
    makes it print what it binds (its mpiexec(1): `verbose,list:...`)."""
    first, _, lists = _VERBOSE.sub("", text or "", count=1).partition(":")
    per_node = draft.number("ranks_per_node")
    entries = lists.split(":")
    if first == "list" and per_node and per_node <= len(entries) and all(map(_LIST.fullmatch, entries)):
        draft.put(("bind", "cpus"), entries[:per_node], places, what)
        draft.put(("bind", "memory"), "none", places, what, why="mpiexec leaves it alone")
    elif text is None or first in ("list", "mask"):
        draft.ask(("bind", "cpus"), f"the CPUs of each local rank: {what}", places, what)
    else:
        policy(first, places, what, draft)


def _handed(layer: Layer) -> Iterator[tuple[str, Value]]:
    """The variables that mpirun hands on with a value: -x K=V, -genv K V."""
    for each in layer.all("x"):
        name, equals, text = shown(each.value or ()).partition("=")
        if equals:
            yield name, (text,)


def _user(lists: str, places: Places, what: str, draft: Draft) -> None:
    """user:0+1,2+3 of hydra: the CPUs of each local rank; one that has no entry is not bound."""
    per_node = draft.number("ranks_per_node")
    entries = lists.split(",")
    plain = all(re.fullmatch(r"\d{1,5}(\+\d{1,5})*", each) for each in entries)
    if not plain or per_node is None or per_node > len(entries):
        why = "not every rank of a node has an entry" if plain and per_node else "its lists are not told"
        draft.ask(("bind", "cpus"), f"the CPUs of each local rank: {what}, and {why}", places, what)
        return
    found = [cpulist.format_list(sorted({int(cpu) for cpu in each.split("+")})) for each in entries]
    draft.put(("bind", "cpus"), found[:per_node], places, what)
    draft.put(("bind", "memory"), "none", places, what, why="hydra leaves it alone")
