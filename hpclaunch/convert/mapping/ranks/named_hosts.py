"""Variables among the hosts of mpirun -H and horovodrun -H, each of which is counted as one host."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import mpi
from hpclaunch.convert.mapping.slurm.batch.asked import number
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, shown

_ITSELF = frozenset(("HOST", "HOSTNAME"))  # the host of the shell
_MOST = 3  # that are named


def say(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """That the nodes are as many as there are words in -H $FIRST,$REST, where a variable may have a list. Not
    where other lines tell the nodes, and where the ranks come out even: -np 4, and two on each of two."""
    host, fact = layer.option("host"), draft.facts.get(("nodes",))
    nodes = mpi.nodes_of(layer)
    if host is None or fact is None or nodes != fact.value or command.place not in fact.places:
        return
    names = [shown(each) for each in split(host.value or (), ",") if _may_be_several(each)]
    if not nodes or not names or _is_even(reading, layer, nodes):
        return
    why = f"each of {' and '.join(names[:_MOST])}" if len(names) > 1 else names[0]
    why = f"{why} is taken for one host, and may be a list of several"
    todo = "where it is write `nodes` with the number of all hosts, and see `ranks_per_node`"
    places = lines_of(reading, command, host)
    draft.say("assumed", places, host.written, became=f"nodes: {nodes}", why=why, todo=todo, key="nodes")


def _may_be_several(host: Value) -> bool:
    """Whether it is a variable alone: with slots behind it, $FIRST:8, it names one host."""
    part = host[0] if len(host) == 1 else ""
    return isinstance(part, Unknown) and part.kind in ("variable", "argument") and part.name not in _ITSELF


def _is_even(reading: ShellReading, layer: Layer, nodes: int) -> bool:
    total, told = layer.option("np"), mpi.told_by(layer, lambda option: number(option.value, reading, {}))
    if total is None or told is None or not told.per_node:
        return False
    return number(total.value, reading, {}) == nodes * told.per_node
