"""The hosts that a launcher goes to by itself: loops over them, lists of them, and how many those are."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.convert.reading import Command, Loop
from hpclaunch.convert.shell.over_nodes import NODES
from hpclaunch.readback.shell.values import Unknown, Value, known
from hpclaunch.values.conversion import Place

_WORDS = re.compile(r"\w+")
_RANGES = re.compile(r"\[([^\[\]]*)\]|\{([^{}]*)\}")
_MOST = 100_000


class Counted(Struct, frozen=True):
    """A number of nodes, the lines, and what says it."""

    count: int
    places: tuple[Place, ...]
    what: str


def loops_over(command: Command) -> list[Loop]:
    """The loops around a command that go through hosts."""
    its = layers(command.words)
    return [each for each in command.loops if _goes_over(each, command, its)]


def loops_of_trials(command: Command) -> list[Loop]:
    """The loops around a command that repeat it, and do not go through hosts."""
    its = layers(command.words)
    return [each for each in command.loops if not _goes_over(each, command, its)]


def marked(command: Command, its: Sequence[Layer]) -> Command:
    """The command of a text that another one hands to a host, its loops over hosts marked as such: `its` are
    the layers of both."""
    loops = [
        structs.replace(each, hosts=True) if _goes_over(each, command, its) else each
        for each in command.loops
    ]
    return structs.replace(command, loops=tuple(loops))


def reached(its: Sequence[Layer]) -> list[Value]:
    """The hosts that ssh goes to, or srun with -w or -r."""
    found: list[Value] = []
    for layer in its:
        if layer.program == "ssh":
            found += layer.words
        elif layer.program == "srun":
            options = (*layer.all("nodelist"), *layer.all("relative"))
            found += [each.value for each in options if each.value]
    return found


def _goes_over(loop: Loop, command: Command, its: Sequence[Layer]) -> bool:
    if loop.hosts:
        return True
    hosts = reached(its)
    if not hosts and any(layer.program == "srun" for layer in its):
        return False  # Slurm gives each step nodes, however many the loop counts or names
    if NODES.search(loop.over):
        return True
    if loop.variable and NODES.search(loop.variable):
        return bool(hosts)
    names = [part.name for host in hosts for part in host if isinstance(part, Unknown)]
    words = {word for name in names for word in _WORDS.findall(name)}
    if not words:
        return False
    if loop.variable in words or words & set(_WORDS.findall(loop.over)):
        return True
    # Of ${HOSTS[$i]} the value keeps the array's name alone.
    if not loop.variable:
        return False
    index = rf"\[[^\]]*\b{re.escape(loop.variable)}\b[^\]]*\]"
    return bool(re.search(index, command.written))


def stand_ins(command: Command) -> dict[str, str]:
    """What ranks have for the variables of loops over hosts: a loop over 0, 1, 2 counts the nodes; "" for any
    other, since a rank has none of it."""
    found = {}
    for loop in loops_over(command):
        values = [known(value) for value in loop.values]
        counts = bool(values) and values == [str(index) for index in range(len(values))]
        counts |= not values and loop.first == 0
        if loop.variable:
            found[loop.variable] = "NODE_RANK" if counts else ""
    return found


def named(commands: Sequence[tuple[Command, Sequence[Layer]]]) -> set[str]:
    """The names of hosts that commands go to, each with its layers."""
    found: set[str] = set()
    for command, its in commands:
        values = [*reached(its), *(value for loop in loops_over(command) for value in loop.values)]
        found |= {text.rpartition("@")[2] for value in values if (text := known(value))}
    return {name for name in found if re.fullmatch(r"[A-Za-z][\w.-]+|\d+(\.\d+){3}", name)}


def of_loop(loop: Loop) -> Counted | None:
    """How many hosts a loop goes through, None where that is not told."""
    if not loop.count or any(known(value) is None for value in loop.values):
        return None
    return Counted(loop.count, (loop.place,), f"a loop over {loop.over}")


def count(text: str) -> int | None:
    """The hosts of a list such as node[01-04,7],login or a:8,b:8; None for a list of another form."""
    total = 0
    for each in _parts(text):
        number = 1
        host = each.partition(":")[0]
        for found in _RANGES.finditer(host):
            inside = _inside(found[1] if found[1] is not None else found[2])
            if inside is None:
                return None
            number *= inside
        if not re.fullmatch(r"(?=.*\w)[\w.@-]+", _RANGES.sub("0", host)) or number > _MOST:
            return None
        total += number
    return total or None


def _parts(text: str) -> Iterator[str]:
    """What commas and blanks outside of brackets part."""
    return (each[0] for each in re.finditer(r"(?:\[[^\]]*\]|\{[^}]*\}|[^\s,])+", text))


def _inside(text: str) -> int | None:
    """How many 01-04,7 are, or 1..4."""
    total = 0
    for part in text.split(","):
        ends = re.fullmatch(r"(\d+)(?:(?:-|\.\.)(\d+))?", part.strip())
        if ends is None:
            return None
        total += int(ends[2]) - int(ends[1]) + 1 if ends[2] else 1
        if not 0 < total <= _MOST:
            return None
    return total
