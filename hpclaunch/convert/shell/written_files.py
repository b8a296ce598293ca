"""The text of a file that the script itself writes before it sources it: by a here-document of cat or tee, by
echo or by printf."""

from collections.abc import Sequence
from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING

from msgspec import Struct

from hpclaunch.convert.programs import srun
from hpclaunch.convert.programs.names import OTHER_SUBMITTERS
from hpclaunch.convert.reading import Command, Output
from hpclaunch.convert.shell import folder
from hpclaunch.convert.shell.names import python
from hpclaunch.convert.shell.started import as_inside
from hpclaunch.readback.shell.commands import BUILTINS
from hpclaunch.readback.shell.values import Part, Value, join, known, shown

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

STDIN = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_PRINT = ("echo", "printf")
# They leave the text of a file that is among their words as it is.
_LEAVE = frozenset((*_PRINT, "cat", "chmod", "chown", "ls", "source", ".", "touch", "sync", "grep", "tee"))
_WHOLE = ("/", "$")  # a name that begins so is one from every folder
_MOST = 500  # commands before it that are looked at


class Written(Struct, frozen=True):
    """What is in the file; `first` is the line where the text stands in the script, 0 for more than one."""

    text: Value
    first: int = 0


def of(shell: "Walker", path: Value, written: str) -> Written | None:
    """The text of the file when it is sourced here, None where the script does not write it, or not for
    certain: on a condition, before a `cd`, by another program. `written` is the path as it stands there."""
    if known(path) in STDIN:
        given = shell.input.text
        return None if given is None else Written(given)
    began = folder.in_which_it_began(shell.state)
    name = _name(path, folder.of_now(shell.state))
    if not name or "$(" in written or "`" in written:
        return None  # what a command puts out twice need not be the same
    pieces, is_new = _pieces(shell, name, began)
    if not is_new:
        return None
    text = join([part for _, piece in pieces for part in piece])
    return Written(text, _first(*pieces[0]) if len(pieces) == 1 else 0)


def submitted(shell: "Walker", path: Value) -> Value | None:
    """The text of a file that the script wrote for sbatch, with each line where it stands in the script; None
    where it is not known. What is only added to is taken to be new: a job's script is written whole."""
    began = folder.in_which_it_began(shell.state)
    name = _name(path, folder.of_now(shell.state))
    pieces = _pieces(shell, name, began)[0] if name else []
    parts: list[Part] = []
    lines, is_line = 0, True
    for command, text in pieces:
        document = command.stdin is not None and command.place.last > command.place.line
        before = command.place.line - (not document) - lines
        if command.place.file != shell.files.name(shell.line) or (is_line and before < 0):
            return None
        if is_line:
            parts.append("\n" * before)
            lines += before
        parts += text
        lines += sum(part.count("\n") for part in text if isinstance(part, str))
        last = text[-1] if text else "\n"
        # Nothing comes between a line and what continues it.
        is_line = isinstance(last, str) and last.endswith("\n") and not last.endswith("\\\n")
    return join(parts) if pieces else None


def of_sbatch(shell: "Walker", words: Sequence[Value]) -> Value | None:
    """What `submitted` tells of the script that these words give sbatch, or the command of another scheduler:
    of that it is the first word that the script wrote."""
    if known(words[0]) in OTHER_SUBMITTERS:
        texts = (submitted(shell, word) for word in words[1:] if not shown(word).startswith("-"))
        return next((text for text in texts if text is not None), None)
    if known(words[0]) != "sbatch":
        return None
    _, rest = srun.read(tuple(map(python, words)))
    return submitted(shell, rest[0]) if rest else None


def _pieces(shell: "Walker", name: str, began: Value) -> tuple[list[tuple[Command, Value]], bool]:
    """What commands have written into the file, in their order, nothing where that is not known; and whether
    it is known that there was nothing in it before. `began` is the folder in which the script did."""
    earlier = shell.commands[-_MOST:]
    shell.spend(1 + len(earlier) // 100)
    writers = [each for each in earlier if each.writes or each.program == "tee"]
    if not any(_output(command, name, began) is not None for command in writers):
        return [], False
    pieces: list[tuple[Command, Value]] = []
    into: Output | None = None  # the file, where it is new
    for command in reversed(earlier):
        output = _output(command, name, began)
        if into is not None and output is not into:
            break
        if output is None and command.program == "rm" and _names(command, name, began):
            return ([], False) if _is_perhaps(shell, command) else (pieces[::-1], True)
        if output is None:
            if _may_change(command, name, began):
                return (pieces[::-1], False) if command.program in folder.FOLDERS else ([], False)
            continue
        text = None if _is_perhaps(shell, command) else _put_out(shell, command, output)
        if text is None:
            return [], False
        pieces.append((command, text))
        if not output.append:
            into = output
    return pieces[::-1], into is not None


@lru_cache(maxsize=4096)  # all that was written is asked for at each file that is sourced
def _name(path: Value, here: Value) -> str:
    """What the path is called from the folder `here`, also where a part of it is not known but the same each
    time; "" where it is not so. In a folder of which nothing is known it is called as it stands."""
    text = shown(folder.path_from(here, path)) if path else ""
    return "" if not text or "RANDOM" in text else normpath(text)


def _names(command: Command, name: str, began: Value) -> bool:
    return any(_name(word, command.folder or began) == name for word in command.words[1:])


def _output(command: Command, name: str, began: Value) -> Output | None:
    """The command's output that goes to the file."""
    its = _writes_of(command)
    return next((each for each in its if _name(each.path, each.folder_of(command) or began) == name), None)


def _writes_of(command: Command) -> Sequence[Output]:
    """The files that it writes, with those that `tee` does in no pipeline: in one they are of what stands
    before it."""
    if command.program != "tee" or command.pipeline[1] > 1:
        return command.writes
    words = command.words[1:]
    append = any(known(word) in ("-a", "--append") for word in words)
    paths = (word for word in words if not shown(word).startswith("-"))
    return (*(Output(path, append, "1", tee=True) for path in paths), *command.writes)


def _may_change(command: Command, name: str, began: Value) -> bool:
    """Whether the file may have another text behind it, or be another one."""
    if command.program in folder.FOLDERS:
        return not name.startswith(_WHOLE)
    return command.program not in _LEAVE and _names(command, name, began)


def _is_perhaps(shell: "Walker", command: Command) -> bool:
    """Whether it has not run for certain when the walk is where it is."""
    now = shell.context
    on, loops = command.conditions, command.loops
    is_around = now.conditions[: len(on)] == on and now.loops[: len(loops)] == loops
    return not is_around or command.background or bool(command.signals)


def _put_out(shell: "Walker", command: Command, output: Output) -> Value | None:
    """What the command writes into the file, None where that is not known."""
    if output.descriptor == "2":
        return ()
    if command.program in _PRINT:
        before, shell.output = shell.output, []
        try:
            BUILTINS[command.program](shell, [as_inside(word) for word in command.words])
            return join(list(shell.output))
        finally:
            shell.output = before
    copies = command.program == "tee" or is_cat_of_input(command)
    return as_inside(command.stdin) if copies and command.stdin is not None else None


def is_cat_of_input(command: Command) -> bool:
    """Whether it is `cat` that puts out what it reads from its standard input."""
    return command.program == "cat" and [known(word) for word in command.words[1:]] in ([], ["-"])


def _first(command: Command, text: Value) -> int:
    """The line on which a here-document begins, 0 for any other text. A value of several lines in it would
    shift what follows: its lines are then those of the command."""
    lines = sum(part.count("\n") for part in text if isinstance(part, str))
    first = max(command.place.last, command.place.line) - lines
    return first if command.stdin is not None and first > command.place.line else 0
