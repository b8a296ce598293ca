"""What scripts that the ranks execute export themselves, and set for what they start: the job starts them as
they are, and has none of it in a key."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

_OF_SHELL = ("IFS",)  # IFS=, read -ra LIST: the shell alone has a use for it


def note(scripts: Sequence[Source], draft: Draft) -> None:
    """Keep the names for the row of the launch's facts that is about the environment, with their lines."""
    for source in scripts:
        for name, place in _names(source):
            draft.by_scripts.setdefault(name, place)


def _names(source: Source) -> list[tuple[str, Place]]:
    """In their order; nothing for a text that no shell would take."""
    if "=" not in source.text and "export" not in source.text:
        return []
    try:
        reading = walk.read((source,), {}, source.name)
    except (ScriptError, InputError):
        return []
    exported = {*dict(reading.at_end), *reading.perhaps_exported}
    found = [(each.name, each.place) for each in reading.assigned if each.exported or each.name in exported]
    found += [(name, each.place) for each in reading.commands for name, _ in each.prefix]
    return [row for row in found if row[0] not in _OF_SHELL]
