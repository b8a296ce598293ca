"""`srun bash -c 'cd FOLDER && torchrun ...'`: a text for a shell that only starts a launcher is read as if
srun started that itself."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.convert.mapping.around.rounds import names_in
from hpclaunch.convert.mapping.slurm.asked import Asked
from hpclaunch.convert.programs.layers import PER_GPU, Layer, layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command, ShellReading, once
from hpclaunch.convert.shell import walk
from hpclaunch.convert.shell.names import with_names
from hpclaunch.convert.shell.parsed import parsed
from hpclaunch.convert.shell.started import as_inside
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.statements import AndOr, Group, Simple, Statement
from hpclaunch.readback.shell.values import Value, known, program_of, shown

_NAMES = ("torchrun", "torch.distributed", "deepspeed", "accelerate", "composer")
_MOST = 200


class Started(Struct, frozen=True):
    """What the text starts: the words with the launcher, and the folder in which it does so, if the text
    enters one."""

    words: tuple[Value, ...]
    folder: Value | None


def started(reading: ShellReading, command: Command, words: Sequence[Value]) -> Started | None:
    """What a text starts that is all of these words of the command; None for any other: one that needs a
    login shell, does more, or reads variables that only its own shell knows."""
    if len(words) != 3 or program_of(words) not in SHELLS or known(words[1]) != "-c":
        return None
    if not any(name in shown(words[2]) for name in _NAMES) or not _are_few(reading):
        return None
    count = _calls_of(words[2])
    if count not in (1, 2):
        return None
    found = [each for each in walk.inner(command, words) if each.program != "exec"]
    if len(found) != count:  # what a shell does itself, such as `source`
        return None
    *before, last = found
    its = layers(last.words)
    used = {name for word in its[-1].words for name in names_in(word)}
    is_launcher = any(layer.program in PER_GPU for layer in its) and bool(its[-1].words)
    if not is_launcher or not used.isdisjoint(walk.wanted_inside(command, words)):
        return None
    if not before:
        return Started(last.words, None)
    enters = before[0].words
    to = known(enters[1]) if before[0].program == "cd" and len(enters) == 2 else None
    return Started(last.words, enters[1]) if to is not None and to.startswith("/") else None


@once
def _are_few(reading: ShellReading) -> bool:
    """Whether there is time to read such texts: no launcher has hundreds of them."""
    may_be = (each.written for each in reading.starting if " -c " in each.written)
    return sum(any(name in text for name in _NAMES) for text in may_be) <= _MOST


def unfolded(
    reading: ShellReading, command: Command, inner: Sequence[Layer], *, in_container: bool
) -> tuple[tuple[Layer, ...], tuple[Asked, ...]]:
    """The layers with those of the text in place of its shell, and the folder that it enters as an option of
    srun; the layers as they are and none for any other text."""
    found = started(reading, command, inner[-1].words) if inner else None
    if found is None:
        return tuple(inner), ()
    its = (*inner[:-1], *layers(found.words))
    if found.folder is None:
        return its, ()
    name = "container-workdir" if in_container else "chdir"
    return its, (Asked(name, found.folder, f"cd {shown(found.folder)}", (command.place,), "command"),)


def _calls_of(text: Value) -> int | None:
    """How many commands it is, one after the other; None where it has conditions, loops, pipes, assignments
    or redirections."""
    try:
        calls = list(_calls(parsed(with_names(as_inside(text))[0])))
    except ScriptError:
        return None
    plain = [
        each for each in calls if isinstance(each, Simple) and not (each.assignments or each.redirections)
    ]
    return len(plain) if len(plain) == len(calls) else None


def _calls(statement: Statement) -> Iterator[Statement]:
    if isinstance(statement, Group):
        for each in statement.body:
            yield from _calls(each)
    elif isinstance(statement, AndOr) and all(operator == "&&" for operator, _ in statement.others):
        yield from _calls(statement.first)
        for _, each in statement.others:
            yield from _calls(each)
    else:
        yield statement
