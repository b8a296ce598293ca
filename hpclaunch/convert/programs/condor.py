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
# What no other program reads: a shell takes no blank in front of the sign.
_OF_CONDOR = re.compile(
    r"(?im)^[ \t]*(?:(?:executable|universe)[ \t]*="
    r"|(?:request_\w+|transfer_(?:in|out)put_files|should_transfer_files|when_to_transfer_output)[ \t]+=)"
)
_SENDS = re.compile(r"(?im)^[ \t]*queue\b(?![ \t]*=)")
# queue 2 NAMES from FILE, NAME in A B, or NAMES from ( with an item on each line, up to a line of ).
_OF_EACH = re.compile(r"(?i)(?:\d+\b)?([\w, \t]*?)\b(?:from|in|matching)\b(.*)", re.DOTALL)
_OPENS = re.compile(r"(?i)[ \t]*queue\b[^\n(]*\([ \t]*$")
_BETWEEN = re.compile(r"[ \t]*,[ \t]*|[ \t]+")
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
    first, opened = 0, False
    for number, line in enumerate(text.split("\n"), 1):
        if (opened or not joined) and (not line.strip() or line.lstrip().startswith("#")):
            continue
        first = first if joined else number
        joined.append(line.rstrip().removesuffix("\\"))
        opened = (opened or bool(_OPENS.match(line))) and not line.lstrip().startswith(")")
        if line.rstrip().endswith("\\") or opened:
            continue
        yield _line("\n".join(joined) if _OPENS.match(joined[0]) else "".join(joined), first, number)
        joined = []


def _line(text: str, first: int, last: int) -> Line:
    written = " ".join(text.split())
    value, queue = _VALUE.match(text), _QUEUE.match(text)
    if value and value[1].lower() != QUEUE:  # which nobody can give a value
        return Line(value[1].lower(), value[2].strip(), written, first, last)
    return Line(QUEUE if queue else "", queue[1].strip() if queue else written, written, first, last)


def of_each_job(queue: str) -> dict[str, str]:
    """The names of which `queue` gives each job another value, and the value where it sends one job alone;
    `queue` is what stands behind the word."""
    found = _OF_EACH.fullmatch(queue)
    if found is None:
        return {}
    names = [each.lower() for each in _BETWEEN.split(found[1].strip()) if each] or ["item"]
    one = one_item(queue)
    values = _BETWEEN.split(one, maxsplit=len(names) - 1) if one else []
    told = dict(zip(names, values, strict=False))
    return {name: told.get(name, f"$({name})") for name in names}


def one_item(queue: str) -> str:
    """The item of a list that has no other, "" for another list."""
    found = _OF_EACH.fullmatch(queue)
    lines = found[2].split("\n") if found and not queue[:1].isdigit() else []
    return lines[1].strip() if len(lines) == 3 and lines[0].strip() == "(" and lines[2].strip() == ")" else ""


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
