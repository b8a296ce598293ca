"""Two runs beside each other: what they were made of, and what became of them."""

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hpclaunch.report.table import aligned

_WIDEST = 44
_WIDEST_LINE = 160
ABSENT = "-"


class Run(Struct, frozen=True):
    """One run. `made_of` and `outcome` are facts by name, in the order in which they are shown; of `script`
    the lines count, but for that with hpclaunch's own version."""

    name: str
    made_of: Mapping[str, str]
    outcome: Mapping[str, str]
    script: str


class Unlike(Struct, frozen=True):
    """A fact in which two runs differ, None where one has it not."""

    what: str
    a: str | None
    b: str | None

    @property
    def line(self) -> str:
        """On one line."""
        return f"{self.what}: {_cell(self.a)} -> {_cell(self.b)}"


def flat(prefix: str, value: Any) -> dict[str, str]:
    """The scalars of a document by their keys: {"job.env.LR": "0.1"}. A list is one value."""
    if isinstance(value, Mapping) and value:
        found: dict[str, str] = {}
        for key, part in value.items():
            found |= flat(f"{prefix}.{key}", part)
        return found
    return {prefix: value if isinstance(value, str) else msgspec.json.encode(value).decode()}


def unlike(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Unlike]:
    """The facts that differ, in the order of the first run's, and then of those that the second has alone."""
    for what in dict.fromkeys((*a, *b)):
        if a.get(what) != b.get(what):
            yield Unlike(what, a.get(what), b.get(what))


def scripts(a: str, b: str) -> Unlike | None:
    """How many lines of the scripts differ, None where it is none."""
    before, after = _lines(a), _lines(b)
    if before == after:
        return None
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    same = sum(block.size for block in blocks)
    own = (f"{len(lines) - same} of {len(lines)} lines are its own" for lines in (before, after))
    return Unlike("script", *own)


def lines_that_differ(a: str, b: str, most: int) -> list[str]:
    """The lines of two scripts that differ, as `diff -u1` shows them: at most so many, and then how many more
    there are."""
    found = list(difflib.unified_diff(_lines(a), _lines(b), "as it was", "today", n=1, lineterm=""))
    lines = [line if line.isprintable() else repr(line)[1:-1] for line in found]
    short = [line if len(line) <= _WIDEST_LINE else f"{line[: _WIDEST_LINE - 3]}..." for line in lines]
    left = len(short) - most
    return short if left <= 0 else [*short[:most], f"... and {left} more lines"]


def compared(a: Run, b: Run) -> list[Unlike]:
    """All that differs."""
    of_script = scripts(a.script, b.script)
    return [
        *unlike(a.made_of, b.made_of),
        *([of_script] if of_script is not None else []),
        *unlike(a.outcome, b.outcome),
    ]


def table(a: Run, b: Run, differences: list[Unlike]) -> str:
    """A row for each difference."""
    rows = [(each.what, _cell(each.a), _cell(each.b)) for each in differences]
    return aligned(("WHAT", a.name, b.name), rows)


def digest(data: bytes) -> str:
    """A short name for content."""
    return hashlib.sha256(data).hexdigest()[:16]


def _lines(script: str) -> list[str]:
    return [line for line in script.splitlines() if not line.startswith("# Made by hpclaunch ")]


def _cell(text: str | None) -> str:
    if text is None:
        return ABSENT
    line = text if text.isprintable() else repr(text)
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 3]}..."
