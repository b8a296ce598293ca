"""Backslashes: those of $'...' (bash's manual, "ANSI-C Quoting") and those of printf and echo -e."""

import re

_NAMED = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
_ESCAPE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<u>[0-9A-Fa-f]{1,4})|U(?P<U>[0-9A-Fa-f]{1,8})"
    r"|c(?P<control>\\\\|.)|(?P<char>.))",
    re.DOTALL,
)


def ansi_c(text: str) -> str:
    """What stands between $' and ', with its escapes carried out. A zero byte ends it, as bash's strings
    do."""
    return _ESCAPE.sub(_carried_out, text).partition("\0")[0]


def printf(text: str) -> str:
    """A format of printf: the same but for \\c and for quotes, which are escapes there too."""
    return _ESCAPE.sub(lambda found: found[0] if found["control"] else _carried_out(found), text)


def _carried_out(found: re.Match[str]) -> str:
    if found["octal"]:
        return chr(int(found["octal"], 8) & 0xFF)
    if found["hex"]:
        return chr(int(found["hex"], 16))
    if found["u"] or found["U"]:
        return _utf8(int(found["u"] or found["U"], 16)) or found[0]
    if found["control"]:
        return chr(
            ord(found["control"][0].upper()) ^ 0x40
            if found["control"] == "?"
            else ord(found["control"][0]) & 0x1F
        )
    return _NAMED.get(found["char"], found[0])


def _utf8(code: int) -> str:
    if code < 0x110000 and not 0xD800 <= code < 0xE000:
        return chr(code).encode().decode("latin-1")
    return ""
