"""eval "$(conda shell.bash hook)" and its like: what a program writes is for the shell that starts the ranks'
command, and that shell evaluates it."""

import re
from collections.abc import Iterator

from hpclaunch.convert.mapping.environment.in_order import Moment, Prepared, at, source_at
from hpclaunch.convert.mapping.environment.sourced import hook_files
from hpclaunch.convert.programs.environments import HOOKS
from hpclaunch.convert.reading import Command, ShellReading, Statement, once
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Place

_EVALUATES = re.compile(r"eval\s+\"?\$\([^()]*\)\"?")


@once
def found(reading: ShellReading) -> tuple[Prepared, ...]:
    """Each of them, with its words."""
    return (*_by_eval(reading), *_by_files(reading))


def _by_eval(reading: ShellReading) -> Iterator[Prepared]:
    inside = _inside(reading)
    evals = {each.place: each for each in reading.of("eval")}
    statements: list[Statement | Command] = [*reading.statements, *reading.of_submitted]
    of_lines = {each.place for each in statements if each.written.startswith("eval")}
    # The line of one in the text of another shell is that of the shell.
    statements += [each for place, each in evals.items() if place not in of_lines]
    for statement in statements:
        if not statement.written.startswith("eval") or not _EVALUATES.fullmatch(statement.written):
            continue
        if statement.place in inside:
            moment, command = inside[statement.place]
            # Those around the eval itself: of a pipeline in $(...) each part has one more.
            by = evals.get(statement.place)
            around = command.shells[:-1] if by is None else by.shells
            row = (statement.place, _evaluates(command), moment, command.conditions, statement.written)
            yield Prepared(*row, around)


def _evaluates(command: Command) -> tuple[Value, ...]:
    return (("eval",), (Unknown("output", f"$({_text(command)})"),))


def _by_files(reading: ShellReading) -> Iterator[Prepared]:
    """conda shell.bash hook > FILE; source FILE"""
    files = hook_files(reading)
    for each in reading.sourced if files else ():
        if each.name in files and not (each.file or each.conditions):
            moment = source_at(each)
            yield Prepared(each.place, _evaluates(files[each.name]), moment, (), each.written, each.shells)


def writes(reading: ShellReading, place: Place) -> tuple[Place, ...]:
    """Where the file is written that such a line sources."""
    files = hook_files(reading)
    its = (each for each in reading.sourced if each.place == place and each.name in files)
    return tuple(dict.fromkeys(files[each.name].place for each in its))


def _inside(reading: ShellReading) -> dict[Place, tuple[Moment, Command]]:
    """The first of these programs in a $(...) of each line."""
    found: dict[Place, tuple[Moment, Command]] = {}
    for index, each in enumerate(reading.commands):
        if each.within and each.program in HOOKS:
            found.setdefault(each.place, (at(index), each))
    return found


def _text(command: Command) -> str:
    """The command, by the name of its program alone where nothing tells its folder."""
    first, *rest = command.words
    text = re.sub(r"^\$\{HOME\}(?=/)", "~", shown(first))  # bash knows that of a rank, too
    is_told = known(first) is not None or "$" not in text
    return " ".join([text if is_told else command.program, *map(shown, rest)])
