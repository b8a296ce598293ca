"""Where quotes and expansions end (bash's manual, "Quoting" and "Shell Expansions").

Every function takes a text and the index of an opening, and gives the index after what closes it. Each raises
Unreadable where nothing does.
"""

import string

from hpclaunch.readback.shell.errors import Unreadable

_DEEPEST = 40
_NAME = frozenset(string.ascii_letters + string.digits + "_")


def single(text: str, start: int) -> int:
    """'...'"""
    end = text.find("'", start + 1)
    if end < 0:
        raise Unreadable("a ' that nothing closes")
    return end + 1


def ansi(text: str, start: int) -> int:
    """$'...'"""
    return _escaped(text, start + 2, "'")


def backquoted(text: str, start: int) -> int:
    """`...`"""
    return _escaped(text, start + 1, "`")


def double(text: str, start: int, depth: int = 0) -> int:
    """ "..." """
    index = start + 1
    while index < len(text):
        char = text[index]
        if char == '"':
            return index + 1
        if char == "\\":
            index += 2
        elif char == "`":
            index = backquoted(text, index)
        elif char == "$":
            index = dollar(text, index, depth + 1, quoted=True)
        else:
            index += 1
    raise Unreadable('a " that nothing closes')


def dollar(text: str, start: int, depth: int = 0, quoted: bool = False) -> int:
    """$NAME, ${...}, $(...) or $((...)); for a $ before anything else the index after it. What is in quotes
    after it ($'...') is not looked at. `quoted`: it stands in "...", where a ' in ${...} is only itself."""
    if depth > _DEEPEST:
        raise Unreadable("expansions within expansions, too deep")
    after = text[start + 1 : start + 2]
    if after == "{":
        return _until(text, start + 2, "}", depth, quoted)
    if after == "(":
        return _until(text, start + 2, ")", depth, comments=not text.startswith("((", start + 1))
    if after in _NAME and not after.isdigit():
        index = start + 2
        while index < len(text) and text[index] in _NAME:
            index += 1
        return index
    if after and after in "0123456789@*#?-$!":
        return start + 2
    return start + 1


def parenthesis(text: str, start: int, depth: int = 0) -> int:
    """(...), as of an array or a process substitution."""
    return _until(text, start + 1, ")", depth)


def _escaped(text: str, index: int, closing: str) -> int:
    while index < len(text):
        if text[index] == closing:
            return index + 1
        index += 2 if text[index] == "\\" else 1
    raise Unreadable(f"a {closing} that nothing closes")


def _until(
    text: str, index: int, closing: str, depth: int, plain_quote: bool = False, comments: bool = True
) -> int:
    """The index after `closing`. In (...) parentheses count, and as in commands `comments`."""
    if depth > _DEEPEST:
        raise Unreadable("expansions within expansions, too deep")
    commands = closing == ")"
    nested = 0
    before = " "
    while index < len(text):
        char = text[index]
        if char == closing and not nested:
            return index + 1
        if char == "\\":
            before, index = char, index + 2
            continue
        if char == "'" and not plain_quote:
            index = single(text, index)
        elif char == '"':
            index = double(text, index, depth + 1)
        elif char == "`":
            index = backquoted(text, index)
        elif char == "$":
            ansi_quote = text.startswith("$'", index) and not plain_quote
            index = ansi(text, index) if ansi_quote else dollar(text, index, depth + 1, plain_quote)
        elif commands and comments and char == "#" and before in " \t\n;(&|":
            end = text.find("\n", index)
            index = len(text) if end < 0 else end
        else:
            nested += (char == "(") - (char == ")") if commands else 0
            index += 1
        before = char
    raise Unreadable(f"a {closing} is missing")
