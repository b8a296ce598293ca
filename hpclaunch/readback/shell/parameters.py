"""What the operators of ${...} do with text (bash's manual, "Shell Parameter Expansion")."""

import re
from collections.abc import Callable

from hpclaunch.readback.shell import patterns
from hpclaunch.readback.shell.errors import Unreadable

_ASSIGNABLE = re.compile(r"[A-Za-z_]\w*")


def is_name(text: str) -> bool:
    """Whether a variable can have that name."""
    return bool(_ASSIGNABLE.fullmatch(text))


def transformed(operator: str, text: str, pattern: str, by: str) -> str:
    """The text after #, ##, %, %%, /, //, /#, /%, ^, ^^, `,` or ,,. Raises Unreadable."""
    if operator in ("#", "##"):
        return patterns.without_prefix(pattern, text, longest=operator == "##")
    if operator in ("%", "%%"):
        return patterns.without_suffix(pattern, text, longest=operator == "%%")
    if operator.startswith("/"):
        return patterns.replaced(pattern, text, by, operator[1:])
    change: Callable[[str], str] = _upper if operator.startswith("^") else _lower
    count = len(text) if len(operator) == 2 else 1
    changed = "".join(
        change(char) if not pattern or patterns.matches(pattern, char) else char for char in text[:count]
    )
    return changed + text[count:]


def _upper(char: str) -> str:
    return char.upper() if char.isascii() else char


def _lower(char: str) -> str:
    return char.lower() if char.isascii() else char


def cut(text: list[str] | str, offset: int, length: int | None) -> tuple[int, int]:
    """Start and end of ${x:offset:length}. Raises Unreadable where bash would complain."""
    start = offset if offset >= 0 else len(text) + offset
    if start < 0 or start > len(text):
        return 0, 0
    if length is None:
        return start, len(text)
    end = start + length if length >= 0 else len(text) + length
    if end < start:
        raise Unreadable("${...:offset:length} with an end before its start")
    return start, min(end, len(text))
