"""Where a site file and the running cluster differ. Each difference names the key of the site file."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from hpclaunch.capability.tables import pyxis_options, pyxis_since
from hpclaunch.cluster.driftnodes import node_drift, powered_down
from hpclaunch.spec import hosts, units
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site, SlurmSite
from hpclaunch.values.cluster import Cluster, Partition

# Slurm's names for having no topology plugin, by release.
NO_TOPOLOGY = ("", "none", "default", "flat", "(null)")


class Drift(Struct, frozen=True):
    """One difference: the key of the site file that it is about, and what is there and what is said."""

    key: str
    message: str


class Compared(Struct, frozen=True):
    """All differences, and in `unchecked` what could not be compared."""

    drift: tuple[Drift, ...]
    unchecked: tuple[str, ...]


def compare(site: Site, machines: Mapping[str, NodeType], cluster: Cluster) -> Compared:
    """The differences between a Slurm site and the cluster; `machines` holds the node type of each name that
    the site uses."""
    assert site.slurm is not None
    partition = partition_of(site.slurm, cluster)
    found = [
        Drift(key, message)
        for key, message in (
            *_version(site.slurm, cluster),
            *_partition(site.slurm, cluster, partition),
            *node_drift(site, machines, cluster, partition),
            *_sharing(site.slurm, cluster, partition),
            *_plugins(site, machines, cluster),
            *_mpi(site.slurm, cluster),
            *_pyxis(site, cluster),
            *_topology(site, cluster),
        )
    ]
    return Compared(tuple(found), tuple(_unchecked(site, cluster)))


def partition_of(slurm: SlurmSite, cluster: Cluster) -> Partition | None:
    """The partition that jobs go to when they name none."""
    for partition in cluster.partitions:
        if partition.name == slurm.partition or (slurm.partition is None and partition.default):
            return partition
    return None


def topology_of(cluster: Cluster) -> str:
    """The topology plugin: tree, block, none, or another one's name."""
    name = cluster.config.get("topologyplugin", "").rpartition("/")[2].lower()
    return "none" if name in NO_TOPOLOGY else name


def _version(slurm: SlurmSite, cluster: Cluster) -> Iterator[tuple[str, str]]:
    said = slurm.version.split(".")
    if cluster.version and cluster.version.split(".")[: len(said)] != said:
        yield "slurm.version", f"the site says {slurm.version}, and the controller is {cluster.version}"


def _partition(slurm: SlurmSite, cluster: Cluster, partition: Partition | None) -> Iterator[tuple[str, str]]:
    names = ", ".join(each.name for each in cluster.partitions) or "none"
    if partition is None and slurm.partition is not None:
        yield "slurm.partition", f"there is no partition {slurm.partition}; there are: {names}"
    elif partition is None:
        yield "slurm.partition", f"the cluster has no default partition: name one of {names}"
    elif partition.state not in ("", "UP"):
        yield "slurm.partition", f"partition {partition.name} is {partition.state}"
    if slurm.account is None:
        return
    if cluster.accounts is not None and slurm.account not in cluster.accounts:
        yield "slurm.account", f"there is no account {slurm.account}"
    elif partition is not None and partition.accounts and slurm.account not in partition.accounts:
        allowed = ", ".join(partition.accounts)
        yield "slurm.account", f"partition {partition.name} is not for {slurm.account} but for {allowed}"


def _sharing(slurm: SlurmSite, cluster: Cluster, partition: Partition | None) -> Iterator[tuple[str, str]]:
    how = partition.oversubscribe if partition is not None else "NO"
    if how == "EXCLUSIVE" and slurm.exclusive is not True:
        yield "slurm.exclusive", "the partition gives whole nodes (OverSubscribe=EXCLUSIVE): write true"
    if how.startswith("FORCE") and how not in ("FORCE", "FORCE:1"):
        yield "slurm.exclusive", f"the partition's jobs share cores (OverSubscribe={how}): no placement holds"
    if slurm.exclusive is False:
        cgroup = "task/cgroup" in cluster.config.get("taskplugin", "")
        for key, what in (("ConstrainCores", "cores"), ("ConstrainDevices", "GPUs")):
            if not cgroup or cluster.config.get(key.lower()) == "no":
                why = f"{key} of task/cgroup is off"
                yield "slurm.exclusive", f"jobs share nodes, and {why}: nothing keeps a job to its {what}"


def _plugins(site: Site, machines: Mapping[str, NodeType], cluster: Cluster) -> Iterator[tuple[str, str]]:
    tasks = cluster.config.get("taskplugin", "")
    if "affinity" not in tasks:
        yield "scheduler", f"TaskPlugin is {tasks or 'not set'}: without task/affinity Slurm binds no rank"
    select = cluster.config.get("selecttype", "")
    if any(machines[group.type].gpus for group in site.node_types) and "cons_tres" not in select:
        yield "scheduler", f"SelectType is {select or 'not set'}: GPUs are given out by select/cons_tres"


def _mpi(slurm: SlurmSite, cluster: Cluster) -> Iterator[tuple[str, str]]:
    for family, plugin in slurm.mpi_plugin.items():
        if cluster.mpi is not None and plugin not in cluster.mpi:
            known = ", ".join(cluster.mpi)
            yield f"slurm.mpi_plugin.{family}", f"srun has no MPI plugin {plugin}; it has: {known}"


def _pyxis(site: Site, cluster: Cluster) -> Iterator[tuple[str, str]]:
    assert site.slurm is not None
    if cluster.srun_options is None:
        return
    there = "--container-image" in cluster.srun_options
    if site.container == "pyxis" and not there:
        yield "container", "srun knows no --container-image: Pyxis is not loaded"
    if site.container == "none" and there:
        yield "container", "srun knows --container-image, so there is Pyxis: write container: pyxis"
    if site.slurm.pyxis is None or not there:
        return
    said = {f"--{option.name}" for option in pyxis_options(site.slurm.pyxis)}
    missing = sorted(said - cluster.srun_options)
    newer = sorted(set(pyxis_since()) & cluster.srun_options - said)
    if missing:
        yield "slurm.pyxis", f"{site.slurm.pyxis} has {missing[0]}, and srun does not know it: it is older"
    if newer:
        yield "slurm.pyxis", f"srun knows {newer[0]}, which came with {pyxis_since()[newer[0]]}: it is newer"


def _topology(site: Site, cluster: Cluster) -> Iterator[tuple[str, str]]:
    plugin = topology_of(cluster)
    if plugin != site.fabric.topology:
        yield "fabric.topology", f"the site says {site.fabric.topology}, and Slurm's plugin is {plugin}"
    elif cluster.leaves and site.fabric.topology != "none":
        largest = max(hosts.count(leaf) for leaf in cluster.leaves)
        if largest != units.unit(site):
            yield "fabric.unit", f"a unit has {units.unit(site)} nodes, and Slurm's largest leaf {largest}"


def _unchecked(site: Site, cluster: Cluster) -> Iterator[str]:
    assert site.slurm is not None
    if site.slurm.account is not None and cluster.accounts is None:
        yield "slurm.account: the cluster keeps no accounts, or sacctmgr could not be asked"
    if cluster.mpi is None and site.slurm.mpi_plugin:
        yield "slurm.mpi_plugin: srun --mpi=list said nothing"
    if cluster.srun_options is None:
        yield "container: srun --help said nothing"
    asleep = powered_down(cluster)
    if asleep:
        yield f"node_types: {hosts.fold(sorted(asleep))} are powered down, and Slurm does not show them"
    for name in cluster.unread:
        yield f"node_types: what scontrol says of {name} was not understood"
