"""`docker exec "${NAMES[@]}"` where the script makes NAMES of all that its configuration exports.

MLPerf's run_with_docker.sh since v0.7 asks a clean shell for the names (`env -i bash -c ". CONFIG && compgen
-e"`), adds some, and hands each on by --env=NAME.
"""

import re
from collections.abc import Iterator

from msgspec import structs

from hpclaunch.convert.programs.names import DOCKERS, REMOTE, STEPS
from hpclaunch.convert.reading import Assigned, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known

_SLURM = "SLURM_"  # srun sets these itself, and the conversion some of them where it reads again
_ASKS_FOR_NAMES = re.compile(r"\bcompgen\s+-e\b")


def told(reading: ShellReading) -> ShellReading:
    """The reading with an --env=NAME for each name in the place of the array, where the configuration is
    among the files."""
    first = next((each for each in reading.assigned if _asks(each)), None)
    files = {each.name for each in reading.sources} - {reading.script}
    exported = [
        each.name
        for each in reading.assigned
        if each.exported and each.place.file in files and each.place.line and not each.name.startswith(_SLURM)
    ]
    if first is None or not exported:
        return reading
    added = [
        text
        for each in reading.given(first.name)
        if _asks(each)
        for word in each.array or ()
        if (text := known(word)) is not None and text.isidentifier()
    ]
    names = dict.fromkeys((*exported, *added))
    options: tuple[Value, ...] = tuple((f"--env={name}",) for name in names)
    arrays: set[Value] = {
        each.value for each in reading.assigned if _made_of(each, first.name) and len(each.value) == 1
    }
    arrays |= {
        word for each in reading.of(*DOCKERS, *STEPS, *REMOTE) for word in each.words if _is_option(word)
    }
    return structs.replace(
        reading,
        commands=tuple(
            structs.replace(each, words=tuple(_words(each.words, arrays, options)))
            if any(word in arrays for word in each.words)
            else each
            for each in reading.commands
        ),
    )


def _asks(each: Assigned) -> bool:
    return any(isinstance(part, Unknown) and _ASKS_FOR_NAMES.search(part.name) for part in each.value)


def _is_option(word: Value) -> bool:
    """Whether it is each of the names behind --env=, as "${NAMES[@]/#/--env=}" is."""
    names = word[1] if len(word) == 2 and word[0] == "--env=" else ""
    return isinstance(names, Unknown) and _ASKS_FOR_NAMES.search(names.name) is not None


def _made_of(each: Assigned, name: str) -> bool:
    """Whether it is the names, each made an option by a loop over them."""
    return name in each.uses and any(
        isinstance(part, Unknown) and part.kind == "output" and not _asks(each) for part in each.value
    )


def _words(words: tuple[Value, ...], arrays: set[Value], options: tuple[Value, ...]) -> Iterator[Value]:
    for word in words:
        if word in arrays:
            yield from options
        else:
            yield word
