"""Why a job has no step for what a script does beside its run."""

from hpclaunch.convert.mapping.around import missing_folders
from hpclaunch.convert.mapping.around.trials import Trials
from hpclaunch.convert.mapping.around.ways import with_line
from hpclaunch.convert.mapping.words.hosts import loops_of_trials, loops_over
from hpclaunch.convert.mapping.words.variables import submitters_in
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.reading import ENDS, Command, ShellReading
from hpclaunch.readback.shell.values import known

AFTER_EACH = (
    "a job has nothing that runs after each trial: as a step of before_each it would run before the first "
    "one too, and not after the last"
)
AFTER_EACH_TODO = (
    "where that does no harm, as of a clean-up, write it in before_each and in after; else do it in the "
    "command"
)
_SCRIPT = "write a script for it, and a step that runs it"


class NoSteps:
    """Tells it of the commands of a script around its run."""

    def __init__(self, reading: ShellReading, run: Command, trials: Trials):
        self._trials = trials
        self._numbers = {id(each): number for number, each in enumerate(reading.commands)}
        own = self._numbers[id(run)]
        self._run = run
        self._conditions = set(run.conditions)
        self._exits = [
            each
            for each in reading.of("exit")
            if self._numbers[id(each)] > own
            and self._conditions.issuperset(each.conditions)
            and not each.signals
        ]
        # Whether one trap alone says what the script does when it ends: a second one replaces the first.
        ends = reading.of("trap")
        self._has_end = sum(any(known(word) in ENDS for word in each.words[1:]) for each in ends) == 1

    def is_in_trials(self, command: Command) -> bool:
        """Whether it is done in each trial."""
        return self._trials.loop is not None and self._trials.loop in command.loops

    def why(self, command: Command, *, after: bool) -> tuple[str, str]:
        """Why, and what to do; "" where a job has a step for what is done there. `after`: behind the run."""
        if command.signals and not (self._has_end and ENDS & set(command.signals)):
            told = " ".join(command.signals)
            return (
                f"it runs where the script is told {told}, and a step is told of no signal",
                "do it in the command itself, or add it to after if it may run at each end",
            )
        if command.within == "output":
            return (
                "its output becomes a value of the script, and a job file has no such values",
                "write the variable in env, or let the command find it out itself",
            )
        its = missing_folders.conditions(command)
        if command.loops == self._run.loops:  # where the job does its run they hold
            its = [each for each in its if each not in self._conditions]
        conditions = [each for each in its if not each.endswith("a loop")]
        if conditions:
            return of_condition(conditions[0])
        ended = next((each for each in self._exits if self._is_behind(command, each)), None)
        if ended is not None:
            why = f"where the run is started the script ends in line {ended.place.line}, before it"
            return why, "where the ranks do it, as in a script that starts itself, let the command do it"
        in_trials = self.is_in_trials(command)
        if loops_of_trials(command) and not in_trials:
            return "a loop of its own, and a job has one", _SCRIPT
        host = _names_host(command)
        if host:
            return f"a loop gives {host} another value for each host, and a step has none of them", _SCRIPT
        return (AFTER_EACH, AFTER_EACH_TODO) if in_trials and after else ("", "")

    def _is_behind(self, command: Command, ended: Command) -> bool:
        """Whether the shell in which it stands has ended before it."""
        later = self._numbers[id(command)] > self._numbers[id(ended)]
        return later and not command.signals and set(ended.shells) <= set(command.shells)


def _names_host(command: Command) -> str:
    """The variable of a loop over hosts that is in a command's own words or in the names of the files that it
    writes; "" for none."""
    its = submitters_in((*layers(command.words)[-1].words, *(each.path for each in command.writes)))
    return next((each.variable for each in loops_over(command) if each.variable in its), "")


def of_condition(condition: str) -> tuple[str, str]:
    """Why a job has no step for what is done on that condition, and what to do."""
    return (
        f"whether it runs depends on something that is not told ({with_line(condition)})",
        "add it to setup, before_each or after if the job needs it, or convert again with --env",
    )
