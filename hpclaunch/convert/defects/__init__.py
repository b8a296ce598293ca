"""What is wrong in the original, with its line and the consequence.

Each module has `find`, which yields findings: of all texts as they are written, or of what is evaluated and
the job that came of it. They are of the kind "defect", but for what may be none and what is not looked for.
"""

from collections.abc import Iterable

from hpclaunch.convert.defects import (
    access,
    empty_loops,
    not_exported,
    only_sourced,
    placement,
    slurm,
    statuses,
    words,
)
from hpclaunch.convert.defects.search import LARGEST, trees
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Finding, Place

_OF_TEXTS = (words, slurm, access, only_sourced, not_exported, empty_loops)


def find(reading: ShellReading, options: Options, job: Draft) -> list[Finding]:
    """The defects of all inputs, in the order of their lines, each once."""
    parsed = trees(reading.sources)
    found = dict.fromkeys(each for module in _OF_TEXTS for each in module.find(reading, parsed, options))
    found.update(
        dict.fromkeys((*statuses.find(reading, parsed, job), *placement.find(reading, options, job)))
    )
    found.update(
        dict.fromkeys(_too_large(source.name) for source in reading.sources if len(source.text) > LARGEST)
    )
    order = {source.name: index for index, source in enumerate(reading.sources)}
    return sorted(found, key=lambda each: (order.get(each.places[0].file, 0), each.places[0].line))


def of_job(draft: Draft, options: Options, found: Iterable[Finding]) -> list[Finding]:
    """The defects that the job has taken over and no text showed. `found` are those of the texts."""
    return list(placement.of_job(draft, options, found))


def _too_large(name: str) -> Finding:
    why = f"it has more than {LARGEST:,} characters: those that need a syntax tree are not looked for"
    return Finding("unread", (Place(name),), "defects of this text", why=why)
