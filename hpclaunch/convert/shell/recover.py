"""A script that no shell would take: mended where it is plain what was meant, else without the lines at
fault.

Launchers that travelled through slides and web pages lose a quote or a backslash, and one such character
makes all that follows unreadable. Every change is told; a line that nothing helps is left out and told too.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from msgspec import Struct

from hpclaunch.convert.shell.parsed import parsed
from hpclaunch.convert.shell.syntax.again import Again, Fault

# Each attempt reads the text up to its first fault, some 10 ms for what people write and a second for a
# megabyte: 80 attempts at a script of 10,000 characters.
_MOST_READ = 800_000
_AT_LEAST = 8  # that part of a text is what beginning to read it costs
_MOST_CANDIDATES = 12  # lines above the complaint: a quote that is not closed shows where the next one stands
_QUOTES = re.compile(r"(?<!\\)[\"']")
_BACKTICKS = re.compile(r"^([^`]*)`([^`]*)`([^`]*)`([^`]*)`([^`]*)$")


class Repair(Struct, frozen=True):
    """A line that was changed. left out: it is not part of what is read."""

    line: int
    was: str
    now: str
    kind: Literal["nested backticks", "quote", "left out"]
    complaint: str


def recovered(text: str) -> tuple[str, tuple[Repair, ...]]:
    """A text that the parser takes, with as many lines, and what was changed in it: nothing where it was
    well.

    Raises ScriptError where that takes too many changes: the first complaint.
    """
    complaint = _complaint(text)
    if complaint is None:
        return text, ()
    first = complaint
    repairs: list[Repair] = []
    attempts = _Attempts()
    while complaint is not None:
        found = _better(text, complaint, attempts)
        if found is None:
            raise first
        text, repair, complaint = found
        repairs.append(repair)
    return text, tuple(sorted(repairs, key=lambda repair: repair.line))


class _Attempts:
    """Counts what is read: a text that is no script at all is given up in time."""

    def __init__(self) -> None:
        self._left = _MOST_READ

    def complaint(self, text: str, again: Again | None = None) -> Fault | None:
        found = _complaint(text, again)
        self._left -= max(len(text) if found is None else found.read, len(text) // _AT_LEAST)
        return found

    @property
    def are_over(self) -> bool:
        return self._left <= 0


def _complaint(text: str, again: Again | None = None) -> Fault | None:
    try:
        parsed(text, again=again)
    except Fault as fault:
        return fault
    return None


def _better(text: str, complaint: Fault, attempts: _Attempts) -> tuple[str, Repair, Fault | None] | None:
    """The change after which the parser gets furthest, None where none brings it further."""
    lines = text.split("\n")
    best: tuple[str, Repair, Fault | None] | None = None
    furthest = (complaint.line, 0)
    again = Again(complaint.run)
    for number, now, kind in _changes(lines, complaint.line, attempts):
        if attempts.are_over:
            break
        changed = "\n".join([*lines[: number - 1], now, *lines[number:]])
        after = attempts.complaint(changed, again.but(number))
        repair = Repair(number, lines[number - 1], now, kind, complaint.message)
        if after is None:
            return changed, repair, None
        # Of two that bring the parser to the same line, the one that keeps the words.
        reached = (after.line, int(kind != "left out"))
        if reached > furthest and after.line > complaint.line:
            best, furthest = (changed, repair, after), reached
    return best


def _leaves_open(line: str) -> bool:
    return len(_QUOTES.findall(line)) % 2 == 1 or line.count("$(") > line.count(")")


def _changes(
    lines: list[str], at: int, attempts: _Attempts
) -> Iterator[tuple[int, str, Literal["nested backticks", "quote", "left out"]]]:
    """Changes of one line, the likeliest first: of the line that the parser names, and of those above it that
    leave a quote or a $( open."""
    at = min(max(at, 1), len(lines))
    above = (number for number in range(at - 1, 0, -1) if _leaves_open(lines[number - 1]))
    suspects = [at, *islice(above, _MOST_CANDIDATES)]
    for number in suspects:
        line = lines[number - 1]
        nested = _BACKTICKS.match(line)
        if nested:
            before, outer, inner, rest, after = nested.groups()
            yield number, f"{before}$({outer}$({inner}){rest}){after}", "nested backticks"
    for number in suspects:
        line = lines[number - 1]
        for quote in _QUOTES.finditer(line):
            if attempts.are_over:
                break
            now = f"{line[: quote.start()]}\\{line[quote.start() :]}"
            if attempts.complaint(now) is None:
                yield number, now, "quote"
    for number in suspects:
        if lines[number - 1].strip() not in ("", ":"):
            # A template's own line is in no script that is made of it, and so no command there.
            of_template = lines[number - 1].lstrip().startswith(("{%", "{{"))
            yield number, "" if of_template else ":", "left out"
