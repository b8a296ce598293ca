"""What a rank's shell does before its command, in the order in which the script did it: `module load` and its
like, and exports of what only a rank knows."""

from collections.abc import Sequence
from typing import NamedTuple

from hpclaunch.convert import shared_exports
from hpclaunch.convert.reading import Assigned, Command, ShellReading, Sourced, once
from hpclaunch.readback.shell.values import Value, join
from hpclaunch.values.conversion import Place

# How many commands the walk had found by then, and sources behind the last of them.
Moment = tuple[int, int]
_OF_COMMAND = 1 << 40  # behind all that is no command
Export = tuple[str, Value]


class Prepared(NamedTuple):
    """What the script's shell did: its line, its words, when that was, on which conditions, its text, and the
    subshells around it."""

    place: Place
    words: tuple[Value, ...]
    moment: Moment
    conditions: tuple[str, ...] = ()
    written: str = ""
    shells: tuple[int, ...] = ()

    def is_of(self, run: Command) -> bool:
        """Whether it is done in a shell that is around the run, too."""
        return run.shells[: len(self.shells)] == self.shells


def in_order(
    reading: ShellReading, run: Command, prepared: Sequence[Prepared], exports: Sequence[Export]
) -> tuple[list[tuple[Value, ...]], list[Export]]:
    """The commands, with those exports among them that another of the commands follows in the script; and the
    exports behind all of them. What the options of the run itself give comes last."""
    first: list[tuple[Value, ...]] = []
    around, prefix = shared_exports.of(run), dict(run.prefix)
    its = moment_of(reading, run)
    left = [
        (_moment(reading, run, name, its) if name in around and name not in prefix else its, name, value)
        for name, value in exports
    ]
    for each in prepared:
        first += [
            (("export",), join([f"{name}=", *value])) for begun, name, value in left if begun < each.moment
        ]
        left = [export for export in left if export[0] >= each.moment]
        first.append(each.words)
    return first, [(name, value) for _, name, value in left]


def moment_of(reading: ShellReading, command: Command) -> Moment:
    """When the walk came to the command; to the first that is like it where it is not itself one of them."""
    index = _numbers(reading).get(id(command))
    if index is None:
        like = (
            index
            for index, each in enumerate(reading.commands)
            if each.place == command.place and each.words == command.words
        )
        index = next(like, len(reading.commands))
    return index, _OF_COMMAND


def at(number: int) -> Moment:
    """When the walk came to the command of that number."""
    return number, _OF_COMMAND


def source_at(each: Sourced) -> Moment:
    """When a file is sourced."""
    return each.behind[0], 2 * each.behind[1] + 1


def given_at(each: Assigned) -> Moment:
    """When a variable was given its value."""
    return each.behind[0], 2 * each.behind[1]


@once
def _numbers(reading: ShellReading) -> dict[int, int]:
    return {id(each): index for index, each in enumerate(reading.commands)}


def given_before(reading: ShellReading, name: str, end: Moment) -> Assigned | None:
    """What the variable was given last before that."""
    return next((each for each in reversed(reading.given(name)) if given_at(each) < end), None)


def _moment(reading: ShellReading, run: Command, name: str, end: Moment) -> Moment:
    """When what was exported around the run got its value."""
    each = given_before(reading, name, end)
    return _moment_in_text(reading, run, name, end) if each is None else given_at(each)


def _moment_in_text(reading: ShellReading, run: Command, name: str, end: Moment) -> Moment:
    """The same of a text for ssh, whose own variables the reading has not: in front of its first command that
    has the value."""
    given = shared_exports.of(run).get(name)
    its = (
        index
        for index, each in enumerate(reading.commands[: end[0]])
        if each.place == run.place and (name, given) in each.environment
    )
    first = next(its, None)
    return end if first is None else (first, 0)
