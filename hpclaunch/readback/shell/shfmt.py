"""The shell's grammar: a text's syntax tree, from the program shfmt (mvdan.cc/sh, on PyPI as shfmt-py).

It is given the text, which it only parses. Of the parsers for Python tree-sitter's takes two assignments and
the line after them for one command without a sign of it, and bashlex has no case and no (( )).
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

import msgspec

from hpclaunch.readback.shell import outside, tree
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.values.errors import HpclaunchError

# Some 20 ms and 50 MB are usual. Its JSON is indented, so it grows with the square of how deep a text nests.
_SECONDS = 10
_MEMORY = 1 << 30
_ERROR = re.compile(r"(?:.*:)?(\d+):(\d+): (.*)")
# Inside this package text has no characters beyond U+00FF, so that these may stand for what shfmt does not
# see as bash does: it drops a carriage return at the end of a line, and refuses a = that begins a word of an
# array.
_RETURN = "\u010d"
_EQUALS = "\u013d"
_MOST_EQUALS = 20
_FIRST_EQUALS = re.compile(rb"^([ \t]*)=", re.MULTILINE)
_decoder = msgspec.json.Decoder(tree.File)


class _Refused(Exception):
    """What shfmt says of a text, and where."""

    def __init__(self, message: str, line: int = 0, column: int = 0):
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def parsed(text: str, first_line: int) -> tuple[tree.File, bytes]:
    """The tree of a text that `inside` made, and the bytes that its positions count: see `written`.

    Raises ScriptError, with its line, for a text that is no script or too much for the parser, and
    HpclaunchError where shfmt is missing.
    """
    source = text.replace("\r", _RETURN).encode()
    for _ in range(_MOST_EQUALS):
        try:
            return _tree(source), source
        except _Refused as refused:
            error = refused
            source = _without_equals(source, refused)
        if not source:
            break
    raise ScriptError(error.message, first_line - 1 + (error.line or 1)) from None


def written(source: bytes, start: int, end: int) -> str:
    """The text between two positions."""
    return source[start:end].decode().replace(_RETURN, "\r").replace(_EQUALS, "=")


def _tree(source: bytes) -> tree.File:
    out = _run(source).replace(_RETURN.encode(), rb"\r").replace(_EQUALS.encode(), b"=")
    try:
        return _decoder.decode(out)
    except RecursionError:
        raise _Refused("commands within commands, too deep") from None
    except msgspec.DecodeError as error:
        raise HpclaunchError(
            f"{_program()} writes a syntax tree of another form ({error}): pip install -U shfmt-py"
        ) from None


def _run(source: bytes) -> bytes:
    with subprocess.Popen(
        [_program(), "--to-json", "--language-dialect=bash"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        # Elsewhere a process limits only itself, and the time alone is limited. Not RLIMIT_AS: Go reserves
        # more addresses than it ever uses.
        if sys.platform == "linux":
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        try:
            out, said = process.communicate(source, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise _Refused(f"shfmt needs more than {_SECONDS} seconds to parse it") from None
    if process.returncode == 0:
        return out
    found = _ERROR.match(said.decode(errors="replace"))
    if not found:
        raise _Refused("commands within commands, too deep or too many for shfmt")
    message = found[3].replace(_RETURN, "\r").replace(_EQUALS, "=")
    message = "".join(char if char.isprintable() else "?" for char in outside(message))
    raise _Refused(message, int(found[1]), int(found[2]))


def _without_equals(source: bytes, refused: _Refused) -> bytes:
    """The text with another character for the = at which shfmt stopped, nothing where it is none."""
    if refused.message != "array element values must be words" or not refused.column:
        return b""
    lines = source.split(b"\n", refused.line)
    at = sum(len(line) + 1 for line in lines[: refused.line - 1]) + refused.column - 1
    if source[at : at + 1] != b"=":
        return b""
    if _FIRST_EQUALS.match(lines[refused.line - 1]):  # as in scripts of ours: a line for each word
        return _FIRST_EQUALS.sub(rb"\1" + _EQUALS.encode(), source)
    return source[:at] + _EQUALS.encode() + source[at + 1 :]


@lru_cache(maxsize=1)
def _program() -> str:
    """Where pip puts it, beside this Python or for this user, else the one on PATH."""
    folders = [
        str(Path(sys.executable).parent),
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")),
        os.environ.get("PATH", os.defpath),
    ]
    found = shutil.which("shfmt", path=os.pathsep.join(folders))
    if found is None:
        raise HpclaunchError("scripts are parsed by shfmt, which is not installed: pip install shfmt-py")
    return found
