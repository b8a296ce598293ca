"""What jsrun, aprun, flux run and the others of `PROGRAMS` say of a launch -> ranks and GPUs on a node,
binding, environment.

jsrun counts resource sets: of -n of them each has -a tasks and -g GPUs, and -r are on a host (jsrun(1)).
"""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import handed_on
from hpclaunch.convert.mapping.ranks import of_request
from hpclaunch.convert.mapping.schedulers.other_schedulers import flux_time
from hpclaunch.convert.mapping.slurm.batch.asked import number
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.programs.beside import PREPARES
from hpclaunch.convert.programs.jsrun import PROGRAMS
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known, program_of
from hpclaunch.values.conversion import Place

_TODO = "write gpus_per_node"
_NOT_TOLD = "how many GPUs these are on a node is not told"
_TOLD = frozenset(
    (
        *("nrs", "tasks_per_rs", "gpu_per_rs", "rs_per_host", "np", "npernode", "env"),
        *("nodes", "gpus_per_task", "gpus_per_node", "time"),
    )
)
# What starts one rank where no option counts them: aprun(1), -n; flux-submit(1), "Description".
_ONE_BY_DEFAULT = ("aprun", "flux run", "flux submit")
_COUNTS = ("np", "npernode", "nodes", "gpus_per_node", "tasks-per-core", "cores-per-node", "batch-args", "")
_BINDS = ("bind", "cpu_per_rs", "depth", "cc", "launch_distribution", "latency_priority")


def is_run(layer: Layer, inner: Layer) -> bool:
    """Whether it may be the job's own launch: not what only moves files."""
    return layer.program in PROGRAMS and bool(inner.words) and program_of(inner.words) not in PREPARES


def put(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """Facts and findings for its options."""
    its_own = of_request.variables(draft)
    numbers = {
        each.name: number(each.value, reading, its_own) for each in layer.options if each.name in _TOLD
    }
    _by_flux(reading, command, layer, numbers, draft)
    nodes = draft.number("nodes")
    total = numbers.get("np")
    if "nrs" in numbers:
        sets, tasks = numbers["nrs"], numbers.get("tasks_per_rs", 1)
        total = sets * tasks if sets and tasks else None
    sized = [
        each
        for each in layer.options
        if each.name in ("nrs", "tasks_per_rs", "rs_per_host", "np", "npernode")
    ]
    if layer.program in _ONE_BY_DEFAULT and not any(each.name in _COUNTS for each in layer.options):
        what, lines = f"{layer.program} without -n", (command.place,)
        of_request.on_first(draft, lines, what)
        draft.put(("ranks_per_node",), 1, lines, what, why="it starts one rank by default")
    if total == 1:
        of_request.on_first(draft, _lines(reading, command, sized), _written(sized))
        nodes = draft.number("nodes")
    per_node = (
        _per_host(numbers, "tasks_per_rs", nodes) if layer.program == "jsrun" else numbers.get("npernode")
    )
    if total and nodes and per_node is None:
        per_node = total // nodes if total % nodes == 0 else None
    elif total and per_node and (nodes is None or total < per_node * nodes):
        # Node after node is filled (aprun(1), -N; jsrun(1), -r): the last may have fewer, others have none.
        filled = total // per_node if total % per_node == 0 else None
        if nodes is None and filled:
            draft.put(("nodes",), filled, _lines(reading, command, sized), _written(sized))
        per_node = per_node if nodes is None and filled else None
    if per_node:
        draft.put(("ranks_per_node",), per_node, _lines(reading, command, sized), _written(sized))
    elif sized:
        of_request.not_told(draft, _lines(reading, command, sized), _written(sized))
    of_gpus = [each for each in layer.options if each.name in ("gpu_per_rs", "rs_per_host")]
    gpus = _per_host(numbers, "gpu_per_rs", nodes) if numbers.get("gpu_per_rs") else None
    if gpus:
        draft.put(("gpus_per_node",), gpus, _lines(reading, command, of_gpus), _written(of_gpus))
    elif layer.option("gpu_per_rs") and numbers.get("gpu_per_rs") != 0:
        draft.say("left", _lines(reading, command, of_gpus), _written(of_gpus), why=_NOT_TOLD, todo=_TODO)
    on_node, ranks = numbers.get("gpus_per_node"), draft.number("ranks_per_node")
    each_has = numbers.get("gpus_per_task")
    of_gpus = [each for each in layer.options if each.name in ("gpus_per_node", "gpus_per_task")]
    if on_node or (each_has and ranks):
        count = on_node or (each_has or 0) * (ranks or 0)
        draft.put(("gpus_per_node",), count, _lines(reading, command, of_gpus), _written(of_gpus))
    elif any(numbers.get(each.name) != 0 for each in of_gpus):
        draft.say("left", _lines(reading, command, of_gpus), _written(of_gpus), why=_NOT_TOLD, todo=_TODO)
    for option in layer.options:
        if option.name not in _TOLD:
            why = f"an option of {layer.program}'s"
            if option.name in _BINDS:
                why = "hpclaunch binds each rank to the cores and memory beside its GPU"
            draft.say("left", lines_of(reading, command, option), option.written, why=why)
    given = handed_on.given(reading, command, layer.all("env"), f"{layer.program} --env")
    handed_on.put(reading, given, draft, handed_on.Receivers())


def _by_flux(
    reading: ShellReading, command: Command, layer: Layer, numbers: dict[str, int | None], draft: Draft
) -> None:
    """The nodes and the time of a job that the command itself asks for."""
    nodes, time = layer.option("nodes"), layer.option("time")
    count = numbers.get("nodes")
    if nodes is not None and count:
        draft.put(("nodes",), count, lines_of(reading, command, nodes), nodes.written)
    elif nodes is not None:
        draft.say("left", lines_of(reading, command, nodes), nodes.written, why="how many nodes is not told")
    text = known(time.value or ()) if time is not None else None
    if time is not None and not flux_time(text or "", lines_of(reading, command, time), time.written, draft):
        draft.say("left", lines_of(reading, command, time), time.written, why="the limit is not told")


def _per_host(numbers: dict[str, int | None], of_set: str, nodes: int | None) -> int | None:
    """What so many resource sets of a host have: -r of them, or those of all hosts by the nodes."""
    sets, each = numbers.get("rs_per_host"), numbers.get(of_set, 1)
    of_all = numbers.get("nrs")
    if sets is None and of_all and nodes and of_all % nodes == 0:
        sets = of_all // nodes
    return sets * each if sets and each else None


def _lines(reading: ShellReading, command: Command, options: Sequence[Option]) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(place for each in options for place in lines_of(reading, command, each)))


def _written(options: Sequence[Option]) -> str:
    return " ".join(each.written for each in options)
