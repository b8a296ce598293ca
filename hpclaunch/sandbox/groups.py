"""The nodes of a sandbox, in groups of one node type each."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from hpclaunch.cluster.slurmnode import SlurmNode, slurm_node
from hpclaunch.sandbox import machines, pcitree
from hpclaunch.sandbox.hwloc import hwloc_synthetic
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.search import is_path
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.errors import InputError, Problem

_WANTED = re.compile(r"(?P<type>.+?)(?:@(?P<variant>[\w][\w.-]*))?(?::(?P<nodes>\d+))?", re.ASCII)
MOST_NODES = 64


class Wanted(Struct, frozen=True):
    """Nodes that are asked for: a node type by name or file, the numbering of its HCAs (None: its default),
    and how many."""

    type: str
    variant: str | None
    nodes: int


class Group(Struct, frozen=True):
    """Nodes of one type, which `node_type` names in the site file. `first` is the number of the first host;
    those above `nodes`, up to `declared`, have no slurmd. `hwloc` is the machine as $HWLOC_SYNTHETIC has it,
    `tree` its /sys, /proc and /dev."""

    node_type: str
    variant: str | None
    machine: SlurmNode
    hwloc: str
    tree: pcitree.Tree
    first: int
    nodes: int
    declared: int
    made_up_gpus: bool

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that have a slurmd."""
        return tuple(f"{self._prefix}{index}" for index in range(self.first, self.first + self.nodes))

    @property
    def declared_hosts(self) -> str:
        """All hosts, as a list of Slurm's."""
        return self._range(self.first, self.declared)

    @property
    def hosts_without_daemon(self) -> str:
        """The declared hosts that have no slurmd, "" where all have."""
        return self._range(self.first + self.nodes, self.declared - self.nodes)

    @property
    def _prefix(self) -> str:
        return self.machine.name.partition("-")[0] or "node"

    def _range(self, first: int, count: int) -> str:
        return f"{self._prefix}[{format_list(range(first, first + count))}]" if count > 0 else ""


def parse(text: str, nodes: int) -> Wanted:
    """TYPE[@VARIANT][:NODES], where TYPE is a name or a file; `nodes` is how many where it does not say. A
    file's own name may have these signs. Raises InputError."""
    match = _WANTED.fullmatch(text)
    if Path(text).exists() or match is None:
        return Wanted(text, None, nodes)
    number = int(match["nodes"] or nodes)
    if not 1 <= number <= MOST_NODES:
        raise InputError(f"{text}: a sandbox has 1 to {MOST_NODES} nodes of a type, not {number}")
    without = text.rpartition(":")[0] if match["nodes"] else text
    if Path(without).exists():
        return Wanted(without, None, number)
    return Wanted(match["type"], match["variant"], number)


def add(made: Sequence[Group], wanted: Wanted, node_type: NodeType, declared: int) -> list[Group]:
    """The groups with one more, whose hosts are numbered on. `declared` is how many nodes of the only type
    the controller knows. Raises InputError for a machine that Slurm or hwloc cannot be told of, for a variant
    that the type does not have, and for `declared` with several types."""
    if declared and made:
        raise InputError("--declared goes with one node type, since the further nodes are all of it")
    machine = slurm_node(node_type)
    told = {group.node for group in machine.numa}
    for numa in node_type.numa:
        if numa.node not in told:
            message = f"{node_type.name}: NUMA node {numa.node} has no CPUs, and a sandbox has no such nodes"
            raise InputError([Problem(message, "node type", ("numa",))])
    complete = pcitree.with_addresses(node_type)
    group = Group(
        node_type=os.path.abspath(wanted.type) if is_path(wanted.type) else wanted.type,
        variant=wanted.variant,
        machine=machine,
        hwloc=hwloc_synthetic(machine),
        tree=machines.tree(complete, wanted.variant),
        first=made[-1].first + made[-1].declared if made else 1,
        nodes=wanted.nodes,
        declared=max(wanted.nodes, declared),
        made_up_gpus=complete is not node_type,
    )
    return [*made, group]
