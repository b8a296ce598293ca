"""`$COMMAND IMAGE ...` where the variable is a docker run, to which the script adds on conditions."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.words.made import shown_condition
from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import DOCKERS
from hpclaunch.convert.reading import Assigned, Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, base_name, shown
from hpclaunch.values.conversion import Place

_MOST = 50  # values of one variable
_TODO = "where it was there, write what it does in the job file"


class _Added(Struct, frozen=True):
    """Words that the variable is given on a condition."""

    words: tuple[Value, ...]
    place: Place
    condition: str


def settled(reading: ShellReading, draft: Draft) -> ShellReading:
    """The reading with the words of such a variable that are there for certain in its place; of the others it
    is said that nothing tells whether they are there."""
    commands: list[Command] = []
    said: set[Place] = set()
    found: dict[tuple[str, int], tuple[tuple[Value, ...], list[_Added]] | None] = {}
    for number, command in enumerate(reading.commands):
        name = _grown(command.words)
        given = reading.given(name)[: _MOST + 1] if name else ()
        count = sum(each.behind[0] <= number for each in given)  # they are in their order
        if (name, count) not in found:
            found[name, count] = _made(given[:count], name)
        made = found[name, count]
        for each in made[1] if made else ():
            if each.place not in said:
                _say(each, draft)
            said.add(each.place)
        commands.append(structs.replace(command, words=(*made[0], *command.words[1:])) if made else command)
    return structs.replace(reading, commands=tuple(commands)) if said else reading


def _grown(words: Sequence[Value]) -> str:
    """The variable that begins a command, and may be several words."""
    part = words[0][0] if words and len(words[0]) == 1 else ""
    is_one = isinstance(part, Unknown) and part.kind == "either" and part.splits
    return part.name if isinstance(part, Unknown) and is_one and part.name.isidentifier() else ""


def _made(given: Sequence[Assigned], name: str) -> tuple[tuple[Value, ...], list[_Added]] | None:
    """The words of a docker command that are there for certain, and those on a condition; None where it is
    anything else."""
    own: Value = (Unknown("either", name),)
    certain: list[Value] = []
    added: list[_Added] = []
    before: Value = ()
    if len(given) > _MOST:
        return None
    for each in given:
        rest = _behind(each, before, own)
        if each.array is not None or each.loops or rest is None:
            return None
        if each.conditions and before:
            added.append(_Added(tuple(_words(rest)), each.place, each.conditions[-1]))
        elif each.value[:1] == own:
            break  # what stands behind it is in the command itself
        elif each.conditions or added:
            return None
        else:
            certain += _words(rest)
        before = each.value
    if not added or not certain or base_name(certain[0]) not in DOCKERS:
        return None
    its = layers(tuple(certain))
    return (tuple(certain), added) if any(layer.program == "docker run" for layer in its) else None


def _behind(each: Assigned, before: Value, own: Value) -> Value | None:
    """What is new in a value, None where it is not words behind those of the one before."""
    if not before:
        return each.value
    if each.value[:1] == own:
        rest = each.value[1:]
    else:
        last, at = before[-1], len(before) - 1
        its = each.value[at] if len(each.value) > at and each.value[:at] == before[:at] else ""
        if its == last:
            rest = each.value[at + 1 :]
        elif isinstance(last, str) and isinstance(its, str) and its.startswith(last):
            rest = (its[len(last) :], *each.value[at + 1 :])
        else:
            return None
    begins = rest[0] if rest and isinstance(rest[0], str) else ""
    ends = before[-1] if isinstance(before[-1], str) else ""
    return rest if begins[:1].isspace() or ends[-1:].isspace() or not rest else None


def _words(value: Value) -> Iterator[Value]:
    blanks = str.maketrans("\t\n", "  ")
    plain = tuple(part.translate(blanks) if isinstance(part, str) else part for part in value)
    return (word for word in split(plain, " ") if word)


def _say(each: _Added, draft: Draft) -> None:
    what = " ".join(map(shown, each.words))
    why = f"whether it is there hangs on {shown_condition(each.condition)}, which is not told"
    draft.say("question", (each.place,), what, why=why, todo=_TODO)
