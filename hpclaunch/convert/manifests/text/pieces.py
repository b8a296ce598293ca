"""Lines -> pieces: a key, an item of a list, or both, with the lines that its value goes on over.

Nothing here asks whether the indentation is right: it is what is to be repaired.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.convert.manifests.text.api import known_keys
from hpclaunch.convert.manifests.text.lines import Line

_DASHES = re.compile(r"(?:-\s+)*")
_KEY = re.compile(
    r"""("[^"]{0,300}"|'[^']{0,300}'|[^\s:#"'\[\]{},&*!|>%@`-][^:#"'\[\]{},]{0,300}?)\s{0,40}:(?=\s|$)\s*(.*)"""
)
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?")
_LONGEST_VALUE = 5000  # lines of one value
_MOST_LOOKED_AT = 50_000  # lines, for the ends of all values


class Piece(Struct, frozen=True):
    """`dashes` are those in front of it, `column` where it begins. `key` is None for an item that is a value
    alone; `value` what stands behind the key on its line. `rest` are the lines that belong to the value:
    the text of a block (`block`), or a value in quotes or brackets that goes on."""

    line: Line
    dashes: int
    column: int
    key: str | None
    value: str
    content: str
    rest: tuple[Line, ...] = ()
    block: bool = False

    @property
    def is_open(self) -> bool:
        """Whether its value, if it has one, stands in what follows."""
        bare = self.value.strip()
        return self.key is not None and (bare == "" or bare.startswith(("#", "&", "!")))


def cut(lines: Sequence[Line]) -> list[Piece]:
    """The pieces. Comments and blank lines between them are left out."""
    found: list[Piece] = []
    budget = _MOST_LOOKED_AT
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if line.is_blank or line.text.rstrip() in ("---", "..."):
            continue
        piece = _piece(line)
        if piece.dashes == 0 and piece.key is None and found:
            found[-1] = _with_rest(found[-1], (line,))  # a value that goes on
            continue
        if _BLOCK.fullmatch(piece.value.strip()):
            end = _end_of_block(lines, index, piece)
            piece = _with_rest(piece, lines[index:end], block=True)
            index = end
        elif piece.value[:1] in ("[", "{", '"', "'"):
            end, looked_at = _end_of_value(lines, index, piece.value, min(budget, _LONGEST_VALUE))
            budget -= looked_at
            piece = _with_rest(piece, lines[index:end])
            index = end
        found.append(piece)
    return found


def _is_key(text: str) -> bool:
    """Whether a line begins with a key of the API."""
    piece = _piece(Line(0, text))
    return piece.key is not None and piece.key in known_keys()


def _piece(line: Line) -> Piece:
    text = line.text.strip()
    dashes = _DASHES.match(text)
    assert dashes is not None
    content = text[dashes.end() :]
    count = dashes[0].count("-")
    if content == "-":  # an item whose value stands in the next lines
        content, count = "", count + 1
    match = _KEY.fullmatch(content)
    key = match[1].strip("\"'") if match else None
    return Piece(line, count, line.column, key, match[2] if match else content, content)


def _with_rest(piece: Piece, rest: Sequence[Line], block: bool = False) -> Piece:
    return Piece(
        piece.line,
        piece.dashes,
        piece.column,
        piece.key,
        piece.value,
        piece.content,
        (*piece.rest, *rest),
        block or piece.block,
    )


def _end_of_block(lines: Sequence[Line], start: int, piece: Piece) -> int:
    """A block's lines are deeper than its key. Where none is, all indentation is lost: then it ends before
    the next line that begins with a key of the API."""
    first = next((line for line in lines[start:] if line.text.strip()), None)
    if first is None:
        return start
    # The text of a key behind a dash may begin below the key's first letter.
    base = piece.column
    lost = first.column <= base
    for index in range(start, min(len(lines), start + _LONGEST_VALUE)):
        line = lines[index]
        if not line.text.strip():
            continue
        if (not lost and line.column <= base) or (lost and _is_key(line.text)):
            return index
        if line.text.rstrip() == "---":
            return index
    return min(len(lines), start + _LONGEST_VALUE)


def _end_of_value(lines: Sequence[Line], start: int, value: str, most: int) -> tuple[int, int]:
    """The line behind a value in quotes or brackets (`start` where it never ends), and how many lines were
    looked at for it."""
    quote, depth = _state(value, "", 0)
    index = start
    while (quote or depth > 0) and index < min(len(lines), start + most):
        quote, depth = _state(lines[index].text, quote, depth)
        index += 1
    return (start if quote or depth > 0 else index), index - start


def _state(text: str, quote: str, depth: int) -> tuple[str, int]:
    """The open quote and the open brackets behind a text."""
    position = 0
    while position < len(text):
        char = text[position]
        if quote == '"' and char == "\\":
            position += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and (position == 0 or text[position - 1] in " \t[{,:-"):
            quote = char
        elif char in "[{":
            depth += 1
        elif char in "]}":
            depth -= 1
        elif char == "#" and (position == 0 or text[position - 1] in " \t"):
            break
        position += 1
    return quote, depth
