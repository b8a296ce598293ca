"""What getopt(1) of util-linux writes for the arguments of a script: options first, each value in quotes."""

import re
from collections.abc import Sequence

from msgspec import Struct

_MOST = 1000  # words
_OWN = re.compile(r"-(?:([on])(.*)|l(.*))", re.DOTALL)
_LONG = re.compile(
    r"--(?:(o(?:p(?:t(?:i(?:o(?:n(?:s)?)?)?)?)?)?)|(n(?:a(?:m(?:e)?)?)?)|l[a-z]*)(?:=(.*))?", re.DOTALL
)


class _Spec(Struct, frozen=True):
    """The letters as they are given, with the + or - before them, and how many values each long name takes:
    0 for none, 1 for one, 2 for one perhaps."""

    letters: str
    order: str
    names: dict[str, int]


def getopt(words: Sequence[str]) -> str | None:
    """The text, None where getopt complains, or that is not followed here."""
    if len(words) > _MOST or not all(word.isascii() for word in words):
        return None
    told = _own(list(words))
    if told is None:
        return None
    spec, rest = told
    found = _options(spec, rest)
    return None if found is None else "".join(f" {each}" for each in found) + "\n"


def refuses(words: Sequence[str]) -> bool:
    """Whether getopt complains of the arguments, and ends with 1: an option is unknown, lacks its value,
    or has one too many."""
    if len(words) > _MOST or not all(word.isascii() for word in words):
        return False
    told = _own(list(words))
    return told is not None and _options(*told) is None


def _own(words: list[str]) -> tuple[_Spec, list[str]] | None:
    """What getopt's own options say, and the words that it looks at."""
    letters: str | None = None
    names: dict[str, int] = {}
    if not words or not words[0].startswith("-"):
        return None  # the old form, whose output has no quotes
    while words and words[0].startswith("-") and words[0] not in ("-", "--"):
        word = words.pop(0)
        short, long = _OWN.fullmatch(word), _LONG.fullmatch(word)
        if short:
            kind, value = short[1] or "l", short[2] or short[3] or None
        elif long:
            kind, value = ("o" if long[1] else "n" if long[2] else "l"), long[3]
        else:
            return None
        if value is None:
            if not words:
                return None
            value = words.pop(0)
        if kind == "o":
            letters = value
        elif kind == "l":
            for name in filter(None, re.split(r"[,\s]+", value)):
                names[name.rstrip(":")] = len(name) - len(name.rstrip(":"))
    words = words[1:] if words[:1] == ["--"] else words
    if letters is None:
        if not words:
            return None
        letters = words.pop(0)
    order = letters[0] if letters[:1] in ("+", "-") else ""
    plain = letters.removeprefix(order).lstrip(":")
    return _Spec(plain, order, names), words


def _options(spec: _Spec, words: list[str]) -> list[str] | None:
    found: list[str] = []
    others: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            others += words
            break
        if not word.startswith("-") or word == "-":
            if spec.order == "+":
                others += [word, *words]
                break
            (found if spec.order == "-" else others).append(_quoted(word) if spec.order == "-" else word)
            continue
        taken = _long(spec, word, words) if word.startswith("--") else _short(spec, word, words)
        if taken is None:
            return None
        found += taken
    return [*found, "--", *map(_quoted, others)]


def _long(spec: _Spec, word: str, words: list[str]) -> list[str] | None:
    name, equals, value = word[2:].partition("=")
    like = [name] if name in spec.names else [each for each in spec.names if each.startswith(name)]
    if len(like) != 1 or (equals and not spec.names[like[0]]):
        return None
    count = spec.names[like[0]]
    if count == 1 and not equals:
        if not words:
            return None
        value = words.pop(0)
    return [f"--{like[0]}", *([_quoted(value)] if count else [])]


def _short(spec: _Spec, word: str, words: list[str]) -> list[str] | None:
    found: list[str] = []
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        at = spec.letters.find(letter)
        if at < 0 or letter in ":;":
            return None
        takes = len(re.match(":{0,2}", spec.letters[at + 1 :])[0])  # type: ignore[index]
        found.append(f"-{letter}")
        if not takes:
            continue
        if not letters and takes == 1:
            if not words:
                return None
            letters = words.pop(0)
        found.append(_quoted(letters))
        break
    return found


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
