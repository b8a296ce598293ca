"""Python values as YAML, so that readers of YAML 1.1 and of 1.2 all get back what was written, and a person
can read it.

What is no plain word is quoted, what has several lines becomes a literal block, and what nobody sees on a
screen (controls, line ends of Unicode, spaces of other widths) is escaped. A block knows its column only when
the whole text is there: until `finished` its lines are one.
"""

from collections.abc import Mapping
from functools import lru_cache

# What needs no quotes, where it begins as below and no reader takes it for more than text.
_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@%+=,:;^$~-"
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/")

# Booleans and null of YAML 1.1, and what some readers take for a number, with a dash before it too.
_NOT_TEXT = frozenset(("y", "n", "yes", "no", "true", "false", "on", "off", "null"))
_NUMBERS = frozenset(("inf", "infinity", "nan"))
_NOT_PLAIN = _NOT_TEXT | _NUMBERS

_SEEN = bytes((*b"\t\n", *range(0x20, 0x7F)))  # what a block of ASCII may have

# Between the lines of a block, until the text is finished: nothing else has it, as controls are escaped.
_END = "\x1f"
_LATER = "\x1e"  # around a name, likewise

_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"'}


def value(what: str | bool | int) -> str:
    """A string, a boolean or an integer. Raises ValueError for a string that no YAML has: with NUL, or with
    half of a surrogate pair."""
    if isinstance(what, bool):
        return "true" if what else "false"
    if isinstance(what, int):
        return str(what)
    # Lines first: whole shell texts have them, and looking at each of their characters takes long.
    if "\n" in what:
        if _reads_as_block(what):
            return _block(what)
    elif _is_plain(what):
        return what
    if what.isprintable() and "'" not in what and ('"' in what or "\\" in what):
        return f"'{what}'"
    return _quoted(what)


def comment(text: str) -> str:
    """Text for one comment: on one line, whatever it is."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def beside(text: str, said: str) -> str:
    """A value with a comment at the end of its first line, which is behind a block's mark too."""
    first, mark, lines = text.partition(_END)
    return f"{first}  # {comment(said)}{mark}{lines}" if said else text


def in_flow(text: str) -> str:
    """A string for a list in brackets: what begins or ends an entry there is quoted, and so are all lines."""
    plain = value(text)
    return plain if plain[0] in "\"'" or not ("," in text or _END in plain) else _quoted(text)


def flow(what: object) -> str:
    """Maps, lists and what is in them, on one line. Raises ValueError as `value` does."""
    if isinstance(what, Mapping):
        return "{" + ", ".join(f"{flow(str(key))}: {flow(each)}" for key, each in what.items()) + "}"
    if isinstance(what, list | tuple):
        return "[" + ", ".join(map(flow, what)) + "]"
    return value(what) if isinstance(what, bool | int) else in_flow(str(what))


def under(text: str, column: int) -> str:
    """Lines moved right by so many columns; the end of the last line is left to what comes after."""
    indent = " " * column
    return indent + text.removesuffix("\n").replace("\n", "\n" + indent)


def later(name: str) -> str:
    """Stands for a text of that name, which `finished` is given: a long one would be copied at each level."""
    return f"{_LATER}{name}{_LATER}"


def finished(text: str, texts: Mapping[str, str] | None = None) -> str:
    """The text with the lines of its blocks where they belong: two columns right of the dash or the key that
    they are the value of. `texts` are those that stand there by name (`later`): of lines that show all that
    they have, as a shell text that ships is."""
    found: list[str] = []
    done = 0
    while (mark := text.find(_END, done)) != -1:
        start, end = text.rfind("\n", done, mark) + 1, text.find("\n", mark)
        start, end = start or done, end if end != -1 else len(text)
        head, _, lines = text[start:end].partition(_END)
        found += text[done:start], _with_lines(head, lines.replace(_END, "\n"))
        done = end
    parts = "".join((*found, text[done:])).split(_LATER)
    for at in range(1, len(parts), 2):
        style, body = _as_block((texts or {})[parts[at]])
        head = parts[at - 1].rpartition("\n")[2]
        parts[at] = _with_lines(head + style, body)[len(head) :]
    return "".join(parts)


def _with_lines(head: str, body: str) -> str:
    bare = head.lstrip(" ")
    column = len(head) - len(bare) + 2
    if bare.startswith("- ") and not bare.startswith("- |"):  # the first key of an entry
        column += 2
    start = "\n" + " " * column
    moved = start + body.replace("\n", start)
    while start + "\n" in moved:  # a line without text has no indent; of two such in a row one goes each time
        moved = moved.replace(start + "\n", "\n\n")
    return head + moved.removesuffix(start[1:])


@lru_cache(1024)
def _is_plain(text: str) -> bool:
    if not text.isascii() or text.encode().translate(None, _PLAIN) or text.endswith(":"):
        return False
    if text.startswith("="):
        return len(text) > 1
    word = text.lstrip("-")
    dashes = len(text) - len(word)
    if dashes > 2 or (not word and dashes < 2):
        return False
    if not word:
        return True
    return word[0] in _FIRST and word.lower() not in (_NUMBERS if dashes else _NOT_PLAIN)


def _reads_as_block(text: str) -> bool:
    """Whether each line shows all that it has: nothing at its end that an editor would take away."""
    if text.isascii():  # bytes are looked at in a fifth of the time
        seen = not text.encode().translate(None, _SEEN)
    else:
        seen = text.replace("\n", "").replace("\t", "").isprintable()
    ended = text + "\n"
    return seen and not text.isspace() and " \n" not in ended and "\t\n" not in ended


def _block(text: str) -> str:
    style, body = _as_block(text)
    return style + _END + body.replace("\n", _END)


def _as_block(text: str) -> tuple[str, str]:
    """The mark of a block, and its lines. Readers take the block's column from its first line; where that has
    white space of its own they are told."""
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    told = "2" if text[0] in " \t\n" else ""
    keep = ("-", "")[ends] if ends < 2 else "+"
    return f"|{told}{keep}", body + "\n" * (ends - 1)


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


@lru_cache(1024)
def _escaped(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code == 0 or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"{char!r} is no character of a text in YAML")
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
