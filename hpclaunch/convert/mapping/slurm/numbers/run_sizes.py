"""How many nodes, ranks and GPUs the run has -> `nodes`, `ranks_per_node`, `gpus_per_node`."""

from collections.abc import Sequence

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import launchers, own_gpus, torch_variables
from hpclaunch.convert.mapping.slurm.batch import allocation, gpu_binding, hints
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, of_batch, of_command, outside_allocation
from hpclaunch.convert.mapping.slurm.numbers import default_ranks
from hpclaunch.convert.mapping.slurm.numbers.sizes import OF_GPUS, Allocation, gpus_of, last
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import Ranks
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.made import either_of
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs.layers import MPI, Layer, Option, layers
from hpclaunch.convert.programs.srun import TELL_GPUS
from hpclaunch.convert.reading import Loop, ShellReading
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place

_OF_SCRIPT = "one run of the script"
_ON_FIRST = "the run is on the first node alone"
_ONCE = "the script starts its command once, without srun and mpirun"
_BY_LAUNCHER = "what starts the run says how many ranks there are"
_ASKED = "how many ranks a node has is asked for"
# What salloc, mpirun and launchers for GPUs are told of how many there are.
_COUNT = frozenset(("ntasks", "ntasks-per-node", "np", "npernode", "nproc_per_node", "num_processes"))
_STARTS_ITSELF = (
    "where it starts ranks itself write ranks_per_node, mpi, and as `command` what each of them executes; "
    "where it is to have the cores of all of them write bind: {cpus: none, memory: none}"
)


def put(
    reading: ShellReading, run: Step, found: Allocation, launcher: Layer | None, draft: Draft
) -> int | None:
    """Nodes where the run has fewer than the job, and ranks on a node. Returns the latter."""
    ranks, found = _by_fan_out(reading, run, found, launcher, draft)
    _nodes(reading, run, ranks, found, draft)
    size = _Size(ranks.per_node, ranks.places, _what(run), doubt=ranks.doubt)
    if launcher is not None:
        launchers.say_apart(run.command, launcher, ranks, draft)
        if found.nodes is None:
            launchers.say_range(reading, run.command, launcher, draft)
        own = _by_launcher(reading, run, ranks, found, launcher, size, draft)
        if own is None:
            return None
        size = own
    if size.per_node is None:
        _ask_ranks(run, size.doubt, size.places, size.what, draft)
    elif not 1 <= size.per_node <= 4096:
        question = f"how many ranks on each node: {size.per_node} is none"
        draft.ask(("ranks_per_node",), question, size.places, size.what)
        return None
    else:
        by_default = launcher is None and default_ranks.is_one_on_each(run, found)
        why = size.why or (default_ranks.WHY if by_default else "")
        draft.put(("ranks_per_node",), size.per_node, size.places, size.what, why=why)
        if ranks.assumed:
            became = f"ranks_per_node: {size.per_node}"
            draft.say("assumed", ranks.places, _what(run), became=became, why=ranks.assumed)
        if launcher is None:
            default_ranks.say(run, found, draft)
    is_once = launcher is None and size.per_node == 1 and _starter(run) == _OF_SCRIPT
    _unused(reading, draft, is_once=is_once)
    return size.per_node


class _Size(Struct, frozen=True):
    """How many ranks a node has, None where that is not told; what tells it, why, or what leaves it open."""

    per_node: int | None
    places: tuple[Place, ...]
    what: str
    why: str = ""
    doubt: str = ""


def _what(run: Step) -> str:
    return " ".join(each.written for each in run.asked if each.name.startswith("ntasks")) or _starter(run)


def _by_fan_out(
    reading: ShellReading, run: Step, found: Allocation, launcher: Layer | None, draft: Draft
) -> tuple[Ranks, Allocation]:
    """The ranks and the job with the nodes that a launcher is told of by itself (torchrun --nnodes)."""
    ranks = run.ranks
    told = launchers.nodes_of(reading, run.command, launcher, found.numbers) if launcher is not None else None
    if told is not None and found.nodes and told.per_node == found.nodes and _on_each(run):
        _say_on_each(run, told, found.nodes, draft)
        return structs.replace(ranks, nodes=found.nodes), found
    if told is not None and found.nodes is None and run.option("nodes") is None:
        _put_told(told, draft)
        return structs.replace(ranks, nodes=told.per_node), structs.replace(found, nodes=told.per_node)
    if told is not None and told.per_node and ranks.nodes and told.per_node != ranks.nodes:
        question = f"how many nodes: {told.what} says another number than where it is started, {ranks.nodes}"
        draft.say("question", (*told.places, *ranks.places), told.what, why=question, todo="correct `nodes`")
    return ranks, found


def _nodes(reading: ShellReading, run: Step, ranks: Ranks, found: Allocation, draft: Draft) -> None:
    """Put the nodes where the run has others than the job, or ask for them."""
    own = run.option("nodes")
    if ranks.nodes is not None and ranks.nodes != found.nodes:
        by = own or run.option("ntasks") or run.option("ntasks-per-gpu")
        what = by.written if by is not None else _starter(run)
        chosen = run.option("nodelist")
        if chosen is not None and found.nodes:
            question = f"how many nodes: the job has {found.nodes}, and this run is on {chosen.written} alone"
            draft.ask(("nodes",), question, (run.command.place, *found.places["nodes"]), what)
        elif chosen is not None and found.nodes is None and _is_one_of_several(reading, run, chosen):
            question = f"how many nodes: a loop starts the run on {chosen.written}, each time on another and "
            question += "side by side, and no line counts them"
            draft.ask(("nodes",), question, (run.command.place,), what)
        else:
            _put_nodes(own.places if own else ranks.places, ranks.nodes, what, found, draft)
    elif own is not None and ranks.nodes is None:
        _ask_nodes(reading, run, own, draft)
    elif ranks.nodes is None and found.nodes is None:
        _ask_nodes_of_tasks(reading, run, draft)


def _by_launcher(
    reading: ShellReading,
    run: Step,
    ranks: Ranks,
    found: Allocation,
    launcher: Layer,
    of_step: _Size,
    draft: Draft,
) -> _Size | None:
    """What a launcher makes of the ranks of its step; None where nothing tells it, which is asked for."""
    size = launchers.size(reading, run.command, launcher, ranks.nodes, found.numbers)
    places, doubt = (*size.places, *ranks.places), size.doubt or ranks.doubt
    per_node = ranks.per_node
    if per_node is not None and per_node != 1:
        if size.per_node and size.per_node > 1:
            _say_product(per_node, size.per_node, launcher, places, of_step.what, draft)
        each = per_node * size.per_node if size.per_node else None
        doubt = doubt or f"{per_node} times as many as {launcher.called} starts, which no line tells"
        return _Size(each, places, of_step.what, doubt=doubt)
    if size.per_node is not None or size.doubt:
        why = f"{launcher.program} starts them on each node; the job starts each itself"
        return _Size(size.per_node, places, size.what, why, doubt)
    gpus = gpus_of(reading, last([*of_batch(reading), *run.asked]), found)
    if gpus.number is None:
        return None
    places, why = (*places, *gpus.places), "one for each GPU"
    visible = torch_variables.visible(run.command)
    if visible is not None and visible != gpus.number:
        doubt = f"{launcher.program} counts the {visible} of CUDA_VISIBLE_DEVICES, or the "
        doubt += f"{gpus.number} of the node where Slurm sets that anew for srun"
        return _Size(None, places, size.what, why, doubt)
    return _Size(gpus.number, places, size.what, why, doubt)


def _is_one_of_several(reading: ShellReading, run: Step, chosen: Asked | Option) -> bool:
    """Whether the rounds of a loop start the run side by side, on nodes that the script finds."""
    its, names = run.command, names_in(chosen.value or ())
    untold = {each.variable for each in its.loops if each.count is None}
    return its.background and bool(its.loops) and any(name in untold or reading.given(name) for name in names)


def _starter(run: Step) -> str:
    """What starts the ranks, for people: the script itself where neither srun nor mpirun does."""
    programs = [layer.program for layer in layers(run.command.words) if layer.program in (*MPI, "srun")]
    mpi = [each for each in programs if each in MPI]
    return next(iter((*mpi, *programs)), _OF_SCRIPT)


def _on_each(run: Step) -> bool:
    """Whether a loop starts a launcher on one node of the job after the other."""
    node = run.option("nodelist")
    of_round = node is not None and known(node.value or ()) is None
    return of_round and bool(run.command.loops) and run.ranks.nodes == 1


def _say_on_each(run: Step, told: launchers.FanOut, nodes: int, draft: Draft) -> None:
    """The launchers of all rounds make one world."""
    for name in ("nodes", "ntasks"):
        each = run.option(name)
        if each is not None:
            why = f"the loop starts a launcher on each of {nodes} nodes, and {told.what} makes them one world"
            draft.say("replaced", each.places, each.written, became=f"nodes: {nodes}", why=why)


def _loop_of(run: Step, own: Asked | Option | None) -> Loop | None:
    """The loop that gives an option of the run another value in each round."""
    names = names_in(own.value or ()) if own is not None else set()
    return next((each for each in run.command.loops if each.variable in names), None)


def _ask_ranks(run: Step, doubt: str, places: tuple[Place, ...], what: str, draft: Draft) -> None:
    """The ranks on a node, which no line tells, or which are others in each round."""
    own: Asked | Option | None = run.option("ntasks-per-node") or run.option("ntasks")
    loop = _loop_of(run, own)
    if loop is None:
        counts = (each for its in layers(run.command.words) for each in its.options if each.name in _COUNT)
        own, loop = next(((each, of) for each in counts if (of := _loop_of(run, each))), (own, None))
    if own is None or loop is None:
        draft.ask(("ranks_per_node",), f"how many ranks on each node: {doubt}", places, what)
        return
    told = f"{own.written} is another number in each round of the loop over {loop.over}"
    once = "--set trials.count=1 where each had one run"
    todo = f"submit a job for each, with --set ranks_per_node=..., and {once}"
    places = (*places, loop.place)
    draft.ask(("ranks_per_node",), f"how many ranks on each node: {told}", places, what, todo=todo)


def _ask_nodes(reading: ShellReading, run: Step, own: Asked, draft: Draft) -> None:
    """The nodes of a run whose number no line tells, or is another one in each round."""
    loop = _loop_of(run, own)
    if loop is None:
        told = either_of(reading, own.value or ()) or f"{own.written} is not told"
        draft.ask(("nodes",), f"how many nodes: {told}", own.places, own.written)
        return
    question = f"how many nodes: {own.written} is another number in each round of the loop over {loop.over}"
    todo = "submit a job for each, with --set nodes=..., and --set trials.count=1 where each had one run"
    draft.ask(("nodes",), question, (*own.places, loop.place), own.written, todo=todo)


def _ask_nodes_of_tasks(reading: ShellReading, run: Step, draft: Draft) -> None:
    """The nodes of a run that says how many ranks it has in all, and no more; or how many GPUs, where it is
    no step of a job (srun(1), --gpus)."""
    gpus = None if reading.directives else run.option("gpus")
    tasks = run.option("ntasks") or (None if gpus is not None and gpus.text in ("0", "1") else gpus)
    if tasks is None or ("nodes",) in draft.facts:
        return
    each = run.ranks.per_node
    on_each = f", with {each} on each" if each else ""
    question = f"how many nodes: as many as {tasks.written} needs{on_each}"
    draft.unsay(("nodes",))
    draft.ask(("nodes",), question, tasks.places, tasks.written)


def _put_told(told: launchers.FanOut, draft: Draft) -> None:
    """The nodes that a launcher says, where nobody else does."""
    draft.unsay(("nodes",))
    if told.per_node:
        draft.put(("nodes",), told.per_node, told.places, told.what)
    else:
        draft.ask(("nodes",), f"how many nodes: {told.doubt}", told.places, told.what)


def _put_nodes(places: tuple[Place, ...], nodes: int, what: str, found: Allocation, draft: Draft) -> None:
    """The nodes of the run, which are other than those of the job."""
    told = draft.facts.get(("nodes",))
    asked = next((each for each in draft.findings if (each.kind, each.key) == ("question", "nodes")), None)
    draft.unsay(("nodes",))
    if told is None or told.is_open:
        draft.put(("nodes",), nodes, places, what)
        if asked is not None and what == _OF_SCRIPT:
            why = "; ".join(filter(None, (asked.why.partition(": ")[2], _ON_FIRST)))
            todo = "where it goes to the others by itself write `nodes` in the job file"
            draft.say("assumed", asked.places, asked.what, became=f"nodes: {nodes}", why=why, todo=todo)
        return
    if isinstance(told.value, int) and told.value < nodes:
        draft.put(("nodes",), nodes, places, what, why=f"another line asks for {told.value} alone")
        return
    draft.say(
        "replaced",
        told.places,
        f"{told.value} nodes for the whole script",
        why=f"its run is on {nodes} of them, and a job has the nodes of its run: the others would stand idle",
        todo="where other steps need them, submit those as a job of their own",
    )
    draft.of_script[draft.findings[-1]] = told.value
    draft.put(
        ("nodes",), nodes, places, what, why=f"the job has {found.nodes} nodes, and its run is on {nodes}"
    )


def _say_product(
    often: int, each: int, launcher: Layer, places: tuple[Place, ...], what: str, draft: Draft
) -> None:
    """Mostly by oversight: --ntasks-per-node is the number of GPUs, and the launcher starts as many."""
    why = (
        f"srun starts {launcher.program} {often} times on each node, and each of them {each} processes: the "
        f"job has all {often * each} as ranks of one world"
    )
    todo = f"where one {launcher.program} on a node was meant write ranks_per_node: {each}"
    draft.say("question", places, what, became=f"ranks_per_node: {often * each}", why=why, todo=todo)


def _unused(reading: ShellReading, draft: Draft, *, is_once: bool) -> None:
    """Numbers of tasks on #SBATCH lines that the run's own options override, or that nothing starts
    (`is_once`)."""
    facts = draft.facts.items()
    used = {
        place for key, fact in facts if not is_once or key == ("ranks_per_node",) for place in fact.places
    }
    for each in of_batch(reading):
        if not each.name.startswith("ntasks") or used.intersection(each.places):
            continue
        if is_once and each.name in ("ntasks", "ntasks-per-node") and each.text != "1":
            became = "ranks_per_node: 1"
            draft.say("assumed", each.places, each.written, became=became, why=_ONCE, todo=_STARTS_ITSELF)
        else:
            ranks = draft.facts.get(("ranks_per_node",))
            is_asked = ranks is not None and ranks.is_open
            why = _ONCE if is_once else _ASKED if is_asked else _BY_LAUNCHER
            draft.say("replaced", each.places, each.written, why=why)


def put_gpus(
    reading: ShellReading, run: Step, found: Allocation, launcher: Layer | None, draft: Draft
) -> None:
    """GPUs on a node by the run's own options or by its launcher's, or asked for where nothing tells them."""
    own = [each for each in run.asked if each.name in TELL_GPUS]
    fact = draft.facts.get(("gpus_per_node",))
    if fact is None or fact.is_open:
        is_one = outside_allocation(reading) is run.command and not (
            run.option("nodes") or run.option("ntasks")
        )
        sized = structs.replace(
            found,
            nodes=run.ranks.nodes or found.nodes or (1 if is_one else None),
            per_node=run.ranks.per_node or found.per_node,
        )
        gpus = gpus_of(reading, last([*of_batch(reading), *own]), sized)
        if gpus.number is not None:
            if fact is not None:
                draft.unsay(("gpus_per_node",))
            allocation.put_gpus_of(gpus, draft)
        elif fact is None and gpus.written:
            doubt = f"{gpus.written} does not tell it{hints.of_gpus(run, draft)}"
            question = f"how many GPUs on each node: {doubt}"
            draft.ask(("gpus_per_node",), question, gpus.places, gpus.written)
        elif (
            fact is None
            and not found.whole
            and launcher is not None
            and own_gpus.put(reading, run.command, launcher, run.ranks.per_node, draft)
        ):
            return
        elif fact is None or (found.whole and not gpus.written):
            doubt = f"{_asked_elsewhere(reading, run) or hints.no_gpus(reading)}{hints.of_gpus(run, draft)}"
            no_gpus(reading, found, (run.command.place,), draft, doubt)
    else:
        for each in own:
            if each.name in gpu_binding.NAMES:
                continue  # which is said of each such option
            why = "a step has all GPUs that the job has on its nodes"
            draft.say("replaced", each.places, each.written, why=why)


def _asked_elsewhere(reading: ShellReading, run: Step) -> str:
    """That another srun asks for GPUs, and the run's own does not; "" where none does."""
    for command in reading.of("srun"):
        if command.place == run.command.place:
            continue
        for each in of_command(reading, command):
            if each.name in OF_GPUS:
                its = f"{each.written} is of {command.place}, which is not this run"
                return f"its line asks Slurm for none ({its}), and sbatch may have been given --gres"
    return ""


def no_gpus(
    reading: ShellReading,
    found: Allocation,
    places: Sequence[Place],
    draft: Draft,
    doubt: str = hints.NO_GPUS,
) -> None:
    """The question how many GPUs a node has where nothing tells it, and what counts without an answer where
    the job has whole nodes."""
    if found.whole:
        lines = next(each.places for each in of_batch(reading) if each.name == "exclusive")
        why = "--exclusive gives all GPUs of a node, and so does a job file that does not say how many"
        became = "gpus_per_node: all of each node, which the job file need not say"
        draft.say("assumed", lines, "no line says how many GPUs", became=became, why=why)
    else:
        draft.ask(("gpus_per_node",), f"how many GPUs on each node: {doubt}", places, "GPUs")
