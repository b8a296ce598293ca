"""${...} taken apart, and what its operators do with text (bash's manual, "Shell Parameter Expansion")."""

import re
from collections.abc import Callable

from msgspec import Struct

from hpclaunch.readback.shell import patterns
from hpclaunch.readback.shell.errors import Unreadable

_BODY = re.compile(
    r"(?P<before>[#!])?(?P<name>[A-Za-z_]\w*|[0-9]+|[@*#?$!-])"
    r"(?:\[(?P<index>(?:[^\[\]]|\[[^\[\]]*\])*)\])?"
    r"(?P<operator>:[-=?+]|[-=?+]|##?|%%?|//|/[#%]|/|\^\^?|,,?|@|:|$)(?P<operand>.*)",
    re.DOTALL,
)
_ASSIGNABLE = re.compile(r"[A-Za-z_]\w*")


class Expansion(Struct, frozen=True):
    """`name` is a variable's or a special parameter's, `index` what stands in [], None for none; `before`
    is "#" for the length, "!" for an indirection, and `operator` "" for none."""

    name: str
    index: str | None = None
    before: str = ""
    operator: str = ""
    operand: str = ""

    @property
    def of_all(self) -> bool:
        """Whether it is about all elements of an array, or all arguments."""
        return self.name in ("@", "*") or self.index in ("@", "*")


def read(body: str) -> Expansion:
    """What stands after a $, or between its braces. Raises Unreadable."""
    if body in ("#", "?", "$", "!", "-", "@", "*"):
        return Expansion(body)
    found = _BODY.fullmatch(body)
    if not found or (found["operator"] == "" and found["operand"]):
        raise Unreadable(f"${{{body}}}")
    return Expansion(
        found["name"], found["index"], found["before"] or "", found["operator"], found["operand"]
    )


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


def halves(operand: str) -> tuple[str, str]:
    """The pattern and the replacement of /pattern/by."""
    index = 0
    while index < len(operand):
        if operand[index] == "/":
            return operand[:index], operand[index + 1 :]
        if operand[index] == "\\":
            index += 1
        elif operand[index] in "'\"":
            end = operand.find(operand[index], index + 1)
            index = end if end > 0 else index
        elif operand.startswith("${", index):
            end = operand.find("}", index)
            index = end if end > 0 else index
        index += 1
    return operand, ""


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
