"""A first site file, from what a running cluster says of itself."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import yaml
from msgspec import Struct

from hpclaunch.capability.tables import pyxis_since, version
from hpclaunch.cluster.drift import topology_of
from hpclaunch.cluster.driftnodes import is_like, layout, powered_down
from hpclaunch.cluster.slurmnode import slurm_node
from hpclaunch.spec import hosts
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.values.cluster import Cluster, ClusterNode, Partition
from hpclaunch.values.errors import InputError


class FirstSite(Struct, frozen=True):
    """The file's text, and how many groups of nodes it has under node_types: others are comments in it."""

    text: str
    groups: int


def first_site(
    name: str, cluster: Cluster, machines: Mapping[str, NodeType], slurm_conf: str | None
) -> FirstSite:
    """The site file `name` of the cluster. Nodes are matched to the node types in `machines` by sockets,
    cores, threads, GPUs and MIG slices. What matches none, or several, stands in a comment that says what to
    do. `slurm_conf` is the cluster's slurm.conf where it is not the default."""
    partition = next((each for each in cluster.partitions if each.default), None)
    if partition is None and len(cluster.partitions) == 1:
        partition = cluster.partitions[0]
    nodes = [node for node in cluster.nodes if partition is None or partition.name in node.partitions]
    groups: list[str] = []
    comments: list[str] = []
    for shape, alike in groupby(sorted(nodes, key=layout), key=layout):
        found = tuple(alike)
        line, remarks = _group(shape, found, machines)
        groups += [line] if line else []
        comments += remarks
    asleep = powered_down(cluster)
    if asleep:
        comments.append(
            f"# {hosts.fold(sorted(asleep))}: powered down, and Slurm does not show what they are"
        )
    lines = [
        f"# Written by `hpclaunch site init` from the cluster {cluster.config.get('clustername', '')}.",
        "# `hpclaunch site check` compares the two.",
        "version: 1",
        _entry("name", name),
        "scheduler: slurm",
        "node_types:" if groups else "node_types: []",
        *(f"  {line}" for line in (*groups, *comments)),
        *_container(cluster),
        *_slurm(cluster, partition, slurm_conf),
        *_fabric(cluster),
        "# What no command tells: the interface for sockets, and the names of volumes.",
        "# network: {socket_ifname: ib0}",
        "# volumes: {scratch: {path: /scratch}}",
    ]
    return FirstSite("".join(f"{line}\n" for line in lines), len(groups))


def _group(
    shape: str, nodes: Sequence[ClusterNode], machines: Mapping[str, NodeType]
) -> tuple[str, list[str]]:
    """The entry of nodes that are alike, or "", and comments."""
    names = hosts.fold([node.name for node in nodes])
    fitting = [(kind, mig) for kind, machine in machines.items() for mig in _fit(nodes[0], machine)]
    if len(fitting) == 1:
        kind, mig = fitting[0]
        entry: dict[str, object] = {"type": kind, "hosts": names}
        return f"- {_flow({**entry, 'mig': mig} if mig else entry)}", []
    remarks = [f"# {names}: {shape}."]
    if fitting:
        kinds = ", ".join(kind for kind, _ in fitting)
        remarks.append(f"# These node types are like that; take the right one: {kinds}")
    else:
        one = nodes[0].name
        remarks.append("# No node type is like that. Make one of a node, and name its file here:")
        remarks.append("#   hpclaunch topo discover --script >capture.sh")
        remarks.append(f"#   srun --exclusive --nodelist={one} sh capture.sh >{one}.txt")
        remarks.append(f"#   hpclaunch topo discover {one}.txt -o /path/of/TYPE.yaml")
    kind = fitting[0][0] if fitting else "/path/of/TYPE.yaml"
    return "", [*remarks, f"# - {_flow({'type': kind, 'hosts': names})}"]


def _fit(node: ClusterNode, machine: NodeType) -> Iterator[dict[str, int]]:
    """The MIG slices with which the node is such a machine: none, or those that Slurm gives out there."""
    slices = {gres.type: gres.count for gres in node.gpus if "g." in gres.type}
    whole = [gres for gres in node.gpus if gres.type not in slices]
    try:
        expected = slurm_node(machine, slices)
    except InputError:
        return  # it has no form in Slurm
    if is_like(expected, node) and not (slices and (whole or not machine.gpus)):
        yield slices


def _container(cluster: Cluster) -> Iterator[str]:
    if cluster.srun_options is None or "--container-image" not in cluster.srun_options:
        yield "container: none"
    else:
        yield "container: pyxis"


def _slurm(cluster: Cluster, partition: Partition | None, slurm_conf: str | None) -> Iterator[str]:
    yield "slurm:"
    parts = cluster.version.split(".")
    yield f'  version: "{".".join(parts[:2])}"'
    options = cluster.srun_options or frozenset()
    if "--container-image" in options:
        newest = max((since for name, since in pyxis_since().items() if name in options), key=version)
        yield f'  pyxis: "{newest}"   # or later: its options came with this one'
    if partition is not None:
        yield f"  {_entry('partition', partition.name)}"
        if partition.oversubscribe == "EXCLUSIVE":
            yield "  exclusive: true   # the partition gives whole nodes"
    else:
        names = ", ".join(each.name for each in cluster.partitions)
        yield f"  # No partition is the default; jobs name one, or this file does: {names}"
    plugins = _mpi(cluster.mpi or ())
    if plugins:
        yield f"  mpi_plugin: {_flow(plugins)}"
    if slurm_conf:
        yield f"  {_entry('conf', slurm_conf)}"


def _mpi(plugins: Sequence[str]) -> dict[str, str]:
    """Family -> plugin. Plain `pmix` is the newest that was built."""
    versions = sorted(
        (name for name in plugins if name.startswith("pmix_v") and name[6:].isdigit()),
        key=lambda name: int(name[6:]),
    )
    found = {}
    if "pmix" in plugins or versions:
        found["pmix"] = "pmix" if "pmix" in plugins else versions[-1]
    if "pmi2" in plugins:
        found["pmi2"] = "pmi2"
    return found


def _fabric(cluster: Cluster) -> Iterator[str]:
    plugin = topology_of(cluster)
    if plugin in ("tree", "block"):
        unit = max((hosts.count(leaf) for leaf in cluster.leaves), default=0)
        yield f"fabric: {_flow({'unit': unit, 'topology': plugin} if unit else {'topology': plugin})}"
    elif plugin != "none":
        yield f"# Slurm's topology plugin is {plugin}, which a site file has no word for."


def _entry(key: str, value: str) -> str:
    """`key: value`, quoted where YAML needs it."""
    return _flow({key: value})[1:-1]


def _flow(value: Mapping[str, object]) -> str:
    text: str = yaml.safe_dump(dict(value), default_flow_style=True, sort_keys=False, width=1_000_000)
    return text.rstrip("\n")
