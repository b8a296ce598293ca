"""The nodes of a Slurm cluster, told apart by kind, and a script on one of them."""

import re
from collections.abc import Iterable

from hpclaunch.schedulers.contract import Refused, Warn
from hpclaunch.schedulers.slurm_cluster import parse_nodes
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.values.cluster import ClusterNode

_WAIT_S = 120  # for a free CPU on the node
_RUN_S = 300.0
# What keeps a node from starting anything (node states of scontrol(1)); * stands for not responding.
_AWAY = (
    "*", "DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "POWER", "REBOOT", "MAINT", "PLANNED", "UNKNOWN", "INVAL",
)  # fmt: skip


def list_nodes(commands: Commands, partition: str | None, warn: Warn) -> tuple[ClusterNode, ...]:
    """All nodes, or those of a partition; `warn` hears of those that were not understood. Raises
    SchedulerError where the controller cannot be asked, and where there is none."""
    known, unread = parse_nodes(commands.query(["scontrol", "--oneliner", "show", "nodes"]))
    for name in unread:
        warn(f"what scontrol says of {name} was not understood: it is left out")
    found = tuple(node for node in known if partition in (None, *node.partitions))
    if not found:
        raise Refused(f"Slurm has no node{f' in the partition {partition}' if partition else ''}")
    return found


def run_on(commands: Commands, node: str, script: str, partition: str | None) -> str:
    """What a POSIX sh script prints on a node. It runs as one task on one CPU, bound to nothing, and asks
    for no GPU, so that it need not wait for a free one. Raises SchedulerError where srun fails."""
    command = [
        "srun",
        f"--nodelist={node}",
        "--nodes=1",
        "--ntasks=1",
        "--time=5",
        f"--immediate={_WAIT_S}",
        "--cpu-bind=none",
        "--mem-bind=none",
        "--input=none",
        "--propagate=NONE",  # as jobs have it: else the node shows the limits of who asks
        "--chdir=/",
        "--job-name=hpclaunch-discover",
        *([f"--partition={partition}"] if partition else []),
        "/bin/sh",
        "-c",
        script,
    ]
    return commands.run(command, _RUN_S)[0]


def one_of_each(nodes: Iterable[ClusterNode]) -> dict[str, ClusterNode | None]:
    """Kind -> a node of it that a step can start on, None where there is none."""
    found: dict[str, ClusterNode | None] = {}
    for node in nodes:
        kind = _kind(node)
        if found.get(kind) is None:
            found[kind] = node if not any(word in node.state for word in _AWAY) else None
    return found


def _kind(node: ClusterNode) -> str:
    """In words, and equal for nodes that are likely the same machine model."""
    layout = f"{node.sockets}x{node.cores_per_socket}x{node.threads_per_core} sockets, cores, threads"
    return f"{layout}, Gres {node.gres or 'none'}, features {','.join(node.features) or 'none'}"


def type_name(node: ClusterNode) -> str:
    """A name for the node type, after the node without its number: dgx-a100 for dgx-004 with A100 GPUs."""
    stem = re.sub(r"[-_.]?[0-9]*$", "", node.name.partition(".")[0])
    models = [gres.type for gres in node.gpus if re.fullmatch(r"[A-Za-z][\w.-]*", gres.type)]
    return "-".join([stem or "node", *models[:1]])
