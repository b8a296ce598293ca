"""Commands that are only text, as most are: each is found by one look."""

import re

from hpclaunch.readback.shell.pieces import NOTHING, Literal, Parameter, Word
from hpclaunch.readback.shell.statements import Assignment, Simple

DECLARING = frozenset(("declare", "typeset", "local", "export", "readonly"))
# With these something else begins, or ends, than a command of words.
_KEYWORDS = """
if then elif else fi for while until do done case esac in select function coproc let time { } [[ !
"""
_RESERVED = DECLARING | frozenset(_KEYWORDS.split())
# No quote, no expansion, nor anything else that is not only text.
_IN_TEXT = r"\s;&|<>()$`\"'\\#"
_WORDS = re.compile(rf"[^=\[{_IN_TEXT}]+(?:[ \t]+[^{_IN_TEXT}]+)*(?=[ \t]*(?:[\n;|)]|&(?!>)|\Z))")
_ASSIGNMENT = re.compile(
    rf"""([A-Za-z_]\w*)=(?:([^{_IN_TEXT}]+)|"([^"$`\\]*)"|'([^']*)')(?=[ \t]*(?:[\n;|)]|&(?!>)|\Z))""",
    re.ASCII,
)


def word(text: str, known: dict[str, Word]) -> Word:
    """A word that is only text; the same one each time, for most stand in many commands."""
    found = known.get(text)
    if found is None:
        found = known[text] = Word((Literal(text, False),), text)
    return found


def variable(written: str, name: str, known: dict[str, Word]) -> Word:
    """A word that is a variable's value, in quotes or not, with braces or without; the same one each time."""
    found = known.get(written)
    if found is None:
        quoted, bare = written[0] == '"', "{" not in written
        none = None if bare else NOTHING
        value = Parameter(name, quoted, operand=none, by=none, bare=bare)
        found = known[written] = Word((Literal("", True), value) if quoted else (value,), written)
    return found


def command(text: str, at: int, line: int, known: dict[str, Word]) -> Simple | None:
    """The command that begins there, in this line, if it is a whole one of words, or one assignment; its
    `written` is as long as it is. `known` are the words so far."""
    found = _WORDS.match(text, at)
    if found:
        written = found[0]
        texts = written.split()
        if texts[0] in _RESERVED:
            return None
        return Simple(line, (), tuple([word(each, known) for each in texts]), (), line, written)
    found = _ASSIGNMENT.match(text, at)
    if not found:
        return None
    written, name = found[0], found[1]
    if found.lastindex == 2:
        value, last = word(found[2], known), line
    else:
        quoted = written[len(name) + 1 :]
        value, last = Word((Literal(quoted[1:-1], True),), quoted), line + written.count("\n")
    return Simple(line, (Assignment(name, None, False, value, None, written),), (), (), last, written)
