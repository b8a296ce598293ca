"""numactl, taskset and their like in front of what starts the ranks: what becomes of them."""

from collections.abc import Iterator, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.layers import MPI, PER_GPU, Layer, layers, length
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Value, base_name, shown


def say(layer: Layer, command: Command, draft: Draft) -> None:
    """What binds mpirun holds what that starts on its own machine too, as far as mpirun does not bind its
    ranks itself; what binds srun holds no rank, which slurmstepd starts."""
    what = " ".join([layer.program, *(each.written for each in layer.options), *map(shown, layer.words)])
    if any(each.program in MPI for each in layers(command.words)):
        why = "it held mpirun, and the ranks on mpirun's own machine where mpirun did not bind them otherwise"
        todo = "where ranks are to be held there write bind.cpus and bind.memory"
        draft.say("left", (command.place,), what, why=why, todo=todo)
    else:
        draft.say("without effect", (command.place,), what, why="it held srun itself, and no rank")


def apart(its: Sequence[Layer]) -> tuple[list[Layer], list[Layer]]:
    """Those of the layers that bind mpirun, and those that bind the ranks: what binds a launcher for each GPU
    holds its processes, which bind nothing themselves."""
    last = max((index for index, each in enumerate(its) if each.program in MPI), default=-1)
    binders = [(index, each) for index, each in enumerate(its) if each.program in BINDERS]
    return [each for index, each in binders if index < last], [
        each for index, each in binders if index > last
    ]


def words(command: Command, its: Sequence[Layer], kept: Sequence[Layer]) -> Iterator[Value]:
    """The words of those that the ranks keep, and that stand before a launcher for each GPU."""
    launcher = next((index for index, each in enumerate(its) if each.program in PER_GPU), 0)
    for layer in its[:launcher]:
        names = (index for index, word in enumerate(command.words) if base_name(word) == layer.program)
        start = next(names, None) if layer in kept else None
        count = length(command.words[start:]) if start is not None else None
        if start is not None and count:
            yield from command.words[start : start + count]
