"""The folder that a text of `sh -c` is in where it comes to its launcher.

Ranks start there: mpirun(1) of Open MPI, "Current Working Directory"; by default Hydra's -wdir and the
processes of torchrun have it too.
"""

import re
from collections.abc import Mapping
from posixpath import normpath

from msgspec.structs import replace

from hpclaunch.convert.manifests.running.shelltext import LAUNCHERS, ShellText
from hpclaunch.convert.manifests.running.units import Unit
from hpclaunch.convert.mapping.around.ways import is_test
from hpclaunch.convert.mapping.around.working_folder import changes_of, reached
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.convert.shell import walk
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import program_of, shown
from hpclaunch.values.errors import InputError

_CHANGES = re.compile(r"\b(?:cd|pushd|popd)\b")


def walked(text: str, parsed: ShellText, line: int, variables: Mapping[str, str | None]) -> ShellText:
    """The parts of a text with the folder of the launcher on this line of it (from 0): as the statements in
    front of it tell, which is not always as a plain `cd` does."""
    if not _CHANGES.search(text):
        return parsed
    given = {name: value for name, value in variables.items() if value is not None}
    try:
        reading = walk.read([Source("text", text)], given, script="text")
    except (ScriptError, InputError):
        return parsed
    runs = [each for each in reading.commands if _starts_ranks(each) and each.place.line == line + 1]
    return of_round(reading, runs[-1], parsed, 1) if runs else parsed


def of_round(reading: ShellReading, run: Command, parsed: ShellText, first: int) -> ShellText:
    """The same where the launcher was found in a walk before, as in a loop. `first` is the line of that on
    which the text begins."""
    changes = list(changes_of(reading, run))
    if not changes:
        return parsed
    last = changes[-1]
    doubtful = any(is_test(on) for each in changes for on in each.conditions)
    folder = None if doubtful or any(each.loops for each in changes) else reached(reading, changes, ".")
    if folder is not None and _same(folder, parsed.folder):
        return parsed
    return replace(
        parsed,
        folder=folder if folder not in (None, ".") else "",
        folder_line=last.place.line - first,
        lost=_written(last) if folder is None else "",
        folders=tuple(_of_unit(reading, unit, first) for unit in parsed.units),
    )


def _same(folder: str, other: str) -> bool:
    return normpath(folder) == normpath(other or ".")


def _of_unit(reading: ShellReading, unit: Unit, first: int) -> str | None:
    """Where a statement is: "" for the container's own folder, None where nobody can tell."""
    lines = range(unit.line + first, unit.line + first + unit.text.count("\n") + 1)
    its = (each for each in reading.commands if each.place.line in lines and each.program not in FOLDERS)
    found = next((each for each in its if not unit.words or each.program == program_of(unit.words)), None)
    if found is None or not found.folder:
        return ""
    changes = list(changes_of(reading, found))
    folder = reached(reading, changes, ".")
    return "" if folder == "." else folder


def _starts_ranks(command: Command) -> bool:
    if command.within or command.signals:
        return False
    return any(layer.program in LAUNCHERS for layer in layers(command.words))


def _written(command: Command) -> str:
    return " ".join(map(shown, command.words))
