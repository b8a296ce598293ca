"""What binds a rank where commands are evaluated: the words of a launcher's command, a text for a shell in
them, or a script that each rank runs, as the rank of a number on its node does them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from os.path import basename

from msgspec import Struct, structs

from hpclaunch.convert.mapping.ranks import numbers
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command, Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import Value, known, known_parts, program_of
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

# The variables that tell a rank its number on its node: Slurm's, PyTorch's, and those of mpirun.
LOCAL_RANK = ("SLURM_LOCALID", "LOCAL_RANK", *numbers.LOCAL_RANK)


class Binder(Struct, frozen=True):
    """One program that binds. `written` is its text and what follows; `conditions` those on which it runs."""

    layer: Layer
    place: Place
    written: str
    conditions: tuple[str, ...]

    @property
    def said(self) -> str:
        """The program and its options as this rank has them."""
        words = (known(word) or "" for word in self.layer.words)
        return " ".join((self.layer.program, *(each.written for each in self.layer.options), *words)).strip()


def in_command(command: Command, local: str | None = None) -> Iterator[Binder]:
    """Those in front of what the command starts, and in a text that it gives a shell. `local` is the rank's
    number on its node, None where it is not asked for."""
    *before, last = layers(command.words)
    yield from (_binder(layer, command) for layer in before if layer.program in BINDERS)
    if is_of_shell(last):
        given = () if local is None else tuple((name, (local,)) for name in LOCAL_RANK)
        inside = structs.replace(command, environment=(*command.environment, *given))
        for each in walk.inner(inside, last.words):
            yield from (_binder(layer, each) for layer in layers(each.words)[:-1] if layer.program in BINDERS)


def is_of_shell(inner: Layer) -> bool:
    """Whether the words are those of a shell with a text that may bind: a text costs a walk of its own, and
    most have none."""
    return program_of(inner.words) in SHELLS and any(map(_names_one, inner.words))


def in_script(source: Source, environment: Mapping[str, str], local: str) -> list[Binder]:
    """Those of a script that each rank runs, nothing of one that no shell would take."""
    environment = {**environment, **dict.fromkeys(LOCAL_RANK, local)}
    with suppress(ScriptError, InputError):
        commands = walk.read((source,), environment, source.name).commands
        return [each for command in commands for each in in_command(command, local)]
    return []


def may_bind(source: Source, environment: Mapping[str, str]) -> bool:
    """Whether the script, or a variable that it is given, names a program that binds at all."""
    return any(name in text for name in BINDERS for text in (source.text, *environment.values()))


def environment_of(command: Command, nodes: int | None, per_node: int | None) -> dict[str, str]:
    """What is known of the environment of the command's ranks."""
    given = (*command.environment, *command.prefix)
    found = {name: text for name, value in given if (text := known(value)) is not None}
    if nodes is not None:
        found |= {"SLURM_NNODES": str(nodes), "SLURM_JOB_NUM_NODES": str(nodes)}
    if nodes is not None and per_node is not None:
        found |= {"SLURM_NTASKS": str(nodes * per_node), "SLURM_NPROCS": str(nodes * per_node)}
    return found


def tables_of(binders: Collection[Binder], files: Sequence[Source]) -> list[Source]:
    """The files whose arrays bind.sh and bindpcie take."""
    options = (each.layer.option(name) for each in binders for name in ("cpu", "mem"))
    named = {basename(known(option.value or ()) or "") for option in options if option is not None}
    return [file for file in files if basename(file.name) in named]


def _names_one(word: Value) -> bool:
    text = known_parts(word)
    return "$" in text or any(name in text for name in BINDERS)


def _binder(layer: Layer, command: Command) -> Binder:
    written = command.written[max(command.written.find(layer.program), 0) :]
    return Binder(layer, command.place, " ".join(written.split()), command.conditions)
