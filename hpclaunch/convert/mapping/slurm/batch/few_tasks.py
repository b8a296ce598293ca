"""Fewer tasks than nodes that are asked for: sbatch takes no more nodes than tasks, and only warns."""

from collections.abc import Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation

_TODO = (
    "where all of these nodes were meant write `nodes` in the job file: sbatch gives them to a job that "
    "asks for a task on each (--ntasks-per-node=1)"
)


def say(given: Mapping[str, Asked], found: Allocation, draft: Draft) -> None:
    """The defect that the job has fewer nodes than its line says."""
    nodes, tasks = given.get("nodes"), given.get("ntasks")
    if nodes is None or tasks is None or found.nodes is None or found.nodes != found.tasks:
        return
    if not (nodes.text or "").isdecimal() or nodes.text == str(found.nodes):
        return
    why = f"with {tasks.written} sbatch only warns, and asks for {found.nodes} of these nodes"
    draft.say("defect", found.places["nodes"], nodes.written, why=why, todo=_TODO)
