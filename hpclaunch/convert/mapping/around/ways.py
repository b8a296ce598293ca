"""The ways of an `if` or a `case` that commands stand in: what decides them, which exclude one another."""

import re

from hpclaunch.convert.reading import Command

PLACE = re.compile(r"^.*?:\d+(?:-\d+)?: ")
_TEST = re.compile(r"\[|test\b|\(\(")


def with_line(condition: str) -> str:
    """The condition with its line as people are told of lines, without the folder of the file."""
    return PLACE.sub(lambda place: place[0].rpartition("/")[2], condition)


def decided_by(run: Command, other: Command) -> str:
    """What decides which of two commands is run that stand in different ways of a `case` or an `if`; "" where
    one does not exclude the other."""
    ways = {each.partition(" in ")[0]: each for each in run.conditions if ": case " in each}
    tests = {test_of(each): each for each in run.conditions if is_test(each)}
    for way in other.conditions:
        its = ways.get(way.partition(" in ")[0]) or tests.get(test_of(way))
        if its is not None and its != way and not is_failure(its, way):
            return way.partition(": case ")[2].partition(" in ")[0] or test_of(way)
    return ""


def test_of(condition: str) -> str:
    """What a condition of the walk looks at, whether it holds or not."""
    text = PLACE.sub("", condition)
    while text.startswith(("if ", "not (")):
        text = text.removeprefix("if ") if text.startswith("if ") else text[5:-1]
    return text


def is_test(condition: str) -> bool:
    """Whether the condition is a test, and not that a command before has ended well."""
    return bool(_TEST.match(test_of(condition).removeprefix("! ")))


def is_a_way(condition: str) -> bool:
    """Whether it is of an `if`, a `case`, a test or a failure: of a command that another one goes before, and
    that goes on where that ended well, nothing says that it may not be run."""
    rest = PLACE.sub("", condition)
    return rest.startswith(("if ", "case ", "not (")) or is_test(condition)


def is_failure(*conditions: str) -> bool:
    """Whether it looks at the status of what was run before."""
    return any("$?" in each for each in conditions)
