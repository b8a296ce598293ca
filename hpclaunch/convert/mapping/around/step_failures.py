"""Steps that fail: a job ends before its ranks start, and a script without `set -e` went on."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.values.conversion import Place

_MOST = 50  # lines that end a script, which are looked at for each step
_WHY = "without set -e the script went on where one of them failed, and a job ends before its ranks start"
_TODO = "where one may fail write `optional: true` beside it"
_BEHIND = "the script came there only where its run did well; `after` is done in any case"
_ELSE = "where that does harm do it in the command, or in a job that waits for this one (depends_on)"


class Failures:
    """Tells what the script did where a command before its run failed."""

    def __init__(self, reading: ShellReading, run: Command):
        self._gives_up = rounds.minds_failures(reading, run)
        self._ends = reading.of("exit", "return")[:_MOST]
        self._end_with_run = self.end(run)
        self._told: list[Place] = []
        self._behind: list[Place] = []

    def end(self, command: Command) -> bool:
        """Whether they ended it."""
        if self._gives_up and not command.unnoticed:
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
