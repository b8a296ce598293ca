"""Launchers that what each rank executes starts: srun mpirun ..., a text for a shell, or a given script,
with torchrun in it."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.bind import rank_script
from hpclaunch.convert.mapping.ranks import launchers
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.layers import MPI, Layer, layers
from hpclaunch.convert.programs.names import FOR_EACH_GPU
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import Value, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

_MAY = (
    *MPI,
    "mpiexec",
    "bind_launch",
    "torch.distributed",
    "torchrun",
    "deepspeed",
    "accelerate",
    "composer",
)

_OF_TORCHRUN = re.compile(r"--(?:nproc|nprocs)[-_]per[-_]node\b\S*(?:\s+[^\s-]\S*)?")
_OF_GPUS = re.compile(rf"(?:^|[\s;&|(/])({FOR_EACH_GPU})(?=\s|$)")
_MOST, _LONGEST = 200, 10_000  # words that are looked at, and characters of each


def say(reading: ShellReading, run: Step, found: Allocation, scripts: Sequence[Source], draft: Draft) -> None:
    """Say that the job counts, places and binds none of the processes that such a launcher starts."""
    command, starter = next(_started(reading, run, scripts), (run.command, None))
    if starter is None:
        _say_may_start(run, draft)
        return
    by = "srun" if any(layer.program == "srun" for layer in layers(run.command.words)) else "the command"
    places = tuple(dict.fromkeys((run.command.place, command.place)))
    by_torch = launchers.is_launcher(starter)
    _say_of(starter, by, places, draft)
    told = launchers.nodes_of(reading, command, starter, found.numbers) if by_torch else None
    nodes = run.ranks.nodes or found.nodes
    if told is not None and told.per_node and nodes and told.per_node != nodes:
        why = f"how many nodes: {told.what} says another number than where it is started, {nodes}"
        todo = f"correct `nodes`, or {told.what} in the command"
        draft.say("question", places, told.what, why=why, todo=todo)


def _say_may_start(run: Step, draft: Draft) -> None:
    """Say what a program may do that starts a process for each GPU by itself, or that nobody knows here and
    that has torchrun's own options."""
    if any(map(launchers.is_launcher, run.inner)):
        return
    text = " ".join(shown(word)[:_LONGEST] for word in run.words[:_MOST])
    found = _OF_TORCHRUN.search(text)
    own = _OF_GPUS.search(text) if draft.number("gpus_per_node") != 1 else None
    if own is not None:
        why = (
            "by itself it may start a process for each GPU, and the job counts, places and binds none of them"
        )
        todo = "where they are to be the job's ranks write ranks_per_node, rendezvous, and what each executes"
        draft.say("question", (run.command.place,), own[1], why=why, todo=todo)
    elif found is not None:
        why = "it has an option of torchrun: where it starts ranks of its own the job counts none of them"
        todo = "write ranks_per_node, rendezvous and a command without it, where they are to be the job's"
        draft.say("question", (run.command.place,), found[0], why=why, todo=todo)


def say_in(script: Source, by: str, place: Place, draft: Draft) -> None:
    """Say so of a script that `by` starts at a place."""
    for command, starter in _launchers(_commands(script)):
        if starter is not None:
            _say_of(starter, by, (place, command.place), draft)
            return


def say_in_words(command: Command, words: Sequence[Value], by: str, draft: Draft) -> None:
    """Say so of a text for a shell that `by` starts: `words` are its own within the command's."""
    for _, starter in _launchers(walk.inner(command, words)):
        if starter is not None:
            _say_of(starter, by, (command.place,), draft)
            return


def _say_of(starter: Layer, by: str, places: Sequence[Place], draft: Draft) -> None:
    written = " ".join([starter.called, *(each.written for each in starter.options)])
    why = (
        f"{by} starts it, and it starts ranks of its own: the job counts those of {by} alone, and hpclaunch "
        f"places and binds no process that {starter.called} starts"
    )
    keys = "ranks_per_node, rendezvous" if launchers.is_launcher(starter) else "ranks_per_node, mpi"
    todo = f"where they are to be the job's ranks write {keys}, and a command without it"
    draft.say("question", places, written, why=why, todo=todo)


def _started(
    reading: ShellReading, run: Step, scripts: Sequence[Source]
) -> Iterator[tuple[Command, Layer | None]]:
    if any(layer.program == "srun" for layer in layers(run.command.words)):
        yield from ((run.command, layer) for layer in run.inner if layer.program in MPI)
        yield from _launchers(walk.inner(run.command, run.words))
    for source in rank_script.texts(run, scripts, reading.commands):
        yield from _launchers(_commands(source))


def _launchers(commands: Sequence[Command]) -> Iterator[tuple[Command, Layer | None]]:
    for each in commands:
        for layer in layers(each.words):
            if layer.program in MPI or launchers.is_launcher(layer):
                yield each, layer


def _commands(source: Source) -> Sequence[Command]:
    if not any(name in source.text for name in _MAY):
        return ()
    try:
        return walk.read((source,), {}, source.name).commands
    except (ScriptError, InputError):
        return ()
