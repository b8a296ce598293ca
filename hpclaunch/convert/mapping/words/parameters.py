"""Words of the run's command that are made where the script runs -> variables of the job, asked for by name.
The rest of the command is told, and stays."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.words.lines import uses_of
from hpclaunch.convert.mapping.words.made import alternatives, in_doubt
from hpclaunch.convert.mapping.words.renewed import whole
from hpclaunch.convert.mapping.words.texts import line
from hpclaunch.convert.reading import Assigned, Command, ShellReading
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.readback.shell.values import Part, Unknown, Value, known, shown
from hpclaunch.values.conversion import Place

_MOST = 6  # of a command with more nothing is told
_MADE = ("output", "number", "either")
_LONGEST = 80  # characters of a name with what stands behind it
_IN_FRONT = re.compile(r"([A-Za-z_][\w-]*)[\s=:\"']*$")
# What they write is for another shell, and no word.
_OF_SHELL = re.compile(r"(?:\$\(|`)\s*(?:declare|typeset|alias|compgen|set|export)\b")
_PROGRAM = re.compile(r"(?:\$\(|`)\s*(?:\S*/)?([A-Za-z_][\w-]*)")


class Parameter(Struct, frozen=True):
    """A variable of the job for what no line tells; `stands_for` is that as the script has it."""

    name: str
    stands_for: str
    question: str
    places: tuple[Place, ...]


def named(
    reading: ShellReading, run: Command, words: Sequence[Value], stand_ins: Mapping[str, str]
) -> tuple[list[Value], list[Parameter]] | None:
    """The words with a variable for each part of them that no line tells, and these variables. None where one
    is of another kind: the program itself, several words of an array, something that each round of a loop has
    for itself, or a secret."""
    missing = dict.fromkeys(
        part
        for word in words
        if line([("true",), word], stand_ins).doubt
        for part in word
        if line([("true",), (part,)], stand_ins).doubt and isinstance(part, Unknown)
    )
    if not words or known(words[0][:1]) is None or run.loops or len(missing) > _MOST or reading.of_points:
        return None
    found: dict[Part, Parameter] = {}
    names = _Names(reading, run)
    for part in missing:
        each = _parameter(reading, run, part, names)
        if each is None:
            return None
        found[part] = each
    if any(is_secret(name) for name in _beside(words, found)):
        return None
    replaced = [tuple(_variable(part, found) for part in word) for word in words]
    return replaced, list(found.values())


def _variable(part: Part, found: Mapping[Part, Parameter]) -> Part:
    each = found.get(part)
    return (
        part if each is None or not isinstance(part, Unknown) else Unknown("variable", each.name, part.splits)
    )


def _parameter(reading: ShellReading, run: Command, part: Unknown, names: "_Names") -> Parameter | None:
    """The variable for a part, None where it cannot have one."""
    if part.kind not in _MADE or not part.name or _OF_SHELL.match(part.name):
        return None
    if part.kind == "either":
        given = reading.given(part.name)
        is_one_word = all(each.array is None and not each.loops for each in given)
        if not is_one_word or part.name not in in_doubt(reading, [(part,)]):
            return None
        name, question = part.name, alternatives(reading, part.name)
        places = tuple(dict.fromkeys(each.place for each in given)) or (run.place,)
    else:
        made = names.of(part)
        name = made.name if made is not None else names.new(part)
        places = (run.place,) if made is None else (made.place,)
        question = (
            f"the value of {name}, which the command names: {part.name} is known only where the script runs"
        )
    return None if is_secret(name) else Parameter(name, shown((part,)), question, places)


def ask(parameters: Sequence[Parameter], draft: Draft, todo: Mapping[str, str]) -> set[str]:
    """Ask for these variables of the job, but for those that it has already, or that trials set. `todo` is
    what to do about some of them. Returns their names."""
    seed = draft.facts.get(("trials", "seed"))
    for each in parameters:
        if ("env", each.name) not in draft.facts and (seed is None or seed.value != each.name):
            draft.unsay(("env", each.name))
            what = todo.get(each.name, "")
            draft.ask(("env", each.name), each.question, each.places, each.stands_for, todo=what)
    return {each.name for each in parameters}


class _Names:
    """The names of the variables: those of the script's own that have the value, else one by the program that
    writes it."""

    def __init__(self, reading: ShellReading, run: Command):
        self._own = {
            whole(each.value[0]): each
            for name in uses_of(reading, run)
            if (each := reading.at(name, run.place)) is not None and len(each.value) == 1 and not each.array
        }
        self._taken = {*reading.wanted, *(each.name for each in reading.assigned)}

    def of(self, part: Part) -> Assigned | None:
        """The variable of the script that has the value."""
        return self._own.get(whole(part))

    def new(self, part: Unknown) -> str:
        """A name that the script has not."""
        program = _PROGRAM.match(part.name)
        base = f"{program[1].replace('-', '_').upper()}_OUTPUT" if program else "NUMBER"
        name = next(name for name in _numbered(base) if name not in self._taken)
        self._taken.add(name)
        return name


def _numbered(base: str) -> Iterator[str]:
    yield base
    yield from (f"{base}_{number}" for number in count(2))


def _beside(words: Sequence[Value], found: Mapping[Part, Parameter]) -> Iterator[str]:
    """The names that stand in front of these parts (--token X, API_KEY=X), as those of variables."""
    before = ""
    for word in words:
        before += " "
        for part in word:
            name = _IN_FRONT.search(before[-_LONGEST:]) if part in found else None
            if name:
                yield name[1].replace("-", "_")
            before += part if isinstance(part, str) else "?"
