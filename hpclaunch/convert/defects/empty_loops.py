"""Loops over an array that no line gives a value: bash goes through them no time."""

import re
from collections.abc import Iterator

from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell import tree
from hpclaunch.values.conversion import Finding, Place

_WHOLE = re.compile(r'"?\$\{(\w+)\[[@*]\]\}"?')
_NAMED = re.compile(r"(?<!\$\{)(?<!\$\{[#!])(?<!\w)[A-Za-z_]\w*", re.ASCII)
_READ_ANEW = ("eval",)  # which may set any variable
_WHY = (
    "no line gives {} a value: where the shell of who submits exports none the loop has no round, and what "
    "is in it is not run"
)
_TODO = "see that the job is what the loop was to start, and write its values in the job file"


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """Each of them, where all that the script reads is given."""
    if any(not each.file for each in reading.sourced) or reading.of(*_READ_ANEW):
        return
    found = [each for text in parsed for each in _over_arrays(text)]
    given = {each.name for each in reading.assigned} | set(options.environment)
    # Also those that a line names in any other way than to have their elements: mapfile -t NAME.
    given.update(name for each in reading.sources if found for name in _NAMED.findall(each.text))
    for name, written, place in found:
        if name not in given:
            yield Finding("defect", (place,), f"a loop over {written}", "", _WHY.format(name), _TODO)


def _over_arrays(text: Parsed) -> Iterator[tuple[str, str, Place]]:
    """The arrays that loops go through, as they are written there, with their lines."""
    for node in text.nodes:
        if isinstance(node, tree.ForClause) and isinstance(node.loop, tree.WordIter):
            items = [text.text(each) for each in node.loop.items[:2]]
            whole = _WHOLE.fullmatch(items[0]) if len(items) == 1 else None
            if whole:
                yield whole[1], items[0], text.place(node.loop)
