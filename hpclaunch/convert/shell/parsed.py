"""Statements of a text, read once: for a megabyte that takes as long as a walk through them, and who mends a
text has read it before it is walked, or walked again once more of the job is known."""

from hpclaunch.convert.shell.syntax.again import Again, Fault, Run
from hpclaunch.convert.shell.syntax.reader import read
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.statements import Group

_MOST = 64  # texts
_Outcome = Group | tuple[str, int, int, Run]
_outcomes: dict[tuple[str, int], _Outcome] = {}  # the one that was asked for last is the last


def parsed(text: str, first_line: int = 1, again: Again | None = None) -> Group:
    """The same as `read`, which see. Raises Fault."""
    found = _outcomes.pop((text, first_line), None) or _outcome(text, first_line, again)
    _outcomes[text, first_line] = found
    if len(_outcomes) > _MOST:
        del _outcomes[next(iter(_outcomes))]
    if isinstance(found, Group):
        return found
    raise Fault(*found)


def _outcome(text: str, first_line: int, again: Again | None) -> _Outcome:
    try:
        return read(text, first_line, again)
    except Fault as fault:
        return fault.message, fault.line, fault.read, fault.run
    except ScriptError as error:
        return error.message, error.line, error.read, Run()
