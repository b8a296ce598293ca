"""What a launcher does beside its run -> `setup`, `before_each` and `after`."""

from bisect import bisect
from collections.abc import Collection, Sequence

from msgspec import Struct, field

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import (
    images_of_steps,
    one_step,
    stage_in,
)
from hpclaunch.convert.mapping.around.likeness import say_own, unlike
from hpclaunch.convert.mapping.around.logs import IN_LOGS, is_tee
from hpclaunch.convert.mapping.around.missing import Missing
from hpclaunch.convert.mapping.around.no_step import NoSteps
from hpclaunch.convert.mapping.around.removals import Removing
from hpclaunch.convert.mapping.around.step_failures import Failures
from hpclaunch.convert.mapping.around.text_files import Texts
from hpclaunch.convert.mapping.container import images
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import base_name
from hpclaunch.values.conversion import Place

# What a script does on the batch host that is a step of a job too: files and scripts of its own.
_ON_HOST = that("caches", "copies", "files", "archives", "scripts")
_SCRIPTS = (".sh", ".py")
_OF_FILES = that("texts", "edits") - {"tee"} | {"cat"}  # they read files that their words name
_AT_ONCE = "the script did them in the background and waited for all; a job does its steps in their order"
_IN_ONE = "see whether `time` is enough for that, or write one step that starts them all and waits"


def put(reading: ShellReading, run: one_step.Run, all_steps: Sequence[Step], draft: Draft) -> None:
    """Put all that stands around the run into the draft."""
    by_command = {id(step.command): step for step in all_steps}
    of_run = by_command.get(id(run.command))
    containers, order = images.made(all_steps), _order(reading)
    staged = stage_in.put(reading, all_steps, run.command, containers, draft)
    of_files, no_steps = _made_of_files(reading), NoSteps(reading, run.command, run.trials)
    texts, began = Texts(reading, run.command), _began(reading)
    after, missing, pending = False, Missing(reading, of_run), None
    removing, failures = Removing(reading.commands, run.command, by_command), Failures(reading, run.command)
    for command in sorted(reading.commands, key=lambda each: bool(each.signals)):
        missing.add(pending)
        removing.add(pending)
        pending = None
        if texts.is_told(command):
            continue
        pending = command
        if command is run.command:
            after, pending = True, None
            missing.add_run(command, run.trials.loop, draft)
            continue
        step = by_command.get(id(command))
        words = step.words if step is not None else command.words
        is_said = images_of_steps.is_said(command, step, words, of_run, draft)
        if is_said or (step is not None and rendezvous.is_said(command, words, draft)):
            continue
        text = None if step is not None else texts.of(command)
        if step is None and text is None and not _is_step_of_host(command, reading, of_files, draft):
            continue
        if not words:
            images_of_steps.say_no_command(command, draft)
            continue
        if stage_in.is_said(staged, command, draft):
            removing.take(command)
            continue
        if _runs_beside(order, command, run.command, draft):
            continue
        is_behind = after or began.get(command.place.file, command.place.line) < command.place.line
        key = "before_each" if no_steps.is_in_trials(command) else "after" if is_behind else "setup"
        why, todo = no_steps.why(command, after=is_behind)
        if not why and step is not None and of_run is not None:
            why = unlike(step, of_run, containers, draft, one_step.per(step, run.per_node))
            todo = f"add it to {key} where it does with the job's, or submit it as a job of its own"
        if not why and not (step is not None and step.in_container):
            why, todo = missing.why(command, words, key)
        if not why:
            why, todo = removing.why(command, words, key)
        if why:
            draft.say("left", (command.place,), command.brief(), why=why, todo=todo)
            continue
        number = draft.count(key)
        one_step.put(reading, text or command, step, run, key, failures, draft)
        if draft.count(key) > number:
            missing.take(command)
            pending = None
            order.add(command)
            if step is not None and of_run is not None:
                say_own(step, of_run, f"{key}.{number}", draft)
    failures.say(draft)
    order.say(draft)


class _Order(Struct, frozen=True):
    """Where each command stands, by its id, and where those are that wait for others. `begun` are those that
    became steps, and that the script did in the background, by how many wait for others before them."""

    at: dict[int, int]
    waits: tuple[int, ...]
    begun: dict[int, list[Place]] = field(default_factory=dict)

    def add(self, command: Command) -> None:
        """A command of which a step was made."""
        if command.background:
            before = bisect(self.waits, self.at[id(command)])
            self.begun.setdefault(before, []).append(command.place)

    def say(self, draft: Draft) -> None:
        """Say which of the steps ran at the same time."""
        for places in self.begun.values():
            if len(places) > 1:
                what = f"{len(places)} steps that ran at the same time"
                draft.say("replaced", places, what, became="one after the other", why=_AT_ONCE, todo=_IN_ONE)


def _order(reading: ShellReading) -> _Order:
    waits = (index for index, each in enumerate(reading.commands) if each.program == "wait")
    return _Order({id(each): index for index, each in enumerate(reading.commands)}, tuple(waits))


def _runs_beside(order: _Order, command: Command, run: Command, draft: Draft) -> bool:
    """Whether the command goes on while the run does: in the background, and nobody waits for it before."""
    if not command.background:
        return False
    own, others = order.at[id(command)], order.at[id(run)]
    if own < others and any(own < wait < others for wait in order.waits):
        return False
    if own > others and not run.background:
        return False
    if run.background and command.program == run.program:
        why = (
            f"it and {run.brief()} run at the same time, and a job has one command: it is not started at all"
        )
        todo = "submit it as a job of its own, or let one script start both"
    else:
        why = "it goes on beside the run, and a job's steps run one after the other: it is not started"
        todo = "start it in the command itself, or submit it as a job of its own"
    draft.say("left", (command.place,), command.brief(), why=why, todo=todo)
    return True


def _made_of_files(reading: ShellReading) -> frozenset[tuple[str, int]]:
    """The lines of pipelines that begin with what reads files: sort logs/*.log | tee all.log"""
    first = (each for each in reading.of(*_OF_FILES) if each.pipeline[0] == 0 and each.pipeline[1] > 1)
    return frozenset((each.place.file, each.place.line) for each in first)


def _is_log(command: Command, of_files: Collection[tuple[str, int]], draft: Draft) -> bool:
    """Whether it keeps what others put out; that is said of it."""
    if not is_tee(command):
        return False
    if (command.place.file, command.place.line) in of_files:
        why, todo = "it writes a file, and the job does not", "if the job needs it, add the pipeline to after"
        draft.say("left", (command.place,), command.brief(), why=why, todo=todo)
        return True
    what, places = command.brief(), (command.place,)
    # A script that is started for each node is walked as often, and its line is one.
    if not any((each.what, each.places, each.why) == (what, places, IN_LOGS) for each in draft.findings):
        draft.say("replaced", places, what, why=IN_LOGS)
    return True


def _began(reading: ShellReading) -> dict[str, int]:
    """The lines where other inputs start the script, by their files: what is behind such a line is done when
    the script has ended."""
    starts = (each.place for each in reading.commands if _starts(each, reading.script))
    return {place.file: place.line for place in starts}


def _starts(command: Command, script: str) -> bool:
    """Whether another input starts the script by it, which the job is made of: ./run.sh, bash run.sh"""
    if command.place.file == script or not script:
        return False
    words = command.words[command.program in SHELLS :]
    return bool(words) and base_name(words[0]) == script.rpartition("/")[2]


def _is_step_of_host(
    command: Command, reading: ShellReading, of_files: Collection[tuple[str, int]], draft: Draft
) -> bool:
    """Whether a command of the batch host is a step: files, and scripts of its own. What keeps an output is
    said."""
    if _is_log(command, of_files, draft) or _starts(command, reading.script):
        return False
    is_first = command.pipeline[0] == 0 or command.pipeline[1] == 1
    is_files = command.program in _ON_HOST or command.program.endswith(_SCRIPTS)
    return is_files and is_first and not command.within
