"""What the exports that a command sets itself (export OUT=/out/$TAG) need of variables that no line sets."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import reached
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.slurm.batch.asked import origin_of
from hpclaunch.convert.mapping.words.texts import line, submitters
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Value
from hpclaunch.values.conversion import Place

_OF_SHELLS = (*rendezvous.COMPUTED, "PWD")  # hpclaunch sets these, or a shell where it starts


def inherit(
    reading: ShellReading,
    later: Sequence[tuple[str, Value]],
    draft: Draft,
    at: Place | None = None,
    before: str = "",
) -> None:
    """Put what they take of the submitter's shell, and say what no shell of a job has. They are exported to
    what stands `at` a line, None for what the script's end may start. `before` is what a rank does first."""
    own = {name for name, _ in later}
    for name, value in later:
        names = [each for each in submitters(line([value]).names) if each not in _OF_SHELLS]
        for each in names:
            if each == name or each not in own:
                places = origin_of(reading, name, at) or (at or Place(reading.script),)
                reached.inherit((each,), places, draft, f"export {name}", (name,), before)
