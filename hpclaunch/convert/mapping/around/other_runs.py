"""Commands that start ranks beside the run, which a job does not: it starts ranks once."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.sizes import Ranks
from hpclaunch.convert.mapping.slurm.sruns import Step, fallbacks, is_preparation
from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Place

_SHOWN = 4


def put(reading: ShellReading, run: Step, others: Sequence[Step], draft: Draft) -> None:
    """Findings for those of `others` that are no step of the job, and the question which is the job's run
    where their sizes differ."""
    told = {place for each in draft.findings for place in each.places}
    taken = {
        place
        for key, fact in draft.facts.items()
        if key[0] in ("setup", "before_each", "after", "stage_in")
        for place in fact.places
    }
    instead = fallbacks([step.command for step in (run, *others)])
    found = [
        step
        for step in others
        if step.command is not run.command
        and step.command.place != run.command.place
        and not (step.command.within or step.command.signals or is_preparation(step))
        and id(step.command) not in instead
        and step.command.place not in taken
        and not _is_one(step)
    ]
    for step in found:
        if step.command.place not in told:
            why = "it starts ranks of its own, and a job starts them once"
            todo = "submit it as a job of its own, or let one script start both"
            draft.say("left", (step.command.place,), step.text, why=why, todo=todo)
    differing = [step for step in found if _sizes(step.ranks) != _sizes(run.ranks)]
    if not differing:
        return
    shown = "; ".join(f"{step.text[:60]}: {_words(step.ranks)}" for step in differing[:_SHOWN])
    places: list[Place] = [run.command.place, *(step.command.place for step in differing)]
    draft.say(
        "question",
        places,
        f"{len(found) + 1} commands start ranks",
        why=f"which is the job's run: {run.text[:60]} was taken ({_words(run.ranks)}), and others have other "
        f"sizes ({shown})",
        todo="where another is the job's run leave this one out, and convert again; or make a job of each",
    )


def _sizes(size: Ranks) -> tuple[int | None, int | None]:
    return size.nodes, size.per_node


def _is_one(step: Step) -> bool:
    return step.ranks.nodes == 1 and step.ranks.per_node == 1


def _words(size: Ranks) -> str:
    nodes = "nodes that are not told" if size.nodes is None else _count(size.nodes, "node")
    ranks = "ranks that are not told" if size.per_node is None else _count(size.per_node, "rank")
    return f"{nodes}, {ranks} on each"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
