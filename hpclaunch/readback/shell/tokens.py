"""The words and operators of a command, by bash's own rules (bash's manual, "Definitions":
metacharacters)."""

import re
from typing import Literal

from msgspec import Struct

from hpclaunch.readback.shell import extents
from hpclaunch.readback.shell.errors import Unreadable

Kind = Literal["word", "redirection", "operator", "newline", "end"]

_OPERATOR = re.compile(r"&&|\|\||\|&|;;&|;;|;&|[|&;()]")
_REDIRECTION = re.compile(r"(?:[0-9]+|\{[A-Za-z_]\w*\})?(?:<<<|<<-|<<|<>|<&|>&|>>|>\||<|>)|&>>|&>")
_ARRAY = re.compile(r"[A-Za-z_]\w*(?:\[[^\]\n]*\])?\+?=\(")
_SUBSTITUTION = re.compile(r"[<>]\(")
# An assignment among the words of these is one: neither split nor a pattern, and it may be an array.
DECLARATIONS = ("declare", "typeset", "local", "export", "readonly")

_META = frozenset(" \t\n|&;()<>")


class Token(Struct, frozen=True):
    """A word or an operator as it stands; `start` is where."""

    kind: Kind
    text: str
    start: int


def is_array(word: str) -> bool:
    """Whether it is NAME=(...)."""
    return bool(_ARRAY.match(word))


def token_at(text: str, index: int) -> Token | None:
    """The first token from `index` on, without the blanks, comments and line continuations before it; None
    where there is no more. Raises Unreadable."""
    while index < len(text):
        char = text[index]
        if char in " \t":
            index += 1
        elif text.startswith("\\\n", index):
            index += 2
        elif char == "#":
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
        elif char == "\n":
            return Token("newline", char, index)
        else:
            return _token(text, index)
    return None


def tokens(text: str) -> list[Token]:
    """All of them. Raises Unreadable."""
    found: list[Token] = []
    token = token_at(text, 0)
    while token:
        found.append(token)
        token = token_at(text, token.start + len(token.text))
    return found


def words(text: str) -> list[Token]:
    """The words of an array, where line ends are white space. Raises Unreadable for anything else."""
    found = [token for token in tokens(text) if token.kind != "newline"]
    for token in found:
        if token.kind != "word":
            raise Unreadable(f"{token.text} between the words of an array")
        if token.text.startswith("[") and "]" not in token.text:
            raise Unreadable(f"{token.text} has no ]")
    return found


def _token(text: str, index: int) -> Token:
    if not _SUBSTITUTION.match(text, index):
        for kind, pattern in (("redirection", _REDIRECTION), ("operator", _OPERATOR)):
            found = pattern.match(text, index)
            if found:
                return Token(kind, found[0], index)  # type: ignore[arg-type]
    return Token("word", text[index : end_of_word(text, index)], index)


def end_of_word(text: str, start: int) -> int:
    """The index after the word that begins at `start`. Raises Unreadable."""
    index = start
    array = _ARRAY.match(text, start)
    if array:
        return extents.parenthesis(text, array.end() - 1)
    while index < len(text):
        char = text[index]
        if char == "\\":
            index = min(index + 2, len(text))
        elif char == "'":
            index = extents.single(text, index)
        elif char == '"':
            index = extents.double(text, index)
        elif char == "`":
            index = extents.backquoted(text, index)
        elif char == "$":
            index = extents.ansi(text, index) if text.startswith("$'", index) else extents.dollar(text, index)
        elif _SUBSTITUTION.match(text, index):
            index = extents.parenthesis(text, index + 1)
        elif char == "(" and index > start and text[index - 1] in "?*+@!":
            index = extents.parenthesis(text, index)  # a pattern of shopt -s extglob
        elif char in _META:
            break
        else:
            index += 1
    return index
