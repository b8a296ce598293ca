"""Where a way through a script is, and what is known there: statuses, numbers that variables have, and
options of the shell."""

import re

from msgspec import Struct, structs

from hpclaunch.convert.defects import search
from hpclaunch.readback.shell import tree

_COMPARED = re.compile(r"\s*(-?\d+)\s*(-eq|-ne|-gt|-ge|-lt|-le|==?|!=|>=?|<=?)\s*(-?\d+)\s*")
_VALUE = re.compile(r"\$(?:(\w+|\?)|\{(\w+|\?|PIPESTATUS\[0\])\})")
_NUMBER = re.compile(r"\d{1,9}")


class Way(Struct, frozen=True):
    """Where a way through the script is. `status` is that of the last command, None: not known; `last` that
    command; `pipe` the statuses of the parts of the last pipeline; `known` variables with a number.
    `leaves` is "" where the next statement follows, else exit, return, break or continue. `failed`: a run has
    failed, and `lost`: what the shell told of that is told no more by another finding. `waits`: a run that
    failed was put into the background."""

    status: int | None = 0
    last: tree.Node | None = None
    pipe: tuple[int | None, ...] = (None,)
    known: tuple[tuple[str, int | None], ...] = ()
    options: frozenset[str] = frozenset()
    leaves: str = ""
    failed: bool = False
    lost: bool = False
    waits: bool = False

    def number(self, name: str) -> int | None:
        """The number that a variable, or ?, has."""
        if name == "?":
            return self.status
        if name == "PIPESTATUS[0]":
            return self.pipe[0]
        return dict(self.known).get(name)

    def told(self, name: str, value: int | None) -> "Way":
        """The same with a variable that has this number, None: another one, or none."""
        return structs.replace(self, known=tuple(sorted({**dict(self.known), name: value}.items())))


def value(text: str, way: Way) -> int | None:
    """The number that a word stands for, None: not known."""
    text = text.strip("\"'")
    if _NUMBER.fullmatch(text):
        return int(text)
    found = _VALUE.fullmatch(text)
    return way.number(found[1] or found[2]) if found else None


def test(text: str, way: Way) -> int | None:
    """The status of [ ], test or [[ ]] with these words between: of two numbers alone it is known."""

    def number(found: re.Match[str]) -> str:
        value = way.number(found[1] or found[2])
        return found[0] if value is None else str(value)

    compared = _COMPARED.fullmatch(_VALUE.sub(number, text).replace('"', " ").replace("'", " "))
    if compared is None:
        return None
    a, operator, b = int(compared[1]), compared[2], int(compared[3])
    if operator in (">", "<", ">=", "<="):
        return None  # of [[ ]] these compare texts
    holds = {"-gt": a > b, "-ge": a >= b, "-lt": a < b, "-le": a <= b, "-ne": a != b, "!=": a != b}
    return int(not holds.get(operator, a == b))


def set_options(call: tree.CallExpr, options: frozenset[str] = frozenset()) -> frozenset[str]:
    """The options that count here, e and pipefail, after `set`."""
    long = ""
    for word in map(search.literal, call.args[1:]):
        if long and word in ("errexit", "pipefail"):
            options = _turned(options, long, "e" if word == "errexit" else "pipefail")
            long = ""
        elif word and word[0] in "-+" and word[1:].isalpha():
            options = _turned(options, word[0], "e") if "e" in word else options
            long = word[0] if word.endswith("o") else ""
    return options


def _turned(options: frozenset[str], sign: str, name: str) -> frozenset[str]:
    return options | {name} if sign == "-" else options - {name}
