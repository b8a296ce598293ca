"""Servers that a script starts beside its program, such as Ray's head and workers: which is the job's run."""

from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around.ways import decided_by
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.words.hosts import loops_over
from hpclaunch.convert.programs.beside import PREPARES
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import base_name, known
from hpclaunch.values.conversion import Finding

AT_ONCE = "several programs at once"
_WIDE = 60
ON_ONE = "nodes: 1"
_ON_SOME_NODES = ("nodelist", "exclude", "relative")
_TODO = "start all of it in one command that each node runs, or submit the servers as a job of their own"
# `ray start` (docs.ray.io, "Deploying on Slurm"): the others find the head by its address, and end with it.
_OF_RAY = (
    "write ranks_per_node: 1, rendezvous: torch, and one command for all nodes: where RANK is 0 it starts "
    "ray start --head and the program, elsewhere ray start --address=$MASTER_ADDR:PORT --block"
)


def ask(reading: ShellReading, run: Step, steps: Sequence[Step], nodes: int | None, draft: Draft) -> None:
    """The question which is the job's run, where the run goes on in the background while the script goes on
    with another program, or servers on nodes of their own go on beside it. `nodes` are those of the job."""
    beside = list(_goes_on_with(reading, run.command, draft))
    if run.command.loops and not beside:
        return  # rounds that run side by side
    _ask(
        reading, run.command, beside, [*_servers(reading, run, steps), *_over_ssh(reading, run)], nodes, draft
    )


def ask_in_containers(reading: ShellReading, run: Command, draft: Draft) -> None:
    """The same of a run in a container, and of what the script runs in others while that goes on: ranks on
    other hosts, each with a number of its own."""
    # That of a text for ssh is one of the text, and what goes on is the ssh around it.
    run = next((each for each in reading.commands if each.place == run.place), run)
    setup = draft.places_of("setup")
    before = [each for each in _going_on(reading, run) if each.place in setup]
    draft.drop("setup", [each.place for each in before])
    _ask(reading, run, list(_goes_on_with(reading, run, draft)), before, None, draft)


def _ask(
    reading: ShellReading,
    run: Command,
    beside: Sequence[Command],
    more: Sequence[Command],
    nodes: int | None,
    draft: Draft,
) -> None:
    others = [*beside, *more]
    if not others:
        return
    draft.drop("after", [each.place for each in beside])
    lines = {each.place for each in beside}
    draft.findings[:] = [
        each for each in draft.findings if not (_is_for_after(each) and lines.intersection(each.places))
    ]
    programs = [each for each in others if each.program not in PREPARES] or others
    listed = ", ".join(each.brief(_WIDE) for each in dict.fromkeys(programs))
    question = f"what each rank executes: {run.brief(_WIDE)} runs at the same time as {listed}"
    decides = next(filter(None, (decided_by(run, each) for each in _alike(reading, run))), "")
    question += f"; and {decides} decides whether they do, which is not told" if decides else ""
    places = tuple(dict.fromkeys((run.place, *(each.place for each in others))))
    draft.unsay(("command",), ("nodes",))
    # What was said of the nodes for a run that has none beside it.
    draft.findings[:] = [
        each for each in draft.findings if each.became != ON_ONE and each not in draft.of_script
    ]
    todo = _OF_RAY if any(map(_starts_ray, (run, *others))) else _TODO
    draft.ask(("command",), question, places, AT_ONCE, todo=todo)
    wanted = "how many nodes: those of which of these programs"
    wanted += f", which have {nodes} together" if nodes else ""
    draft.ask(("nodes",), wanted, places, AT_ONCE)


def _alike(reading: ShellReading, run: Command) -> Iterator[Command]:
    """What else the run's own program starts."""
    return (each for each in reading.of(run.program) if each is not run)


def _starts_ray(command: Command) -> bool:
    its = layers(command.words)[-1].words
    return bool(its) and base_name(its[0]) == "ray" and [known(word) for word in its[1:2]] == ["start"]


def _goes_on_with(reading: ShellReading, run: Command, draft: Draft) -> Iterator[Command]:
    """What would be done after the run, and was begun while it went on."""
    if not run.background:
        return
    after = draft.places_of("after")
    # What became no step since the script alone knows its words goes on at that time, too.
    after.update(each.places[0] for each in draft.findings if _is_for_after(each))
    later = dropwhile(lambda each: each is not run, reading.commands)
    for each in takewhile(lambda each: each.program not in ("wait", "kill"), later):
        if each is not run and each.place in after and not (each.within or decided_by(run, each)):
            yield each


def _is_for_after(finding: Finding) -> bool:
    return finding.kind == "left" and finding.todo.startswith("add it to after ")


def _servers(reading: ShellReading, run: Step, steps: Sequence[Step]) -> Iterator[Command]:
    """Steps on nodes that they name, which go on while the run does."""
    going = {id(each) for each in _going_on(reading, run.command)}
    for step in steps:
        some = any(step.option(name) is not None for name in _ON_SOME_NODES)
        if some and not step.command.loops and id(step.command) in going:
            yield step.command


def _over_ssh(reading: ShellReading, run: Step) -> Iterator[Command]:
    """What ssh started on the hosts of a loop, and goes on there while the run does."""
    for each in _going_on(reading, run.command):
        its = layers(each.words)
        if its and its[0].program == "ssh" and len(its) > 1 and loops_over(each):
            yield each


def _going_on(reading: ShellReading, run: Command) -> list[Command]:
    """What the script started in the background before the run, and did not wait for. Of two ways of an `if`
    one is gone: what stands in the other does not go on then."""
    found: list[Command] = []
    for each in takewhile(lambda one: one is not run, reading.commands):
        if each.program == "wait":
            found = []
        elif each.background and not decided_by(run, each):
            found.append(each)
    return found if any(each is run for each in reading.commands) else []
