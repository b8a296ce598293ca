"""Loops over an array that no line gives a value: bash goes through them no time."""

import re
from collections.abc import Iterator

from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell import tree
from hpclaunch.values.conversion import Finding

_WHOLE = re.compile(r'"?\$\{(\w+)\[[@*]\]\}"?')
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
    for text in parsed:
        for node in text.nodes:
            if not isinstance(node, tree.ForClause) or not isinstance(node.loop, tree.WordIter):
                continue
            items = [text.text(each) for each in node.loop.items]
            found = _WHOLE.fullmatch(items[0]) if len(items) == 1 else None
            if found and found[1] not in options.environment and not _is_given(reading, found[1]):
                what = f"a loop over {items[0]}"
                yield Finding("defect", (text.place(node.loop),), what, "", _WHY.format(found[1]), _TODO)


def _is_given(reading: ShellReading, name: str) -> bool:
    """Whether a line gives it a value, or names it in any other way than to have its elements."""
    named = re.compile(rf"(?<!\$\{{)(?<!\$\{{[#!])(?<!\w){name}(?!\w)")
    return bool(reading.given(name)) or any(named.search(each.text) for each in reading.sources)
