"""Bash's patterns (bash's manual, "Pattern Matching"); those of extglob are in `extglob`."""

import re
from functools import lru_cache

from hpclaunch.readback.shell.errors import Unreadable

_SIGNS = re.compile(r"([*?\[\]\\()|])")
_LONG = 4096
_LONGEST = 1 << 20  # that ${x//pattern/text} may put into a text
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


def quoted(text: str) -> str:
    """Text as a pattern that only it matches."""
    return _SIGNS.sub(r"\\\1", text)


def is_pattern(text: str) -> bool:
    """Whether unquoted text of a word is a pattern of file names."""
    opening = text.find("[")
    return "*" in text or "?" in text or (opening >= 0 and text.find("]", opening) >= 0)


class _Pattern:
    """What stands between the *, each of a fixed number of characters. Backtracking would let a hostile
    pattern run for ever."""

    def __init__(self, segments: list[tuple[str, int]]):
        self.runs = [(re.compile(source, re.DOTALL), width) for source, width in segments]
        self.least = sum(width for _, width in segments)

    def covers(self, text: str, start: int, end: int) -> bool:
        """Whether text[start:end] as a whole matches."""
        if end - start < self.least:
            return False
        (first, width), *others = self.runs
        if not first.match(text, start, end):
            return False
        if not others:
            return end - start == width
        start += width
        *middle, (last, width) = others
        for run, length in middle:
            found = run.search(text, start, end - width)
            if not found:
                return False
            start = found.start() + length
        return end - width >= start and bool(last.match(text, end - width, end))

    def lengths(self, text: str) -> range:
        """How long a match in the text may be."""
        if len(self.runs) == 1:
            return range(self.least, min(self.least, len(text)) + 1)
        if len(text) > _LONG:
            raise Unreadable("a pattern with a * in a very long text")
        return range(self.least, len(text) + 1)


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text matches."""
    return _compiled(pattern).covers(text, 0, len(text))


def without_prefix(pattern: str, text: str, longest: bool) -> str:
    """${x#pattern}, ${x##pattern}"""
    compiled = _compiled(pattern)
    lengths = compiled.lengths(text)
    for length in reversed(lengths) if longest else lengths:
        if compiled.covers(text, 0, length):
            return text[length:]
    return text


def without_suffix(pattern: str, text: str, longest: bool) -> str:
    """${x%pattern}, ${x%%pattern}"""
    compiled = _compiled(pattern)
    lengths = compiled.lengths(text)
    for length in reversed(lengths) if longest else lengths:
        if compiled.covers(text, len(text) - length, len(text)):
            return text[: len(text) - length]
    return text


def replaced(pattern: str, text: str, by: str, where: str) -> str:
    """${x/pattern/by}: `where` is "/" for all, "#" at the start, "%" at the end, "" for the first."""
    if where == "#":
        rest = without_prefix(pattern, text, longest=True)
        there = len(rest) < len(text) or matches(pattern, "")
        return by + rest if there else text
    if where == "%":
        rest = without_suffix(pattern, text, longest=True)
        there = len(rest) < len(text) or matches(pattern, "")
        return rest + by if there else text
    compiled = _compiled(pattern)
    if not text:
        return by if pattern and matches(pattern, "") else text
    if not pattern:
        return text
    if len(compiled.runs) == 1:
        only = compiled.runs[0][0]
        if where and len(text) // compiled.least * len(by) > _LONGEST:
            count = sum(1 for _ in only.finditer(text))
            if count * len(by) > _LONGEST:
                raise Unreadable("a replacement that makes a very long text")
        return only.sub(by.replace("\\", r"\\"), text, count=0 if where else 1)
    if len(text) > _LONG // 8:
        raise Unreadable("a pattern with a * in a long text")
    return _replaced(compiled, text, by, bool(where))


def _replaced(compiled: _Pattern, text: str, by: str, every: bool) -> str:
    found = []
    start = 0
    while start < len(text):
        end = next((end for end in range(len(text), start, -1) if compiled.covers(text, start, end)), start)
        found.append(by if end > start else text[start])
        start = max(end, start + 1)
        if end > start - 1 and found[-1] is by and not every:
            break
    return "".join(found) + text[start:]


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Pattern:
    if len(pattern) > _LONG or re.search(r"[?*+@!]\(", pattern):
        raise Unreadable("a pattern of extglob, or a very long one")
    segments = [("", 0)]
    index = 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if char == "*":
            segments.append(("", 0))
            continue
        if char == "?":
            source = "."
        elif char == "\\":
            source = re.escape(pattern[index : index + 1] or "\\")
            index += 1
        elif char == "[":
            source, index = bracket(pattern, index)
        else:
            source = re.escape(char)
        before, width = segments[-1]
        segments[-1] = (before + source, width + 1)
    return _Pattern(segments)


def bracket(pattern: str, index: int) -> tuple[str, int]:
    """What follows a [, as a class of `re`, and the index after it; without a ] it is only a [."""
    end = index + (pattern[index : index + 1] in ("!", "^"))
    end += pattern[end : end + 1] == "]"
    inner = []
    while end < len(pattern) and pattern[end] != "]":
        named = re.compile(r"\[:([a-z]+):\]").match(pattern, end)
        if named and named[1] in _CLASSES:
            inner.append(_CLASSES[named[1]])
            end = named.end()
            continue
        end += 2 if pattern[end] == "\\" else 1
    if end >= len(pattern):
        return re.escape("["), index
    negated = pattern[index] in "!^"
    plain = re.sub(r"\[:[a-z]+:\]", "", pattern[index + negated : end])
    plain = re.sub(r"\\(.)", r"\1", plain, flags=re.DOTALL)
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", plain)
    try:
        text = f"[{'^' if negated else ''}{escaped}{''.join(inner)}]"
        re.compile(text)
    except re.error:
        raise Unreadable(f"the pattern {pattern!r}") from None
    return text, end + 1
