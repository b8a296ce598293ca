"""{a,b} and {1..3} (bash's manual, "Brace Expansion"): a written word becomes several, before anything
else."""

import re
from collections.abc import Iterator

from msgspec import structs

from hpclaunch.readback.shell.errors import Unreadable
from hpclaunch.readback.shell.parameters import is_name
from hpclaunch.readback.shell.pieces import Literal, Parameter, Piece, Word

_RANGE = re.compile(
    r"(-?[0-9]+)\.\.(-?[0-9]+)(?:\.\.(-?[0-9]+))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?[0-9]+))?"
)
_MOST = 10_000
_OTHERS = 0x10000
_NAME = re.compile(r"\w+", re.ASCII)


def expanded(word: Word) -> list[tuple[Piece, ...]]:
    """The pieces of each word; most often of the one. Raises Unreadable for what would be very many."""
    if not any(
        isinstance(piece, Literal) and not piece.quoted and "{" in piece.text for piece in word.pieces
    ):
        return [word.pieces]
    # Text as characters, which are all below U+0100, and any other piece as one beyond these.
    text = "".join(
        piece.text if isinstance(piece, Literal) and not piece.quoted else chr(_OTHERS + index)
        for index, piece in enumerate(word.pieces)
    )
    if text.count("{") > 200 or len(word.pieces) > 50_000:
        raise Unreadable("a word with a great many braces")
    found = _expanded(text, 0)
    if len(found) > _MOST:
        raise Unreadable(f"{word.written!r} is {len(found)} words")
    return [tuple(_pieces(each, word)) for each in found]


def _pieces(text: str, word: Word) -> Iterator[Piece]:
    before: Piece | None = None
    for part in re.split(f"([{chr(_OTHERS)}-\U0010ffff])", text):
        if part >= chr(_OTHERS):
            if before:
                yield before
            before = word.pieces[ord(part) - _OTHERS]
        elif part:
            if isinstance(before, Parameter) and before.bare and not before.quoted and is_name(before.name):
                # $x{1,2} is $x1 $x2: names are read after this.
                more = _NAME.match(part)
                before = structs.replace(before, name=before.name + (more[0] if more else ""))
                part = part[more.end() :] if more else part
            if before:
                yield before
            before = Literal(part, False) if part else None
    if before:
        yield before


def _expanded(word: str, depth: int) -> list[str]:
    if depth > 8:
        raise Unreadable("braces within braces, too deep")
    start = 0
    while True:
        opening = _find(word, start, "{")
        if opening is None:
            return [word]
        choices, end = _choices(word, opening, depth)
        if choices:
            tails = _expanded(word[end:], depth + 1)
            if len(choices) * len(tails) > _MOST:
                raise Unreadable("a word with braces that is a great many words")
            return [word[:opening] + choice + tail for choice in choices for tail in tails]
        start = opening + 1


def _choices(word: str, opening: int, depth: int) -> tuple[list[str], int]:
    """What stands between the brace and its partner, and the index after that; none where it is only text."""
    parts: list[str] = []
    start = index = opening + 1
    nested = 0
    while True:
        found = _find(word, index, "{},")
        if found is None:
            return [], opening
        char, index = word[found], found + 1
        if char == "," and not nested:
            parts.append(word[start:found])
            start = index
        elif char == "{":
            nested += 1
        elif char == "}" and nested:
            nested -= 1
        elif char == "}":
            break
    if parts:
        parts.append(word[start : index - 1])
        return [text for part in parts for text in _expanded(part, depth + 1)], index
    return _range(word[opening + 1 : index - 1]), index


def _range(text: str) -> list[str]:
    found = _RANGE.fullmatch(text)
    if not found or any(len(group) > 9 for group in found.groups() if group):
        return []
    letters = found[1] is None
    first, last = (ord(found[4]), ord(found[5])) if letters else (int(found[1]), int(found[2]))
    step = abs(int(found[6 if letters else 3] or 1)) or 1
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if len(numbers) > _MOST:
        raise Unreadable(f"{{{text}}} is a great many words")
    if letters:
        return [chr(number) for number in numbers]
    padded = any(re.match(r"-?0[0-9]", group) for group in (found[1], found[2]))
    width = max(len(found[1]), len(found[2])) if padded else 0
    return [f"{number:0{width}}" for number in numbers]


def _find(word: str, index: int, chars: str) -> int | None:
    """The index of one of the characters."""
    found = re.compile(f"[{chars}]").search(word, index)
    return found.start() if found else None
