"""The variables that values have in them."""

import re
from collections.abc import Iterable

from hpclaunch.readback.shell.values import Unknown, Value

_NAMES = re.compile(r"[A-Za-z_]\w*")


def names_in(value: Value) -> set[str]:
    """The variables that a value has in it, also within sums."""
    parts = [part for part in value if isinstance(part, Unknown)]
    return {name for part in parts for name in _NAMES.findall(part.name)}


def submitters_in(words: Iterable[Value]) -> list[str]:
    """The variables of who submits that words have in them, also within sums."""
    parts = (part for word in words for part in word if isinstance(part, Unknown))
    told = (part for part in parts if part.kind in ("variable", "number"))
    return [name for part in told for name in _NAMES.findall(part.name)]
