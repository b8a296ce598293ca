"""Steps that fail: a job ends before its ranks start, and a script went on that has no `set -e`, or has the
step in a list (A || B), where that does not count."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.reading import Command, ShellReading, Statement
from hpclaunch.convert.shell.flows import SWALLOWS
from hpclaunch.readback.shell.statements import Simple
from hpclaunch.values.conversion import Place

_MOST = 50  # lines that end a script, and commands behind the run, which are looked at for each step
_WHY = (
    "the script went on where one of them failed: no set -e ended it there; a job ends before its ranks start"
)
_TODO = "where one may fail write `optional: true` beside it"
_BEHIND = "the script came there only where its run did well; `after` is done in any case"
_ELSE = "where that does harm do it in the command, or in a job that waits for this one (depends_on)"


class Failures:
    """Tells what the script did where a command before its run failed."""

    def __init__(self, reading: ShellReading, run: Command):
        self._run = run
        self._under_e = {id(each) for each, ends in rounds.minded(reading) if ends}
        self._tested = rounds.tested(reading)
        self._swallowing = [each.place for each in reading.statements if _swallows(each)]
        at = next((index for index, each in enumerate(reading.commands) if each is run), 0)
        self._commands_behind = reading.commands[at + 1 : at + _MOST]
        self._ends = reading.of("exit", "return")[:_MOST]
        self._end_with_run = self.end(run)
        self._told: list[Place] = []
        self._behind: list[Place] = []

    def end(self, command: Command) -> bool:
        """Whether they ended it."""
        minds = id(command) in self._under_e and " ".join(command.written.split()) not in self._tested
        if minds and (not command.unnoticed or self._is_in_shell_of_run(command)):
            return True
        return any(rounds.is_on_failure(each, command) for each in self._ends)

    def _is_in_shell_of_run(self, command: Command) -> bool:
        """Whether the two are in one subshell, of which set -e ends all, and it is unnoticed for nothing but
        what that subshell's output goes through: ( STEP; RUN ) | tee LOG, without || true at either."""
        run = self._run
        is_first = run.unnoticed and run.pipeline[1] > 1 and not (command is run or command.background)
        if not (is_first and command.shells and command.shells[-1] in run.shells):
            return False
        lines = [(each.file, each.line) for each in self._swallowing]
        last = (command.place.file, command.place.last or command.place.line)
        ends = (each for each in self._commands_behind if each.pipeline[0] == run.pipeline[1] - 1)
        behind = next(ends, None)
        return last not in lines and behind is not None and not behind.unnoticed

    def add(self, command: Command, places: Sequence[Place], key: str, *, optional: bool) -> None:
        """A step that is made of the command."""
        if key != "after" and not (optional or self.end(command)):
            self._told += places[:1]
        if key == "after" and not command.signals and self._end_with_run:
            self._behind += places[:1]

    def say(self, draft: Draft) -> None:
        """Of all of them at once."""
        if self._told:
            what = "the status of steps that fail"
            draft.say("replaced", self._told, what, became="the job ends there", why=_WHY, todo=_TODO)
        if self._behind:
            what = "steps behind a run that failed"
            draft.say("replaced", self._behind, what, became="after", why=_BEHIND, todo=_ELSE)


def _swallows(statement: Statement) -> bool:
    """Whether a failure in front of it would be swallowed, as a part of a list behind ||."""
    part = statement.part
    return isinstance(part, Simple) and bool(part.words) and part.words[0].written in SWALLOWS
