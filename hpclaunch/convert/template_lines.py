"""Lines of a template that stand within a command: {% if image %} between words that a backslash continues
(https://jinja.palletsprojects.com/en/stable/templates/#whitespace-control). No shell ever gets them."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.reading import Source
from hpclaunch.values.conversion import Place

_OWN = re.compile(r"\s*\{%[-+]?\s*(?P<word>\w+)[^{}\n]*%\}\s*$")
_BEGINS = frozenset(("if", "for"))
_ENDS = frozenset(("endif", "endfor"))
_INSTEAD = frozenset(("else", "elif"))
_WHY = "the template decides whether the words behind it stand in the command: they are read as if they did"
_WHY_NOT = "the template decides which words stand in the command: those in front of it are read"
_TODO = "convert the script that is made of the template"


def taken_out(sources: Sequence[Source], draft: Draft) -> list[Source]:
    """The sources with a bare backslash for each, and for the words of every way but the first."""
    return [Source(each.name, "\n".join(_lines(each, draft))) for each in sources]


def _lines(source: Source, draft: Draft) -> Iterator[str]:
    goes_on, left_out = False, 0  # how many ways begin in one that is left out, with itself
    lines = source.text.split("\n")
    ends = (number for number in range(len(lines), 0, -1) if _is_end(lines[number - 1]))
    last = next(ends, 0)  # behind which no way ends: what is left out there would be the rest of the script
    for number, line in enumerate(lines, 1):
        found = _OWN.match(line) if goes_on and "{%" in line else None
        if found is None:
            goes_on = (goes_on and bool(left_out)) or line.endswith("\\")
            yield "\\" if left_out else line
            continue
        word, place = found["word"], Place(source.name, number)
        if word in _ENDS:
            left_out = max(left_out - 1, 0)
        elif left_out:
            left_out += word in _BEGINS
        elif word in _INSTEAD and number < last:
            left_out = 1
            draft.say("assumed", [place], line.strip(), became="left out", why=_WHY_NOT, todo=_TODO)
        else:
            draft.say("assumed", [place], line.strip(), became="as if it held", why=_WHY, todo=_TODO)
        yield "\\"


def _is_end(line: str) -> bool:
    found = _OWN.match(line) if "{%" in line else None
    return found is not None and found["word"] in _ENDS
