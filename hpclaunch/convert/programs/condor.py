"""The lines of a submit description for HTCondor: `name = value`, and `queue`, which sends what is above it
(condor_submit(1) of HTCondor 23, "Submit file description")."""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

QUEUE = "queue"
_VALUE = re.compile(r"[ \t]*(\+?[A-Za-z_][\w.]*)[ \t]*=(.*)", re.DOTALL)
_QUEUE = re.compile(r"(?i)[ \t]*queue\b(.*)", re.DOTALL)
_OTHER = re.compile(r"(?i)[ \t]*(?:if|elif|else|endif|include)\b")
_OF_CONDOR = re.compile(r"(?im)^[ \t]*(?:executable|universe)[ \t]*=")
_SENDS = re.compile(r"(?im)^[ \t]*queue\b(?![ \t]*=)")
_MACRO = re.compile(r"\$\((\w+)\)")
_MOST = 1000  # characters of a value with the values of others in it
_DEEP = 10  # values within values


class Line(Struct, frozen=True):
    """`name` in small letters, "queue" with what stands behind it, "" for another; `written` is its text.
    `first` and `last` are its lines, of which a backslash joins several."""

    name: str
    value: str
    written: str
    first: int
    last: int


@lru_cache(maxsize=4)  # it is asked for three times
def is_description(text: str) -> bool:
    """Whether condor_submit reads it: a script for a shell has other lines, too."""
    if text.startswith("#!") or not _SENDS.search(text) or not _OF_CONDOR.search(text):
        return False
    return all(line.name or _OTHER.match(line.written) for line in lines(text))


def lines(text: str) -> Iterator[Line]:
    """Those that are no comments."""
    joined: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not joined and (not line.strip() or line.lstrip().startswith("#")):
            continue
        joined.append(line.rstrip().removesuffix("\\"))
        if line.rstrip().endswith("\\"):
            continue
        yield _line("".join(joined), number - len(joined) + 1, number)
        joined = []


def _line(text: str, first: int, last: int) -> Line:
    written = " ".join(text.split())
    value, queue = _VALUE.match(text), _QUEUE.match(text)
    if value and value[1].lower() != QUEUE:  # which nobody can give a value
        return Line(value[1].lower(), value[2].strip(), written, first, last)
    return Line(QUEUE if queue else "", queue[1].strip() if queue else written, written, first, last)


def names_in(value: str) -> list[str]:
    """The names of other lines that have a part of the value: $(NAME)."""
    return [each.lower() for each in _MACRO.findall(value)]


def filled(value: str, values: dict[str, str]) -> str:
    """The value with those of other lines, as far as they are told."""
    for _ in range(_DEEP):
        again = _MACRO.sub(lambda found: values.get(found[1].lower(), found[0]), value)
        if again == value or len(again) > _MOST:
            break
        value = again
    return value
