"""Steps that fail: a job ends before its ranks start, and a script went on that has no `set -e`, or has the
step in a list (A || B), where that does not count."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.values.conversion import Place

_MOST = 50  # lines that end a script, which are looked at for each step
_WHY = (
    "the script went on where one of them failed: no set -e ended it there; a job ends before its ranks start"
)
_TODO = "where one may fail write `optional: true` beside it"
_BEHIND = "the script came there only where its run did well; `after` is done in any case"
_ELSE = "where that does harm do it in the command, or in a job that waits for this one (depends_on)"


class Failures:
    """Tells what the script did where a command before its run failed."""

    def __init__(self, reading: ShellReading, run: Command):
        self._minded = {id(each) for each, ends in rounds.minded(reading) if ends and not each.unnoticed}
        self._tested = rounds.tested(reading)
        self._ends = reading.of("exit", "return")[:_MOST]
        self._end_with_run = self.end(run)
        self._told: list[Place] = []
        self._behind: list[Place] = []

    def end(self, command: Command) -> bool:
        """Whether they ended it."""
        if id(command) in self._minded and " ".join(command.written.split()) not in self._tested:
            return True
        return any(rounds.is_on_failure(each, command) for each in self._ends)

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
