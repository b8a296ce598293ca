"""The nodes of a Slurm cluster, told apart by kind, and a command on one of them.

`scontrol --oneliner show nodes` prints a node per line as KEY=VALUE words (`slurm_sprint_node_table` of
src/api/node_info.c, the same keys from 20.11 to 26.05).
"""

import os
import re
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.environment import closed
from hpclaunch.schedulers.slurm import Slurm

_WAIT_S = 120  # for a free CPU on the node
_RUN_S = 300.0
# What keeps a node from starting anything (node states of scontrol(1)).
_AWAY = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "POWER", "REBOOT", "MAINT", "PLANNED", "UNKNOWN", "INVAL")


class SlurmNode(Struct, frozen=True):
    """A node as the controller knows it. `gres` is without the sockets that Slurm adds, "(S:0-1)"."""

    name: str
    state: str
    partitions: tuple[str, ...]
    layout: str
    gres: str
    features: str

    @property
    def kind(self) -> str:
        """Equal for nodes that are likely the same machine model."""
        return f"{self.layout}, Gres {self.gres}, features {self.features}"

    @property
    def ready(self) -> bool:
        """Whether a step can start on it."""
        return not any(word in self.state for word in _AWAY) and "*" not in self.state


def parse_nodes(text: str) -> tuple[SlurmNode, ...]:
    """The nodes in the output of `scontrol --oneliner show nodes`. Other lines are passed over."""
    found = []
    for line in text.splitlines():
        words: dict[str, str] = dict(re.findall(r"(?:^| )([A-Za-z]+)=(\S*)", line))
        if "NodeName" not in words:
            continue
        gres = re.sub(r"\([^)]*\)", "", words.get("Gres", ""))
        keys = ("Sockets", "CoresPerSocket", "ThreadsPerCore")
        layout = "x".join(words.get(key, "?") for key in keys)
        found.append(
            SlurmNode(
                name=words["NodeName"],
                state=words.get("State", "UNKNOWN"),
                partitions=tuple(words.get("Partitions", "").split(",")),
                layout=f"{layout} sockets, cores, threads",
                gres=gres if gres not in ("", "(null)") else "none",
                features=words.get("ActiveFeatures") or words.get("AvailableFeatures") or "(null)",
            )
        )
    return tuple(found)


def one_of_each(found: Sequence[SlurmNode]) -> dict[str, SlurmNode | None]:
    """Kind -> a node of it that is ready, None where none is."""
    kinds: dict[str, SlurmNode | None] = {}
    for node in found:
        if kinds.get(node.kind) is None:
            kinds[node.kind] = node if node.ready else None
    return kinds


class NodeRunner(Slurm):
    """The nodes of the cluster of `slurm_conf`, and a script on one of them."""

    def nodes(self, partition: str | None) -> tuple[SlurmNode, ...]:
        """All nodes, or those of a partition. Raises SchedulerError where the controller cannot be asked,
        and where there is none."""
        text = self._query(["scontrol", "--oneliner", "show", "nodes"])
        found = tuple(node for node in parse_nodes(text) if partition in (None, *node.partitions))
        if not found:
            raise Refused(f"Slurm has no node{f' in the partition {partition}' if partition else ''}")
        return found

    def run(self, node: str, script: str, partition: str | None) -> str:
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
            "--chdir=/",
            "--job-name=hpclaunch-discover",
            *([f"--partition={partition}"] if partition else []),
            "/bin/sh",
            "-c",
            script,
        ]
        return self._run(command, closed(os.environ, {}, self.slurm_conf), _RUN_S)[0]
