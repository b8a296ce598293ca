"""Commands that start ranks beside the run, which a job does not: it starts ranks once."""

from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.convert.draft import STEPS, Draft
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.slurm.srun.sruns import (
    Step,
    alike,
    fallbacks,
    is_another,
    is_preparation,
    likelier,
)
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import shown
from hpclaunch.values.amount import counted
from hpclaunch.values.conversion import Finding, Place

# Why a launch that is not the job's is left, and what to do.
MORE_RANKS = (
    "it starts ranks of its own, and a job starts them once",
    "submit it as a job of its own, or let one script start both",
)
_SHOWN, _LONGEST = 4, 60
_TAKEN = " was taken, and another looks like it"


class Start(Struct, frozen=True):
    """A command that starts ranks, and how many: on each of so many nodes, or in all where that is not told;
    None is not told."""

    text: str
    place: Place
    nodes: int | None
    per_node: int | None
    total: int | None = None

    @property
    def size(self) -> tuple[int | None, int | None, int | None]:
        """What two commands with as many ranks have both."""
        return self.nodes, self.per_node, self.total if self.per_node is None else None

    @property
    def shown(self) -> str:
        """Its text and size, for people."""
        nodes = "nodes that are not told" if self.nodes is None else counted(self.nodes, "node")
        if self.per_node is not None:
            return f"{self.text[:60]}: {nodes}, {counted(self.per_node, 'rank')} on each"
        ranks = "ranks that are not told" if self.total is None else f"{counted(self.total, 'rank')} in all"
        return f"{self.text[:60]}: {nodes}, {ranks}"


def put(run: Step, others: Sequence[Step], draft: Draft) -> None:
    """Findings for those of `others` that are no step of the job, and the question which is the job's run
    where their sizes differ."""
    # A question or a defect may name a line of it, and says nothing of the command.
    told = {
        place
        for each in draft.findings
        if each.kind not in ("question", "defect", "assumed")
        for place in each.places
    }
    taken = draft.places_of(*STEPS, "stage_in")
    instead = fallbacks([step.command for step in (run, *others)])
    is_test = is_preparation(run)  # and so may the others be the job's as well
    every = [
        step
        for step in others
        if step.command is not run.command
        and is_another(step.command, run.command)
        and step.words
        and not (step.command.within or step.command.signals)
        and (is_test or not is_preparation(step))
        and id(step.command) not in instead
        and step.command.place not in taken
    ]
    found = [step for step in every if not _is_one(step)]
    for step in every if _is_one(run) else found:
        if step.command.place not in told:
            why, todo = MORE_RANKS
            draft.say("left", (step.command.place,), step.text, why=why, todo=todo)
    todo = "where another is the job's run leave this one out, and convert again; or make a job of each"
    ask_which(_start(run), [_start(step) for step in found], draft, todo)
    steps = [step for step in others if step.command.place in taken and step.command is not run.command]
    _ask_alike(run, [*steps, *found], draft, todo)
    _say_variables(run, found, draft)
    _ask_on_condition(run, every if _is_one(run) else found, draft)


def _ask_on_condition(run: Step, others: Sequence[Step], draft: Draft) -> None:
    """The question which is the job's run, where something decides whether the likelier one is started: a
    test went well before it."""
    for step in likelier(others, run):
        condition = step.command.conditions[-1].partition(": ")[2]
        question = (
            f"what each rank executes: {run.text[:60]}, or {step.text[:60]}, which is started {condition}"
        )
        draft.unsay(("command",))
        todo = "write the one that the job is for; the other may be a job that it depends on"
        draft.ask(("command",), question, (run.command.place, step.command.place), run.text, todo=todo)
        return


def _ask_alike(run: Step, others: Sequence[Step], draft: Draft, todo: str) -> None:
    """The question which is the job's run, where a step of the job, or what is left, looks as much so."""
    size = (run.ranks.nodes, run.ranks.per_node)
    as_large = [step for step in others if (step.ranks.nodes, step.ranks.per_node) == size]
    other = alike(as_large, run)
    if other:
        listed = _listed([step.text for step in other])
        taken_one = run.text[:60]
        draft.say(
            "question",
            [run.command.place, *(step.command.place for step in other)],
            f"{len(other) + 1} commands start ranks",
            why=f"which is the job's run: {taken_one}{_TAKEN} ({listed})",
            todo=todo,
        )


def says_taken(each: Finding) -> bool:
    """Whether it says which of several alike was taken for the run, as nobody says who asks for the run."""
    return each.kind == "question" and not each.key and _TAKEN in each.why


def _say_variables(run: Step, others: Sequence[Step], draft: Draft) -> None:
    """What other calls of the function around the run give it of variables, where nothing else is another."""
    its = {**dict(run.command.environment), **dict(run.command.prefix)}
    names: dict[str, None] = {}
    for step in others:
        if step.command.place == run.command.place and step.text == run.text and _start(step) == _start(run):
            given = {**dict(step.command.environment), **dict(step.command.prefix)}
            names |= {name: None for name in [*its, *given] if its.get(name) != given.get(name)}
    if names:
        why = (
            f"it is started more than once, with other values of {', '.join(names)}: the last ones were taken"
        )
        todo = "make a job of each"
        draft.say("left", (run.command.place,), run.command.brief(_LONGEST), why=why, todo=todo)


def ask_for_one(run: Step, others: Sequence[Command], draft: Draft) -> None:
    """The question which of several launches the job's command is, where no step of a job is like them. One
    that differs in --node_rank alone is the run, on another node."""
    its = [each for each in others if rendezvous.on_another_node(each.words, run.command.words)]
    for each in its:
        why = "it is the run on another node, and the job starts the ranks of each"
        draft.say("replaced", (each.place,), " ".join(map(shown, each.words)), why=why)
    others = [each for each in others if each not in its]
    if not others:
        return
    listed = _listed([" ".join(map(shown, each.words)) for each in others])
    places = [run.command.place, *(each.place for each in others)]
    question = f"what each rank executes: {run.text}, or what the script starts beside it ({listed})"
    draft.unsay(("command",))
    todo = "write the one that the job is for, and submit a job for each of the others"
    draft.ask(("command",), question, places, f"{len(others) + 1} commands start ranks", todo=todo)


def ask_which(run: Start, others: Sequence[Start], draft: Draft, todo: str) -> None:
    """The question which is the job's run, where others that start ranks have another size."""
    differing = [each for each in others if each.size != run.size]
    if not differing:
        return
    shown = "; ".join(each.shown for each in differing[:_SHOWN])
    draft.say(
        "question",
        [run.place, *(each.place for each in differing)],
        f"{len(others) + 1} commands start ranks",
        why=f"which is the job's run: {run.shown} was taken; others have other sizes ({shown})",
        todo=todo,
    )


def _start(step: Step) -> Start:
    return Start(step.text, step.command.place, step.ranks.nodes, step.ranks.per_node)


def _listed(texts: Sequence[str]) -> str:
    """The first of the texts, for people: their heads, or their ends where they begin alike."""
    texts = list(dict.fromkeys(texts))
    heads = [each[:_LONGEST] for each in texts]
    if len(set(heads)) < len(heads):
        heads = [each if len(each) <= _LONGEST else f"...{each[3 - _LONGEST :]}" for each in texts]
    more = [f"and {len(texts) - _SHOWN} more"] if len(texts) > _SHOWN else []
    return "; ".join([*heads[:_SHOWN], *more])


def _is_one(step: Step) -> bool:
    return step.ranks.nodes == 1 and step.ranks.per_node == 1
