"""What the readers of text captures share: lines freed of what a terminal, a web page or a comment put
around them, errors with their place, and numbers that are never taken on trust."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from itertools import product
from typing import TypeVar

from msgspec import Struct

from hpclaunch.topology.seen import Origin
from hpclaunch.values import cpulist
from hpclaunch.values.errors import InputError, Problem

# No capture of one machine, and no line of one that has words, comes near these; they bound the time that a
# wrong file takes.
_MOST_CHARS = 8_000_000
LONGEST = 20_000
# A log that holds more than the capture would fill the screen.
_MOST_UNREAD = 10
_SHOWN_CHARS = 80
# "65535-65535", with room for spaces; a longer part cannot be one.
_LIST_PART_CHARS = 16
# Up to so many breaks, in texts of such a size, every way to undo them is tried; no row of 60 devices in
# a terminal of 20 columns has more pieces.
_MOST_BREAKS, _MOST_JOINED_CHARS, _MOST_PIECES = 6, 4_000, 32

# Terminal codes: with the escape character, and what is left of a colour where copying lost it.
_CODES = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|(?:\^\[)?\[[0-9;]{1,8}m"
)
# What the source of a web page has in and around a capture. Entities end in a semicolon: html.unescape alone
# would also take "&lt" at the beginning of a word.
_ENTITY = re.compile(r"&(?:#[0-9]{1,6}|#[xX][0-9a-fA-F]{1,5}|[A-Za-z][A-Za-z0-9]{1,12});")
_TAG = re.compile(r"</?(?:pre|code|span|div|p|br)\b[^<>\n]{0,200}>", re.IGNORECASE)
# What Markdown writers put in front of signs; the other such signs have a meaning in some format.
_ESCAPED = re.compile(r"\\([_=>])")
# Signs that word processors and browsers put in place of a space or a hyphen, or that show nothing.
_SIGNS = {
    **dict.fromkeys(map(ord, "\u00a0\u2000\u2001\u2002\u2003\u2007\u2009\u202f\u3000"), " "),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019"), "'"),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff"), ""),
    **dict.fromkeys([*range(9), *range(11, 32), 127], ""),
}
_COMMENT = re.compile(r"\s*(?:(?:#+|//+|>+|;+|\*+(?=\s|$))[ ]?)+")
_FENCE = re.compile(r"\s*(?:```+|~~~+)\s*[\w+-]*\s*")


_Found = TypeVar("_Found")


class Line(Struct, frozen=True):
    """A line of a capture, without what was put around it. `shift` characters were in front of `text`."""

    number: int
    text: str
    shift: int = 0


class Row(Struct, frozen=True):
    """A line and those that a terminal or a web page broke off from it."""

    pieces: tuple[Line, ...]

    @property
    def number(self) -> int:
        """The line that it begins on."""
        return self.pieces[0].number

    def joined(self) -> Iterator[str]:
        """Each text that the pieces may have come from: a break replaced a space, or stood inside a word.
        Of very many breaks at most one is taken to be unlike the others."""
        texts = [piece.text for piece in self.pieces]
        breaks = len(texts) - 1
        ways: Iterable[tuple[str, ...]] = product((" ", ""), repeat=breaks)
        if breaks > _MOST_BREAKS or sum(map(len, texts)) > _MOST_JOINED_CHARS:
            ways = _alike(min(breaks, _MOST_PIECES))
            texts = texts[: _MOST_PIECES + 1]
        for way in ways:
            yield "".join(text + join for text, join in zip(texts, (*way, ""), strict=True))

    def place(self, word: str) -> tuple[int, int]:
        """Line and column, from 1, where a word first stands in it; its beginning where it was broken."""
        for piece in self.pieces:
            found = re.search(rf"(?<!\S){re.escape(word)}(?!\S)", piece.text)
            if word and found:
                return piece.number, piece.shift + found.start() + 1
        return self.number, self.pieces[0].shift + 1


def _alike(breaks: int) -> Iterator[tuple[str, ...]]:
    for usual, other in ((" ", ""), ("", " ")):
        yield (usual,) * breaks
        for index in reversed(range(breaks)):
            yield (*(usual,) * index, other, *(usual,) * (breaks - index - 1))


def lines(text: str, file: str, comments: bool = True, longest: int = _MOST_CHARS) -> tuple[Line, ...]:
    """The lines of a capture without colour codes, Markdown fences, signs of HTML and, with `comments`,
    without signs of a comment (#, //, >) in front. Empty lines stay, so that numbers are those of the file.

    Raises InputError for a text that is far too long to be a capture, and for a line above `longest`.
    """
    check_length(text, file)
    found = []
    for number, raw in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        if len(raw) > longest:
            raise wrong(file, f"this line has {len(raw)} characters, which no line of a capture has", number)
        found.append(_line(number, raw, comments))
    return tuple(found)


def check_length(text: str, file: str) -> None:
    """Raises InputError for a text that is far too long to be a capture."""
    if len(text) > _MOST_CHARS:
        raise wrong(file, f"this is {len(text):,} characters long, which no capture of one machine is")


def _line(number: int, raw: str, comments: bool) -> Line:
    text = without_codes(raw)
    text = without_markup(text)
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
    text = text.translate(_SIGNS).rstrip()
    sign = _COMMENT.match(text) if comments else None
    shown = text[sign.end() :] if sign else text
    if _FENCE.fullmatch(shown):
        return Line(number, "")
    return Line(number, shown, raw.find(shown) if shown and shown in raw else 0)


def without_markup(text: str) -> str:
    """The text without the tags, entities and fixed spaces of a web page; for captures that are not XML."""
    if "<" in text:
        text = _TAG.sub("", text)
    if "&" in text:
        text = _ENTITY.sub(lambda match: unescape(match.group()), text)
    return text.replace("\u00a0", " ")


def without_codes(text: str) -> str:
    """The text without colours and other codes of a terminal."""
    return _CODES.sub("", text) if "\x1b" in text or "[" in text else text


def wrong(file: str, message: str, line: int = 0, column: int = 1) -> InputError:
    """The error of a capture that cannot be read, with its place; line 0 is the whole of it."""
    return InputError((Problem(message, where=f"{file}:{line}:{column}" if line else file),))


def quoted(text: str) -> str:
    """A piece of a capture for a message: short, and harmless on a terminal."""
    short = text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."
    return ascii(short)


def unread(origin: Origin, left: Sequence[Line]) -> tuple[str, ...]:
    """The lines that a reader did not understand, each with its place, and how many more there are."""
    named = [f"{origin.file}:{line.number}: not understood: {quoted(line.text.strip())}" for line in left]
    more = len(named) - _MOST_UNREAD
    if more > 0:
        named[_MOST_UNREAD:] = [f"{origin.file}: {more} more lines that were not understood"]
    return tuple(named)


def natural(text: str, most: int = cpulist.HIGHEST) -> int:
    """A decimal number. Raises ValueError for anything else, and above `most`."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{quoted(text)} is not a number")
    if len(text.lstrip("0")) > len(str(most)) or int(text) > most:
        raise ValueError(f"{quoted(text)} is above {most}")
    return int(text)


def cpus(text: str) -> tuple[int, ...]:
    """A kernel CPU list, rising: "48-55,176-183". Raises ValueError as `cpulist.parse`."""
    if any(len(part) > _LIST_PART_CHARS for part in text.split(",")):
        raise ValueError(f"{quoted(text)} is not a CPU list such as 0-15,128-143")
    try:
        return tuple(sorted(cpulist.parse(text)))
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not a CPU list: {str(error)[:_SHOWN_CHARS]}") from None


def first_that(candidates: Iterable[str], parse: Callable[[str], _Found]) -> _Found:
    """What `parse` makes of the first candidate that it takes; its first ValueError where it takes none."""
    problem: ValueError | None = None
    for candidate in candidates:
        try:
            return parse(candidate)
        except ValueError as error:
            problem = problem or error
    raise problem or ValueError("nothing to read")
