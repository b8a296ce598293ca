"""Where the text of a script stands in the one that hands it to sbatch."""

import re
from collections.abc import Sequence
from itertools import islice

from hpclaunch.readback.shell.values import Value, shown
from hpclaunch.values.conversion import Place

_PUTS_IN = re.compile(r"[$`\\]")
_FEW = 3  # lines, which any here-document may have
_MOST = 200  # here-documents that are looked at: each may have as many lines as the text


def placed(own: str, place: Place, given: Value, text: str) -> tuple[int, str]:
    """The line of the file `own` on which the text begins that a command there is given, and the text from
    there on. `place` is the command's, on line 0 for a text that has line ends in front for its place."""
    lines = own.split("\n")
    if place.line:
        return _first(lines, place, shown(given).split("\n")), text
    before = len(text) - len(text.lstrip("\n"))
    its = shown(given)[before:].split("\n")
    if len(its) < _FEW or _is_there(lines, before, its, with_command=True):
        return 1, text
    # A variable had it from a here-document, and echo wrote it.
    first = _in_document(lines, its)
    return (first, text[before:]) if first else (1, text)


def _first(own: Sequence[str], place: Place, lines: Sequence[str]) -> int:
    """Behind the command, or in another here-document, that of a call of the function that the command is
    in."""
    first = max(place.last, place.line) - len(lines) + 1
    return first if first > place.line else _in_document(own, lines) or place.line


def _in_document(own: Sequence[str], lines: Sequence[str]) -> int:
    """The line behind the last `<<` behind which these lines stand, 0 for none."""
    begins = (each for each in range(len(own) - 1, 0, -1) if "<<" in own[each - 1])
    return next((each + 1 for each in islice(begins, _MOST) if _is_there(own, each, lines)), 0)


def _is_there(own: Sequence[str], begin: int, lines: Sequence[str], *, with_command: bool = False) -> bool:
    """Whether those of a file from `begin` on are the lines of the text, but for what the shell puts in, or
    have them among the words of a command: echo '#SBATCH -N 2'."""
    count = len(lines) - 1  # it ends with the end of a line
    if begin + count >= len(own):
        return False
    pairs = ((own[begin + index], lines[index]) for index in range(count))
    return all(a == b or _PUTS_IN.search(a) or (with_command and b in a) for a, b in pairs)
