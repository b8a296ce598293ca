"""What a running Slurm says of itself: scontrol, srun, sacctmgr.

Text and not JSON, which `scontrol` has from 23.02 on alone. With --oneliner a record is a line of KEY=value,
where the value of a few keys (OS, Reason, Comment) may have blanks in it; those that are read here stand
before them and have none (src/scontrol, src/api/node_info.c and partition_info.c, tags 20.11 to 26.05).
"""

import re
from collections.abc import Iterator

from hpclaunch.schedulers.slurm_commands import QUERY_S, Commands
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


def read_cluster(commands: Commands) -> Cluster:
    """All that the cluster says of itself, its hidden partitions too. Raises SchedulerError where the
    controller cannot be asked."""
    show = ["scontrol", "--all", "--oneliner", "show"]  # without --all hidden partitions are left out
    config = read_config(commands)
    nodes, bad_nodes = parse_nodes(commands.query([*show, "nodes"]))
    accounts = None
    if not config.get("accountingstoragetype", "(null)").endswith(("none", "(null)")):
        accounts = _said(commands, ["sacctmgr", "-nP", "show", "account", "format=account"])
    mpi = _said(commands, ["srun", "--mpi=list"])
    options = _said(commands, ["srun", "--help"])
    return Cluster(
        config=config,
        nodes=nodes,
        partitions=parse_partitions(commands.query([*show, "partitions"])),
        leaves=parse_leaves(_said(commands, [*show, "topology"]) or ""),
        mpi=None if mpi is None else parse_mpi(mpi),
        srun_options=None if options is None else frozenset(_OPTION.findall(options)),
        accounts=None if accounts is None else tuple(accounts.split()),
        unread=bad_nodes,
    )


def read_config(commands: Commands) -> dict[str, str]:
    """The controller's configuration, as `parse_config` has it. Raises SchedulerError where it cannot be
    asked."""
    return parse_config(commands.query(["scontrol", "show", "config"]))


def _said(commands: Commands, command: list[str]) -> str | None:
    """The output, None where the command failed: it is not there, or this cluster has nothing to say."""
    try:
        out, err = commands.run(command, QUERY_S)
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
                    gres=_bare(record.get("Gres", "")),
                    features=_list(record.get("ActiveFeatures", "") or record.get("AvailableFeatures", "")),
                    state=record.get("State", "UNKNOWN"),
                )
            )
        except (KeyError, ValueError):
            unread.append(record["NodeName"])
    return tuple(nodes), tuple(unread)


def parse_gres(text: str) -> tuple[Gres, ...]:
    """The GPUs in a Gres= of a node: "gpu:a100:8(S:0-1)", "gpu:1g.5gb:42(S:0,1),shard:8"."""
    found: dict[str, int] = {}
    for part in _bare(text).split(","):
        match = _GPU.match(part)
        if match:
            kind = match[1] or ""
            found[kind] = found.get(kind, 0) + int(match[2]) * _KILO[match[3]]
    return tuple(Gres(kind, count) for kind, count in found.items() if count)


def _bare(gres: str) -> str:
    """A Gres= of a node without the sockets that Slurm adds, "" for none."""
    return "" if gres in _NOTHING else re.sub(r"\([^)]*\)", "", gres)


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
