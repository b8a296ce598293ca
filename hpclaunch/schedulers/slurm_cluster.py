"""What a running Slurm says of itself: scontrol, srun, sacctmgr.

Text and not JSON, which `scontrol` has from 23.02 on alone. With --oneliner a record is a line of KEY=value,
where the value of a few keys (OS, Reason, Comment) may have blanks in it; those that are read here stand
before them and have none (src/scontrol, src/api/node_info.c and partition_info.c, tags 20.11 to 26.05).
"""

import os
import re
from collections.abc import Iterator

from hpclaunch.schedulers.environment import closed
from hpclaunch.schedulers.slurm import QUERY_S, Slurm
from hpclaunch.values.cluster import Cluster, ClusterNode, Gres, Partition
from hpclaunch.values.errors import SchedulerError

Record = dict[str, str]

_PAIR = re.compile(r"(?:^|\s)([A-Za-z][\w:/]*)=(\S*)")
_CONFIG = re.compile(r"([A-Za-z][\w/]*)\s*= ?(.*)")
_OPTION = re.compile(r"--[a-z][a-z0-9-]+")
_GPU = re.compile(r"gpu(?::([^:,()]+))?:([0-9]+)([KMG]?)$")
_MPI_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NOTHING = ("", "(null)", "N/A")
_KILO = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


class ClusterReader(Slurm):
    """Asks the cluster of `slurm_conf`, or of this machine's own configuration. Hidden partitions
    are told with --all alone."""

    def read(self) -> Cluster:
        """All that there is to say. Raises SchedulerError where the controller cannot be asked."""
        config = parse_config(self._query(["scontrol", "show", "config"]))
        show = ["scontrol", "--all", "--oneliner", "show"]
        nodes, bad_nodes = parse_nodes(self._query([*show, "nodes"]))
        accounts = None
        if not config.get("accountingstoragetype", "(null)").endswith(("none", "(null)")):
            accounts = self._try(["sacctmgr", "-nP", "show", "account", "format=account"])
        mpi = self._try(["srun", "--mpi=list"])
        options = self._try(["srun", "--help"])
        return Cluster(
            config=config,
            nodes=nodes,
            partitions=parse_partitions(
                self._query(["scontrol", "--all", "--oneliner", "show", "partitions"])
            ),
            leaves=parse_leaves(self._try([*show, "topology"]) or ""),
            mpi=None if mpi is None else parse_mpi(mpi),
            srun_options=None if options is None else frozenset(_OPTION.findall(options)),
            accounts=None if accounts is None else tuple(accounts.split()),
            unread=bad_nodes,
        )

    def _try(self, command: list[str]) -> str | None:
        """The output, None where the command failed: it is not there, or this cluster has nothing to say."""
        try:
            out, err = self._run(command, closed(os.environ, {}, self.slurm_conf), QUERY_S)
        except SchedulerError:
            return None
        return out + err  # srun of 20.11 lists its MPI plugins on standard error


def parse_config(text: str) -> dict[str, str]:
    """`scontrol show config`: keys in small letters, also those of cgroup.conf and mpi.conf after it."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _CONFIG.fullmatch(line.strip())
        if match:
            found.setdefault(match[1].lower(), match[2].strip())
    return found


def parse_nodes(text: str) -> tuple[tuple[ClusterNode, ...], tuple[str, ...]]:
    """`scontrol --oneliner show nodes`: the nodes, and the names of those that were not understood."""
    nodes: list[ClusterNode] = []
    unread: list[str] = []
    for record in _records(text, "NodeName"):
        try:
            nodes.append(
                ClusterNode(
                    name=record["NodeName"],
                    sockets=int(record["Sockets"]),
                    cores_per_socket=int(record["CoresPerSocket"]),
                    threads_per_core=int(record["ThreadsPerCore"]),
                    memory_mib=int(record["RealMemory"]),
                    gpus=parse_gres(record.get("Gres", "")),
                    partitions=_list(record.get("Partitions", "")),
                )
            )
        except (KeyError, ValueError):
            unread.append(record["NodeName"])
    return tuple(nodes), tuple(unread)


def parse_gres(text: str) -> tuple[Gres, ...]:
    """The GPUs in a Gres= of a node: "gpu:a100:8(S:0-1)", "gpu:1g.5gb:42(S:0,1),shard:8"."""
    bare = re.sub(r"\([^)]*\)", "", text)
    found: dict[str, int] = {}
    for part in bare.split(","):
        match = _GPU.match(part)
        if match:
            kind = match[1] or ""
            found[kind] = found.get(kind, 0) + int(match[2]) * _KILO[match[3]]
    return tuple(Gres(kind, count) for kind, count in found.items() if count)


def parse_partitions(text: str) -> tuple[Partition, ...]:
    """`scontrol --oneliner show partitions`."""
    return tuple(
        Partition(
            name=record["PartitionName"],
            nodes="" if record.get("Nodes", "") in _NOTHING else record["Nodes"],
            default=record.get("Default") == "YES",
            accounts=() if record.get("AllowAccounts", "ALL") == "ALL" else _list(record["AllowAccounts"]),
            oversubscribe=record.get("OverSubscribe", "NO"),
            state=record.get("State", ""),
        )
        for record in _records(text, "PartitionName")
    )


def parse_leaves(text: str) -> tuple[str, ...]:
    """The hosts of each leaf switch or block in `scontrol --oneliner show topology`."""
    switches = [record for record in _records(text, "SwitchName") if record.get("Level", "0") == "0"]
    blocks = list(_records(text, "BlockName"))
    return tuple(record["Nodes"] for record in switches or blocks if record.get("Nodes"))


def parse_mpi(text: str) -> tuple[str, ...]:
    """The plugins of `srun --mpi=list`: one a line, and the versions of PMIx on a line of their own."""
    found: list[str] = []
    for line in text.splitlines():
        head, _, rest = line.rpartition(":")
        words = rest.split(",") if "specific pmix" in head else [rest]
        found += [word.strip() for word in words if _MPI_NAME.fullmatch(word.strip())]
    return tuple(dict.fromkeys(found))


def _records(text: str, first: str) -> Iterator[Record]:
    for line in text.splitlines():
        record: Record = {}
        for key, value in _PAIR.findall(line):
            record.setdefault(key, value)  # a Comment at the end may look like one more key
        if record.get(first) not in (None, *_NOTHING):
            yield record


def _list(text: str) -> tuple[str, ...]:
    return () if text in _NOTHING else tuple(part for part in text.split(",") if part)
