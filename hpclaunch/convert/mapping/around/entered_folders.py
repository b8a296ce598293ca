"""Folders that ranks cannot start in, since no job file can name them or the script makes them first: the
command goes there itself."""

from collections.abc import Iterator, Sequence
from posixpath import basename, join, normpath

from hpclaunch.convert.mapping.words.texts import line, path, submitters
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known

_MAKES = that("copies", "files", "archives") | {"git"}
_OF_USER = frozenset(("HOME", "USER", "LOGNAME"))
MADE = "the script makes that folder, and it is not there when the job starts"
ONLY_THERE = "its path is known where the ranks are"


def makes(reading: ShellReading, run: Command, folder: str) -> bool:
    """Whether the script makes the folder, or one above it, before its run."""
    for command in reading.commands:
        if command is run:
            return False
        if command.program in _MAKES and any(_is_in(folder, made) for made in _made(command)):
            return True
    return False


def _made(command: Command) -> Iterator[str]:
    """The folders that its words may name, from the folder of submission."""
    start = path(command.folder) if command.folder else "."
    texts = [known(word) or "" for word in command.words[1:]]
    if command.program == "git" and texts[:1] == ["clone"]:
        texts[-1] = basename(texts[-1]).removesuffix(".git")
    elif command.program != "mkdir":
        texts = [] if _needs_the_folder(command) else texts[-1:]
    here = normpath(start or ".")
    for text in texts if start is not None else ():
        if text and not text.startswith(("-", "/")) and (made := normpath(join(here, text))) != here:
            yield made


def _needs_the_folder(command: Command) -> bool:
    """Whether cp or mv put several files into it: it has to be there (cp(1), mv(1))."""
    if command.program not in ("cp", "mv"):
        return False
    files = [word for word in command.words[1:-1] if not (known(word) or "").startswith("-")]
    patterns = (part for word in files for part in word if isinstance(part, Unknown))
    return len(files) > 1 or any(part.kind == "files" for part in patterns)


def _is_in(folder: str, other: str) -> bool:
    return other != "." and (folder == other or folder.startswith(f"{other}/"))


def by_names(changes: Sequence[Command]) -> list[tuple[Value, ...]] | None:
    """The words of cd that a rank's own shell can do as the script did, by names of the user's that both
    have; None where there are others."""
    found: list[tuple[Value, ...]] = []
    for command in changes:
        its = line(command.words)
        if command.program != "cd" or len(command.words) != 2 or its.doubt:
            return None
        if not _OF_USER.issuperset(submitters(its.names)):
            return None
        found.append(command.words)
    return found
