"""What a configuration sets without export, where the operator sources it and then submits the script, which
does not have it."""

from collections.abc import Iterator
from posixpath import basename

from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Finding, Place

_WHY = (
    "set without export: a script that is submitted where the file was only sourced has its own defaults for "
    "them; they are taken as if they were exported"
)
_TODO = "where the script never had them convert again without these lines, else export them there"
_MOST = 12  # names of a file that are told


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """The variables of each file that the script reads, and that it does not source itself."""
    own = _of_script(reading)
    if any(not each.file and each.place.file in own for each in reading.sourced):
        return  # what it sources may be these
    last = {each.name: each for each in reading.assigned if each.place.file not in own}
    first: dict[str, Place] = {}  # where the script gives a variable a value of its own
    for each in reading.assigned:
        if each.place.file in own:
            first.setdefault(each.name, each.place)
    used = {
        name
        for rows in (reading.commands, reading.assigned)
        for each in rows
        if each.place.file in own
        for name in each.uses
        if name not in first or _is_before(each.place, first[name])
    }
    read = [each for each in last.values() if not each.exported and each.name in used]
    for file in dict.fromkeys(each.place.file for each in read):
        its = [each for each in read if each.place.file == file][:_MOST]
        names = ", ".join(each.name for each in its)
        places = tuple(each.place for each in its)
        yield Finding("assumed", places, names, why=_WHY, todo=_TODO)


def _is_before(place: Place, other: Place) -> bool:
    """Whether it is in front of the other, or that itself."""
    return place.file == other.file and place.line <= other.line


def _of_script(reading: ShellReading) -> set[str]:
    """The inputs that the script sources or starts, by their names in its text, those of them too, and what
    starts it."""
    own = {reading.script, *(each.place.file for each in reading.started)}
    own |= {each.file for each in reading.sourced if each.place.file == reading.script}
    waiting = list(own)
    while waiting:
        here = waiting.pop()
        text = next((each.text for each in reading.sources if each.name == here), "")
        found = {each.name for each in reading.sources if basename(each.name) in text} - own
        own |= found
        waiting += found
    return own
