"""[[ TEXT =~ EXPRESSION ]], and what it leaves in BASH_REMATCH (bash's manual, "Conditional Constructs")."""

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from hpclaunch.convert.shell import shopt
from hpclaunch.convert.shell.basic_regex import Unclear
from hpclaunch.convert.shell.extended_regex import Found, search, work
from hpclaunch.readback.shell.pieces import Literal, Word
from hpclaunch.readback.shell.state import Array, Variable
from hpclaunch.readback.shell.values import Unknown, Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_NAME = "BASH_REMATCH"
_SPECIAL = re.compile(r"([][\\^$.|?*+(){}])")
_LETTER = re.compile(r"\w", re.ASCII)


def is_like(shell: "Walker", expression: Word, text: str | None, sure: bool) -> bool | None:
    """Whether the text is like the expression, None where that is not known. What BASH_REMATCH has then is
    known where bash looks at it for certain (`sure`)."""
    pattern = _pattern(shell, expression)
    told, found = False, None
    if text is not None and pattern is not None and text.isascii() and shopt.NO_CASE not in shell.options:
        shell.spend(work(text, pattern))
        with suppress(Unclear):
            found, told = search(text, pattern), True
    value: Value | Array = (Unknown("either", _NAME),)
    if sure and told:
        value = _array(text or "", found)
    before = shell.state.get(_NAME)
    if before is None or before.value != value:
        shell.state.set(_NAME, Variable(value))
    return found is not None if told else None


def _array(text: str, found: Found | None) -> Array:
    if found is None:
        return Array({})
    texts = [text[bounds[0] : bounds[1]] if bounds else "" for bounds in (found.whole, *found.groups)]
    return Array({index: (each,) if each else () for index, each in enumerate(texts)})


def _pattern(shell: "Walker", expression: Word) -> str | None:
    """The text of an expression: what is quoted in it is itself. None where it is not known."""
    found: list[str] = []
    for piece in expression.pieces:
        text = known(shell.expander.value(Word((piece,), "")))
        if text is None:
            return None
        if not getattr(piece, "quoted", True):
            found.append(text)
        elif isinstance(piece, Literal) and len(text) == 1 and _LETTER.fullmatch(text):
            return None  # \s and its like, which bash leaves as they are
        elif "[" in "".join(found).rpartition("]")[2] and text != "]":
            found.append(text)  # within brackets nothing else is special
        else:
            found.append(_SPECIAL.sub(r"\\\1", text))
    return "".join(found)
