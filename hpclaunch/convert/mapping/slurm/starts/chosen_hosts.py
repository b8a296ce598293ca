"""The hosts of an allocation that mpirun is told to take, by -H or a list of them: its ranks are on no others
(mpirun(1) of Open MPI, "Specifying Host Nodes")."""

import re
from collections.abc import Iterator

from msgspec import Struct

from hpclaunch.convert.mapping.ranks.rendezvous import is_first_node
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Place

# What leaves some of the hosts out. head -c cuts the last comma off, and sed without -n changes each line.
_SOME = re.compile(
    r"\b(?:head|tail)\b(?! +-c)|\bsed\b[^|]* -n|\bsed +['\"]?(?:\d+|\$)[\d,$]*[dq]|\bNR\b|\be?grep\b"
    r"|\bshuf\b|\bcut\b[^|]* -d *['\"]?,|\$\{[\w@*\[\]]+: *\d|[%#],\*|%%?,[^}]|[%#]\*,"
)
_ALL = re.compile(r"\bscontrol show hostnames?\b|\bSLURM_(?:JOB_)?NODELIST\b|\bhostname\b|\bnodeset -e")
_OF_STEP = re.compile(r"\bsrun\b[^|)]* (?:-[Nn]|--nodes|--ntasks)[ =]*(\d+)")
_ITSELF = re.compile(r"localhost|127(?:\.\d+){3}|::1")
_CHANGED = re.compile(r"\$\{([A-Za-z_]\w*)[%#/]")
_OF_ONE = frozenset(("variable", "argument", "either"))
_MOST = 10_000


class Chosen(Struct, frozen=True):
    """`count` hosts, None where it is not told how many of the job's they are, with so many `slots` each,
    None where no word says it."""

    option: Option
    places: tuple[Place, ...]
    count: int | None
    slots: int | None = None


def of(reading: ShellReading, command: Command, layer: Layer, nodes: int, *, of_all: bool) -> Chosen | None:
    """Those of an mpirun in a job with so many nodes; None where it is told of none, or of all. `of_all`: it
    starts as many ranks as the job has tasks, for which a list that is not told has to have all."""
    for option in layer.all("host"):
        hosts = [each for each in split(option.value or (), ",") if each][:_MOST]
        places = lines_of(reading, command, option)
        names = [_name(reading, each, several=len(hosts) > 1) for each in hosts]
        if names and all(names):
            slots = {_slots(each) for each in hosts}
            only = slots.pop() if len(slots) == 1 else None
            return Chosen(option, places, len(set(names)), only) if len(set(names)) <= nodes else None
        text = _with_variables(reading, shown(option.value or ()))
        if _leaves_out(text, nodes) or not (of_all or _ALL.search(text)):
            return Chosen(option, places, None)
    file = layer.option("hostfile")
    for writer in _writers(reading, command, file.value or ()) if file is not None else ():
        if file is not None and _leaves_out(writer.written, nodes):
            return Chosen(file, (*lines_of(reading, command, file), writer.place), None)
    return None


def are_this_one(hosts: Value) -> bool:
    """Whether each of them is the host itself, with whatever slots."""
    names = [shown(each).partition(":")[0] for each in split(hosts, ",") if each]
    return bool(names) and all(_ITSELF.fullmatch(each) for each in names)


def _with_variables(reading: ShellReading, text: str) -> str:
    """The text, and what its variables had: ${HOSTS%,} tells their name alone."""
    values = (reading.last(name) for name in dict.fromkeys(_CHANGED.findall(text[:_MOST])))
    return " ".join([text, *(shown(each.value)[:_MOST] for each in values if each is not None)])


def _name(reading: ShellReading, host: Value, *, several: bool) -> str:
    """The name of a host without its slots, "" where the word may name others too."""
    text = shown(host)
    name = text.rpartition(":")[0] if _slots(host) is not None or text.endswith(":*") else text
    if known(host) is not None:
        return "localhost" if _ITSELF.fullmatch(name) else name
    part = host[0]
    if isinstance(part, Unknown) and len(host) < 3 and is_first_node(reading, part):
        return "localhost"
    kinds = {each.kind for each in host if isinstance(each, Unknown)}
    # Of ${HOSTS[1]} the value keeps the array's name alone: each is a host of its own.
    return f"{name} {id(host)}" if several and kinds <= _OF_ONE else ""


def _slots(host: Value) -> int | None:
    last = host[-1] if host and isinstance(host[-1], str) else ""
    number = last.rpartition(":")[2] if ":" in last else ""
    return int(number) if number.isdecimal() and 0 < len(number) < 5 and int(number) else None


def _leaves_out(text: str, nodes: int) -> bool:
    if len(text) > _MOST:
        return False
    of_step = _OF_STEP.search(text)
    return bool(_SOME.search(text)) or (of_step is not None and int(of_step[1]) < nodes)


def _writers(reading: ShellReading, run: Command, file: Value) -> Iterator[Command]:
    """The commands that write a file before the run, with those in front of each in its pipeline."""
    for index, each in enumerate(reading.commands):
        if each is run:
            return
        if any(output.path == file for output in each.writes):
            yield from reading.commands[max(0, index - each.pipeline[0]) : index + 1]
