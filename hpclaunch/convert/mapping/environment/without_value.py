"""Variables that the script exports and gives no value (export DATA_DIR): the ranks have that of the
submitter's shell -> `inherit` and `secrets`, or of what the script loads or sources."""

from collections.abc import Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment.demanded import SET_BY_OTHERS, is_set_by_others
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.environment.reached import inherit
from hpclaunch.convert.mapping.slurm.batch.export import Export
from hpclaunch.convert.reading import Command, ShellReading, once
from hpclaunch.readback.shell.statements import Assignment, Declaration, Simple
from hpclaunch.values.conversion import Place


def names(reading: ShellReading, command: Command, export: Export) -> Mapping[str, Place]:
    """Those that the ranks of a command have so, each with its line."""
    if not (reading.passed and export.everything):
        return {}
    given = {name for name, _ in (*command.environment, *command.prefix, *export.given)}
    return {
        name: place
        for name, place in reading.passed.items()
        if name not in given
        and name in _of_exports(reading)
        and not owner(name)
        and not reading.given(name)
        and (place.file != command.place.file or place.line <= command.place.line)
        and not reading.is_apart(place, command.place)
    }


@once
def _of_exports(reading: ShellReading) -> frozenset[str]:
    """Those that `export` names without a value, and that no line gives one, on a condition or not."""
    exported, given = set(), set()
    for each in (*reading.statements, *reading.of_submitted):
        part = each.part
        if isinstance(part, Simple):
            given |= {one.name for one in part.assignments}
        elif isinstance(part, Declaration):
            given |= {one.name for one in part.arguments if isinstance(one, Assignment)}
            if part.command == "export":
                exported |= {one.written for one in part.arguments if not isinstance(one, Assignment)}
    return frozenset(exported - given)


def put(reading: ShellReading, command: Command, export: Export, draft: Draft) -> None:
    """Put those of the submitter's shell. Where a module or a file that was not given may set one it is said,
    and not taken from there."""
    by_place: dict[Place, list[str]] = {}
    for name, place in names(reading, command, export).items():
        if ("env", name) not in draft.facts:
            by_place.setdefault(place, []).append(name)
    for place, its in by_place.items():
        what = f"export {' '.join(its)}"
        if not is_set_by_others(reading):
            inherit(its, (place,), draft, what)
            continue
        todo = "convert again with a file that does; else write what the program reads in env or `inherit`"
        draft.say("left", (place,), what, why=SET_BY_OTHERS, todo=todo)
