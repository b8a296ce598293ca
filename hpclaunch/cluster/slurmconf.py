"""Lines of slurm.conf and gres.conf that follow from a node type, and the files that follow from a site."""

from collections.abc import Iterator, Mapping
from itertools import groupby

from hpclaunch.cluster.groups import Nodes, nodes_of
from hpclaunch.cluster.slurmnode import SlurmNode
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.cpulist import format_list, parse

HEADER = "# The part of {} that follows from the site {}. Change the site file, and export again."


def node_line(node: SlurmNode, hosts: str, **more: str) -> str:
    """The NodeName line of these hosts ("dgx[001-140]"); `more` are further keys, in the order given."""
    keys = {
        "NodeName": hosts,
        "Sockets": str(node.sockets),
        "CoresPerSocket": str(node.cores_per_socket),
        "ThreadsPerCore": str(node.threads_per_core),
        "RealMemory": str(node.memory_mib),
        "Gres": node.gres,
    }
    return " ".join(f"{key}={value}" for key, value in {**keys, **more}.items() if value)


def gres_lines(node: SlurmNode, hosts: str, device: str = "/dev/nvidia") -> tuple[str, ...]:
    """The GPUs in gres.conf: one line for each run of GPUs on the same NUMA node, with its cores.

    Without Cores= Slurm would take any core of the node as near; the numbers are Slurm's own core
    numbers (man gres.conf, "Cores"), not the kernel's CPU numbers. `device` comes before the GPU's number.
    """
    kind = f" Type={node.gpu_type}" if node.gpu_type else ""
    lines = []
    for numa, run in groupby(enumerate(node.gpu_numa), key=lambda item: item[1]):
        indices = [index for index, _ in run]
        span = f"[{indices[0]}-{indices[-1]}]" if len(indices) > 1 else str(indices[0])
        cores = node.cores_near(numa)
        lines.append(f"NodeName={hosts} Name=gpu{kind} File={device}{span} Cores={cores}")
    return tuple(lines)


def slurm_conf(site: Site, machines: Mapping[str, NodeType]) -> str:
    """The lines of slurm.conf that follow from the site: nodes, their partition, topology plugin.

    `machines` holds the node type of each name that the site uses. Raises InputError for a group of nodes
    without `hosts`, and for a machine that slurm.conf cannot tell.
    """
    assert site.slurm is not None
    groups = nodes_of(site, machines)
    lines = [HEADER.format("slurm.conf", site.name)]
    if any(nodes.slurm.gres for nodes in groups):
        lines.append("GresTypes=gpu")
    if site.fabric.topology != "none":
        lines.append(f"TopologyPlugin=topology/{site.fabric.topology}")
    for nodes in groups:
        lines += ["", *_nodes(nodes)]
    if site.slurm.partition is not None:
        hosts = ",".join(nodes.hosts for nodes in groups)
        whole = " OverSubscribe=EXCLUSIVE" if site.slurm.exclusive else ""
        lines += ["", f"PartitionName={site.slurm.partition} Nodes={hosts}{whole}"]
    return "".join(f"{line}\n" for line in lines)


def gres_conf(site: Site, machines: Mapping[str, NodeType]) -> str:
    """The lines of gres.conf that follow from the site. Raises InputError as `slurm_conf` does."""
    lines = [
        HEADER.format("gres.conf", site.name),
        "# GPUs are in PCI order here. The N of /dev/nvidiaN is the device minor, which mostly follows it:",
        "# `grep Minor /proc/driver/nvidia/gpus/*/information` on a node tells.",
    ]
    for nodes in nodes_of(site, machines):
        if nodes.slurm.mig:
            lines += ["", *_slices(nodes)]
        elif nodes.slurm.gpu_numa:
            lines += ["", f"# {nodes.slurm.name}", *gres_lines(nodes.slurm, nodes.hosts)]
    return "".join(f"{line}\n" for line in lines)


def _nodes(nodes: Nodes) -> Iterator[str]:
    node = nodes.slurm
    yield f"# {node.name}"
    if node.numa_as_sockets and node.gpu_numa:
        # Slurm looks no closer than the socket when it picks the cores that go with some GPUs of a node.
        sockets, cores, _ = node.numa_as_sockets
        yield "# Jobs on some GPUs of a node get cores beside them with SlurmdParameters=numa_node_as_socket"
        yield f"# (Slurm 22.05 and later); the line then says Sockets={sockets} CoresPerSocket={cores}."
    more = {}
    if not node.memory_known:
        yield "# The node type does not tell the memory: add RealMemory= as `slurmd -C` on a node says it."
        more["RealMemory"] = ""
    reserved = frozenset(parse(nodes.group.reserved_cpus))
    if reserved:
        # Slurm numbers CPUs core by core, each with all its threads (man slurm.conf, CpuSpecList).
        threads = [cpu for numa in node.numa for core in numa.cores for cpu in core]
        own = format_list(number for number, cpu in enumerate(threads) if cpu in reserved)
        yield f"# reserved_cpus {nodes.group.reserved_cpus}: CpuSpecList={own} would keep jobs off them."
    yield node_line(node, nodes.hosts, **more)


def _slices(nodes: Nodes) -> Iterator[str]:
    yield f"# {nodes.slurm.name} in MIG slices: slurmd finds their devices where it was built with NVML."
    yield f"NodeName={nodes.hosts} AutoDetect=nvml"
    yield "# Without NVML, in its place a line for each slice: the GPU's device, and the capabilities of its"
    yield "# GPU instance and compute instance as /proc/driver/nvidia-caps/mig-minors numbers them. The cores"
    cores = [nodes.slurm.cores_near(numa) for numa in nodes.slurm.gpu_numa]
    yield f"# near each GPU are {', '.join(f'{gpu}: {near}' for gpu, near in enumerate(cores))}. For example:"
    for profile in nodes.slurm.mig:
        yield (
            f"# NodeName={nodes.hosts} Name=gpu Type={profile} MultipleFiles=/dev/nvidia0,"
            f"/dev/nvidia-caps/nvidia-cap21,/dev/nvidia-caps/nvidia-cap22 Cores={cores[0]}"
        )
