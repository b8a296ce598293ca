"""Words of a bash script, quoted so that what arrives is what was written, byte for byte."""

import re

from hpclaunch.values.words import LONGEST

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:./-]+")
_SINGLE = re.compile(r"[^'\x00-\x1f\x7f-\x9f\u2028\u2029]*")
_END = "WRAPPER"
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def bash(text: str) -> str:
    """One word. Control characters become bash's $'...' form: a value is one line of the script, no editor
    changes it, and sbatch, which refuses a script with a carriage return, does not see one."""
    if _PLAIN.fullmatch(text):
        return text
    if _SINGLE.fullmatch(text):
        return f"'{text}'"
    return "$'" + "".join(map(_escaped, text)) + "'"


def inherited(name: str) -> str:
    """NAME=value of a variable of this shell, or no word at all where it is not set."""
    return f'${{{name}+"{name}=${name}"}}'


def reads(variable: str, text: str) -> str:
    """Lines that put a text of ours into a variable, at once: -d '' would read it byte by byte."""
    assert len(text.encode()) <= LONGEST, f"{variable} would be cut"
    assert text.endswith("\n"), variable
    assert f"\n{_END}\n" not in f"\n{text}", variable
    # Nothing longer is given to a shell as an argument: bash need not read more.
    return f"IFS= read -r -N {LONGEST + 1} {variable} <<'{_END}'\n{text}{_END}"


def _escaped(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char < " " or "\x7f" <= char <= "\x9f" or char in "\u2028\u2029":
        return "".join(f"\\x{byte:02x}" for byte in char.encode())
    return char
