"""Where the values of a plan came from, as a table."""

from collections.abc import Sequence

from hpclaunch.report.table import aligned
from hpclaunch.report.text import printable

_LONGEST = 56  # of a value on a terminal; --json has it whole

Row = tuple[str, str, str]  # what, its value, from where


def as_table(rows: Sequence[Row]) -> str:
    """what  value  from"""
    return aligned(
        ("what", "value", "from"), [(what, _short(value), printable(place)) for what, value, place in rows]
    )


def as_data(rows: Sequence[Row]) -> list[dict[str, str]]:
    """For `explain --json`."""
    return [{"what": what, "value": value, "from": place} for what, value, place in rows]


def _short(value: str) -> str:
    text = printable(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"
