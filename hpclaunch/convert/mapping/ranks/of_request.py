"""How many ranks of a launch are on a node, in a script for another scheduler than Slurm: by the options of
what starts them, and by what the script asks its scheduler for."""

import re
from collections.abc import Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks.mpi import Size, told_by
from hpclaunch.convert.mapping.slurm.batch.asked import number
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import Ranks
from hpclaunch.convert.mapping.slurm.starts.by_mpirun import of_all
from hpclaunch.convert.mapping.words.made import either_of
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import shown
from hpclaunch.values.conversion import Place

_KEY = ("ranks_per_node",)
_NODES_KEY = ("nodes",)
_LEFT = "how many of these are on a node is not told"
_TODO = "write nodes and ranks_per_node"
# Variables with the number of a job's nodes: qsub(1) of Torque 6 (PBS_NUM_NODES), of Grid Engine 8 (NHOSTS)
# and of Cobalt 1.0 (COBALT_JOBSIZE), pjsub(1) of Job Operation Software 3 (PJM_NODE).
_NODES = ("PBS_NUM_NODES", "NHOSTS", "COBALT_JOBSIZE", "PJM_NODE")
# Those with the number of all slots that a job was given, and the lists with a line for each slot: there too,
# in bsub(1) of LSF 10.1 and in oarsub(1) of OAR 2.5. A list that is sorted without what it repeats has a line
# for each node.
_SLOTS = re.compile(
    r"\b(?:PBS_NP|PBS_TASKNUM|NSLOTS|LSB_DJOB_NUMPROC|PJM_MPI_PROC"
    r"|PBS_NODEFILE|LSB_DJOB_HOSTFILE|OAR_NODE_?FILE|OAR_FILE_NODES)\b"
)
_ONCE = re.compile(r"\buniq\b|\bsort\s+-\w*u")


def variables(draft: Draft) -> Mapping[str, int]:
    """The scheduler's own variables that are known by what is asked of it."""
    nodes = draft.number("nodes")
    return dict.fromkeys(_NODES, nodes) if nodes else {}


def put(reading: ShellReading, size: Size | None, mpirun: Layer, draft: Draft) -> None:
    """The ranks of a launch by mpirun, of which its options say `size`. They count more than what is
    reserved, which is right where they say nothing, or name all of it."""
    if size is None or _is_all(reading, mpirun, draft):
        return
    total = mpirun.option("np")
    if total is not None and number(total.value, reading, variables(draft)) == 1:
        on_first(draft, size.places, total.written)
        draft.put(_KEY, 1, size.places, size.what)
        return
    its = _within(reading, mpirun, size, draft)
    if its is None or _fills_up(reading, mpirun, draft):
        told = told_by(mpirun, lambda option: None)
        which = either_of(reading, told.option.value or ()) if told is not None else ""
        not_told(draft, size.places, size.what, which)
        return
    nodes, per_node = its
    if nodes is not None:
        why = f"the job has {draft.number('nodes')} nodes, and its ranks are on {nodes} of them"
        total = mpirun.option("np")
        what = size.what if total is None else f"{total.written} {size.what}"
        draft.put(_NODES_KEY, nodes, size.places, what, why=why)
    draft.put(_KEY, per_node, size.places, size.what)


def unsay_replaced(draft: Draft) -> None:
    """Take back that the job says the ranks which an option counts, where nothing tells how many they are."""
    if _KEY in draft.facts:
        return
    left = {(each.what, each.places) for each in draft.findings if each.why.startswith(_LEFT)}
    draft.findings[:] = [
        each for each in draft.findings if each.kind != "replaced" or (each.what, each.places) not in left
    ]


def on_first(draft: Draft, places: tuple[Place, ...], what: str) -> None:
    """Put the one node of a launch of one rank, where the job has more."""
    nodes = draft.number("nodes")
    if nodes is not None and nodes > 1:
        why = f"the job has {nodes} nodes, and its ranks are on 1 of them"
        draft.put(_NODES_KEY, 1, places, what, why=why)


def _within(reading: ShellReading, mpirun: Layer, size: Size, draft: Draft) -> tuple[int | None, int] | None:
    """The ranks on a node, and how many nodes have some where -np counts fewer than fill all nodes of the job
    (else None for these). None where that is not told."""
    nodes, total = draft.number("nodes"), mpirun.option("np")
    count = number(total.value, reading, variables(draft)) if total is not None else None
    if size.per_node is None or not count:
        return (None, size.per_node) if size.per_node is not None else None
    its = of_all(reading, mpirun, Ranks(nodes, size.per_node, size.places), variables(draft))
    if its.per_node is None:
        return None
    return (its.nodes if nodes and its.nodes != nodes else None), its.per_node


def not_told(draft: Draft, places: tuple[Place, ...], what: str, which: str = "") -> None:
    """Say that no line tells the ranks that the launch has on a node: what is reserved for it does not.
    `which` are the values that it may have."""
    slots = draft.number("ranks_per_node")
    draft.unsay(_KEY)
    draft.facts.pop(_KEY, None)
    why = f"{_LEFT}: {which}" if which else _LEFT
    why = f"{why}; the script asks for {slots} slots on each" if slots else why
    draft.say("left", places, what, why=why, todo=_TODO)


def by_srun(draft: Draft, places: tuple[Place, ...], what: str) -> None:
    """Say of a step of Slurm in a script for another scheduler that it starts the ranks: what is reserved
    does not tell how many."""
    slots = draft.facts.pop(_KEY, None)
    draft.unsay(_KEY)
    why = "it starts the ranks, by its own options and what Slurm is told of the job"
    why = f"{why}; the script asks for {slots.value} slots on each node" if slots is not None else why
    draft.say("left", places, what, why=why, todo="write nodes, ranks_per_node and the command")


def not_started(draft: Draft) -> None:
    """Say of slots that are reserved, where no line is known to start a rank on them, that they are no
    ranks."""
    slots = draft.facts.pop(_KEY, None)
    if slots is None:
        return
    whats = [each.what for each in draft.findings if (each.key, each.places) == (_KEY[0], slots.places)]
    draft.unsay(_KEY)
    its = "a slot" if slots.value == 1 else f"{slots.value} slots"
    why = f"the script asks for {its} on each node, and no line is known to start ranks there"
    draft.say("left", slots.places, whats[-1], why=why, todo="write ranks_per_node, and the command")


def _is_all(reading: ShellReading, mpirun: Layer, draft: Draft) -> bool:
    """Whether it starts a rank on each slot that the script asks for, or may: -np $NSLOTS."""
    told = told_by(mpirun, lambda option: number(option.value, reading, variables(draft)))
    if told is None or not told.is_total or not draft.number("ranks_per_node"):
        return False
    text = shown(told.option.value or ())
    return told.total is None and bool(_SLOTS.search(text)) and not _ONCE.search(text)


def _fills_up(reading: ShellReading, mpirun: Layer, draft: Draft) -> bool:
    """Whether it starts fewer ranks than there are slots on several nodes: those fill the first ones
    (mpirun(1) of Open MPI, "Mapping Processes to Nodes"), and the others have none."""
    told = told_by(mpirun, lambda option: number(option.value, reading, variables(draft)))
    nodes, slots = draft.number("nodes"), draft.number("ranks_per_node")
    if told is None or not told.is_total or told.total is None or not nodes or not slots:
        return False
    return nodes > 1 and told.total < nodes * slots and told.policy != "node"
