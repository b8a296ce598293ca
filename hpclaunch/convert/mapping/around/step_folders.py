"""The folder that a step of the host is in: it starts in that of the job file, wherever the ranks do, and the
script may have gone to another one before it."""

import posixpath
import shlex
from collections.abc import Sequence
from posixpath import isabs, join, normpath

from msgspec import Struct

from hpclaunch.convert.mapping.words.texts import is_here, line, path
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Unknown, Value, known, shown

_PRINT = ("echo", "printf")
# What they read and change stands in their words. Any other may read or write in the folder that it is in.
_BY_WORDS = that(
    "says", "shell", "looks", "words", "texts", "devices", "settings", "caches", "copies", "files"
)
_OF_NAMES = frozenset(
    ("SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NAME", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID")
)


class Way(Struct, frozen=True):
    """What a step does `first`, a text for /bin/sh, to be in the folder of its command: "" where it starts
    there, or where none of its words is a path from it. `names` are variables that the text takes from the
    job, and `nowhere` is a folder that no step can find, "" for none."""

    first: str = ""
    names: tuple[str, ...] = ()
    nowhere: str = ""


def goes(command: Command, words: Sequence[Value], begin: str) -> Way:
    """How a step comes to the folder of its command. The script began in `begin`, from the folder of the job
    file."""
    there: str | None = begin
    if command.folder:
        there = None if (folder := path(command.folder)) is None else normpath(join(begin, folder))
    relative = _is_relative(command, words)
    if any(is_here(part) for word in words for part in word):  # which is written as `.`
        there = "." if there == "." or not relative else None
    elif not relative:
        return Way()
    elif there is None and (way := _by_variables(command.folder)) is not None:
        return way
    if there == ".":
        return Way()
    if there is None:
        doubt = "a cd that may not have run leads there" if _may_be_another(command.folder) else ""
        return Way(nowhere=doubt or shown(command.folder) or "the folder of submission")
    return Way(f"cd {shlex.quote(there)} || exit; ")


def _by_variables(folder: Value) -> Way | None:
    """To a path with variables of the submitter's shell in it, /data/$USER; None for one that may not lead
    there. A variable that the script gives one value or another is none of that shell."""
    if is_here(folder[0]) or any(isinstance(part, Unknown) and part.kind == "either" for part in folder):
        return None
    written = line([("cd",), folder])
    if written.doubt or not isinstance(written.value, str):
        return None
    return Way(f"{written.value.removeprefix('exec ')} || exit; ", written.names)


def _may_be_another(folder: Value) -> bool:
    """Whether a cd that may not have run leads to it: which one it is, is known where the script runs."""
    return any(isinstance(part, Unknown) and part.kind == "either" and part.name == "PWD" for part in folder)


def _is_relative(command: Command, words: Sequence[Value]) -> bool:
    """Whether it may find something from the folder that it is in."""
    program, *rest = words or [()]
    name = known(program) or ""
    if name in _PRINT:
        rest = []  # they are a text
    targets = [output.path for output in command.writes]
    return (
        command.stdin is not None
        or posixpath.basename(name) not in _BY_WORDS
        or ("/" in name and not isabs(name))
        or any(map(_is_path_from_here, [*rest, *targets]))
    )


def _is_path_from_here(word: Value) -> bool:
    """Whether the word may be a path that starts from the folder. One of which the beginning is not known is
    taken for a whole path, or none; the job's number is the beginning of a name."""
    first = word[0] if word else ""
    if isinstance(first, Unknown):
        return first.kind == "variable" and first.name in _OF_NAMES
    return isinstance(first, str) and not first.startswith(("/", "-", "~")) and bool(first)
