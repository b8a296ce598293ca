"""Lines of slurm.conf and gres.conf that follow from a node type."""

from itertools import groupby

from hpclaunch.cluster.slurmnode import SlurmNode


def node_line(node: SlurmNode, hosts: str, **more: str) -> str:
    """The NodeName line of these hosts ("dgx[001-140]"); `more` are further keys, in the order given."""
    keys = {
        "NodeName": hosts,
        "Sockets": str(node.sockets),
        "CoresPerSocket": str(node.cores_per_socket),
        "ThreadsPerCore": str(node.threads_per_core),
        "RealMemory": str(node.memory_mib),
    }
    if node.gpu_numa:
        kind = f"gpu:{node.gpu_type}" if node.gpu_type else "gpu"
        keys["Gres"] = f"{kind}:{len(node.gpu_numa)}"
    return " ".join(f"{key}={value}" for key, value in {**keys, **more}.items())


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
