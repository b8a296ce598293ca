"""Files that a script writes for its ranks with echo, printf and cat, also in a group of commands: a step of
the job writes them."""

from collections.abc import Iterator, Sequence

from msgspec import structs

from hpclaunch.convert.mapping.around.files import Files
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.names import python
from hpclaunch.convert.shell.started import as_inside
from hpclaunch.convert.shell.written_files import is_cat_of_input
from hpclaunch.readback.shell.commands import BUILTINS
from hpclaunch.readback.shell.evaluate import Shell
from hpclaunch.readback.shell.values import Value, join, shown

_PRINT = ("echo", "printf")
_MOST = 300  # commands of a group


class Texts:
    """The files that the words of the run name, by the ids of the commands that write them."""

    def __init__(self, reading: ShellReading, run: Command):
        self._by_first: dict[int, Command] = {}
        self._others: set[int] = set()
        begun = Files()
        named: dict[tuple[Value, Value], bool] = {}  # a log is written to by each line
        for group in _groups(reading, run):
            first, output = group[0], group[0].writes[-1]
            path = (first.folder, output.path)
            if path not in named:
                named[path] = _is_named(first, output.path, run)
            if not named[path]:
                continue
            if output.append and begun.named_by(first, ((), output.path), patterns=False) is None:
                continue  # what stands in it before is of others
            text = _text(group)
            if text is not None:
                begun.add(first, output.path)
                self._by_first[id(first)] = _one(group, text)
                self._others.update(map(id, group[1:]))

    def of(self, command: Command) -> Command | None:
        """One command that writes the whole file, for the first of those that do; else None."""
        return self._by_first.get(id(command))

    def is_told(self, command: Command) -> bool:
        """Whether the first one stands for it."""
        return id(command) in self._others


def _is_named(writer: Command, path: Value, run: Command) -> bool:
    file = Files()
    file.add(writer, path)
    return file.named_by(run, run.words, patterns=False) is not None


def _one(group: Sequence[Command], text: Value) -> Command:
    """The commands as one, with their lines."""
    first, last = group[0], group[-1].place
    end = max(last.line, last.last)
    place = structs.replace(first.place, last=end if end > first.place.line else 0)
    written = "; ".join(each.written for each in group)
    if len(group) > 1:
        written = f"{{ {written}; }} > {shown(first.writes[-1].path)}"
    words: tuple[Value, ...] = (("printf",), ("%s",), text)
    return structs.replace(
        first, words=words, written=written, place=place, writes=first.writes[-1:], stdin=None, reads=None
    )


def _groups(reading: ShellReading, run: Command) -> Iterator[list[Command]]:
    """The commands before the run that write one file, each time that it is opened: all of a group."""
    found: dict[int, list[Command]] = {}
    for command in reading.commands:
        if command is run:
            break
        if command.writes:
            found.setdefault(id(command.writes[-1]), []).append(command)
    for group in found.values():
        first = group[0]
        is_simple = first.pipeline[1] == 1 and not first.within and not first.loops
        if is_simple and not first.writes[-1].tee and len(group) < _MOST:
            yield group


def _text(group: Sequence[Command]) -> Value | None:
    """What the commands write, None where that is not told."""
    shell = Shell(())
    pieces: list[Value] = []
    for each in group:
        around = (each.loops, each.conditions, each.within, each.pipeline)
        if around != ((), group[0].conditions, "", (0, 1)) or each.writes[-1].descriptor not in ("", "1"):
            return None
        if each.program in _PRINT:
            shell.output = []
            BUILTINS[each.program](shell, [as_inside(word) for word in each.words])
            pieces.append(python(join(list(shell.output))))
        elif each.stdin is not None and is_cat_of_input(each):
            pieces.append(each.stdin)
        else:
            return None
    return join([part for text in pieces for part in text])
