"""The tasks of a job array that each read their own variables and arguments: the points of a sweep."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from hpclaunch.readback.shell.calls import Reading
from hpclaunch.readback.shell.values import Unknown, Value

# The point of a task is read into hl_point: how many variables, how many arguments, and these.
_VARIABLES: Value = (Unknown("either", "hl_point:2:hl_point[0]"),)
_ARGUMENTS: Value = (Unknown("either", "hl_point:2+hl_point[0]:hl_point[1]"),)


def without_points(reading: Reading) -> tuple[Reading, bool]:
    """The calls without the words that each task has of its own, and whether there are such words."""
    calls = []
    found = False
    for call in reading.calls:
        words = tuple(word for word in call.words if not _is_of_point(word))
        found |= len(words) < len(call.words)
        calls.append(structs.replace(call, words=words))
    return structs.replace(reading, calls=tuple(calls)), found


def points(given: Mapping[str, str], has_points: bool, unread: list[str]) -> str:
    """The tasks, as --array has them, "" for a script without points."""
    if not has_points:
        return ""
    if not given.get("array"):
        unread.append("each task reads a point of a sweep, and no --array says which tasks there are")
    return given.get("array", "")


def complaints(unread: Sequence[str], has_points: bool) -> list[str]:
    """What is not understood of a rank's words. Points may have the whole command."""
    return [each for each in unread if not (has_points and each.endswith("is given no command"))]


def _is_of_point(word: Value) -> bool:
    own = word[1:] if word[:1] == ("=",) else word
    return own in (_VARIABLES, _ARGUMENTS)
