"""A word taken apart: its text, with the quotes carried out, and the expansions in it (bash's manual,
"Quoting"). Nothing is looked up here."""

import re

from msgspec import Struct

from hpclaunch.readback.shell import escapes, extents
from hpclaunch.readback.shell.errors import Unreadable


class Literal(Struct, frozen=True):
    """Text. What is quoted is no pattern and is not split; "" in quotes is a word too."""

    text: str
    quoted: bool


class Parameter(Struct, frozen=True):
    """$NAME or ${...}: `body` is what stands after the $ or between the braces."""

    body: str
    quoted: bool


class Command(Struct, frozen=True):
    """$(...) or `...`."""

    source: str
    quoted: bool


class Arithmetic(Struct, frozen=True):
    """$((...))."""

    source: str
    quoted: bool


class Process(Struct, frozen=True):
    """<(...) or >(...): the name of a pipe."""

    source: str


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_IN_BACKQUOTES = re.compile(r"\\([$`\\])")
_IN_QUOTED_BACKQUOTES = re.compile(r"\\([$`\\\"])")

Piece = Literal | Parameter | Command | Arithmetic | Process


def of_word(text: str, blanks: bool = False) -> list[Piece]:
    """The pieces of a word. With `blanks` white space and operators are text, as in a pattern within ${...}.
    Raises Unreadable."""
    found: list[Piece] = []
    plain: list[str] = []
    index = 0

    def add(piece: Piece) -> None:
        if plain:
            found.append(Literal("".join(plain), False))
            plain.clear()
        found.append(piece)

    while index < len(text):
        char = text[index]
        end = index + 1
        if char == "\\":
            end = index + 2
            if text[index + 1 : end] != "\n":
                add(Literal(text[index + 1 : end] or "\\", True))
        elif char == "'":
            end = extents.single(text, index)
            add(Literal(text[index + 1 : end - 1], True))
        elif char == '"' or text.startswith('$"', index):
            start = index + (char == "$")
            end = extents.double(text, start)
            add(Literal("", True))
            found += of_quoted(text[start + 1 : end - 1])
        elif text.startswith("$'", index):
            end = extents.ansi(text, index)
            add(Literal(escapes.ansi_c(text[index + 2 : end - 1]), True))
        elif char in "$`" and _is_expansion(text, index):
            piece, end = _expansion(text, index, False)
            add(piece)
        elif char in "<>" and text.startswith("(", end):
            end = extents.parenthesis(text, end)
            add(Process(text[index:end]))
        elif char in " \t\n|&;<>" and not blanks:
            raise Unreadable(f"{char!r} within a word")
        else:
            plain.append(char)
        index = end
    if plain:
        found.append(Literal("".join(plain), False))
    return found


def of_quoted(text: str, quotes: bool = True) -> list[Piece]:
    """The pieces of what stands in "...", and without `quotes` of a here-document, where \\" stays. In
    "${x+...}" quotes may stand once more."""
    if "\\\n" in text and "$(" not in text and "`" not in text:
        text = _ESCAPED.sub(lambda escaped: "" if escaped[1] == "\n" else escaped[0], text)
    found: list[Piece] = []
    plain: list[str] = []
    index = 0
    special = '$`"\\' if quotes else "$`\\"
    while index < len(text):
        char = text[index]
        end = index + 1
        after = text[end : end + 1]
        if char == "\\" and after and (after in special or after == "\n"):
            end += 1
            plain.append("" if after == "\n" else after)
        elif char == '"' and quotes:
            end = extents.double(text, index)
            found += [Literal("".join(plain), True), *of_quoted(text[index + 1 : end - 1])]
            plain.clear()
        elif char in "$`" and _is_expansion(text, index):
            piece, end = _expansion(text, index, True)
            found += [Literal("".join(plain), True), piece] if plain else [piece]
            plain.clear()
        else:
            plain.append(char)
        index = end
    if plain:
        found.append(Literal("".join(plain), True))
    return found


def _is_expansion(text: str, index: int) -> bool:
    return text[index] == "`" or extents.dollar(text, index, quoted=True) > index + 1


def _expansion(text: str, index: int, quoted: bool) -> tuple[Piece, int]:
    if text[index] == "`":
        end = extents.backquoted(text, index)
        escaped = _IN_QUOTED_BACKQUOTES if quoted else _IN_BACKQUOTES
        return Command(escaped.sub(r"\1", text[index + 1 : end - 1]), quoted), end
    end = extents.dollar(text, index, quoted=quoted)
    if text.startswith("$((", index) and text[end - 2 : end] == "))":
        return Arithmetic(text[index + 3 : end - 2], quoted), end
    if text.startswith("$(", index):
        return Command(text[index + 2 : end - 1], quoted), end
    if text.startswith("${", index):
        return Parameter(text[index + 2 : end - 1], quoted), end
    return Parameter(text[index + 1 : end], quoted), end
