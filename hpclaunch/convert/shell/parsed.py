"""Statements of a text, read once: for a megabyte that takes as long as a walk through them, and who mends a
text has read it before it is walked, or walked again once more of the job is known."""

from functools import lru_cache

from hpclaunch.convert.shell.syntax.reader import read
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.statements import Group


def parsed(text: str, first_line: int = 1) -> Group:
    """The same as `read`, which see. Raises ScriptError."""
    found = _outcome(text, first_line)
    if isinstance(found, Group):
        return found
    message, line, count = found
    error = ScriptError(message, line)
    error.read = count
    raise error


@lru_cache(maxsize=64)
def _outcome(text: str, first_line: int) -> Group | tuple[str, int, int]:
    try:
        return read(text, first_line)
    except ScriptError as error:
        return error.message, error.line, error.read
