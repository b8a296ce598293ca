"""Made-up machines: what the kernel of each node would show below /sys, /proc and /dev, as a folder.

`topology` reads such a folder as it reads a real machine, and the rank wrapper looks there for HCAs and GPUs.
People edit it: an HCA is down when its ports/1/state says so, and has another name when its link in
sys/class/infiniband and the `ibdev` of its uverbs have.
"""

import os
from pathlib import Path

from hpclaunch.cluster.slurmnode import SlurmNode
from hpclaunch.sandbox import pcitree
from hpclaunch.sandbox.pcitree import Tree
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model
from hpclaunch.values.cpulist import format_list, parse

_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"
_KIB_PER_GIB = 1024 * 1024
# One line for each core in Slurm's order, with the kernel's CPUs: what slurmd's block map says.
CORES = "slurm-cores"
# As in proc(5). This machine's own limit may be too low for InfiniBand, and its administrator's to raise.
_LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max locked memory         unlimited            unlimited            bytes     \n"
)


def tree(node_type: NodeType, variant: str | None) -> Tree:
    """All files of a machine of this type. Raises InputError for a variant that the type does not have."""
    made = Tree()
    _cpus(node_type, made)
    _numa(node_type, made)
    pcitree.devices(node_type, variant, made)
    if gib := model.memory_gib(node_type):
        made.files["proc/meminfo"] = f"MemTotal:       {gib * _KIB_PER_GIB} kB\n"
    return made


def write(made: Tree, machine: SlurmNode, host: str, folder: Path) -> None:
    """Write the machine of one node into `folder`, which is not there yet."""
    files = {
        **made.files,
        "proc/self/limits": _LIMITS,
        "proc/sys/kernel/hostname": f"{host}\n",
        CORES: "".join(f"{','.join(map(str, core))}\n" for group in machine.numa for core in group.cores),
    }
    top = str(folder)
    for parent in sorted({os.path.dirname(path) for path in (*files, *made.links)}):
        os.makedirs(os.path.join(top, parent), exist_ok=True)
    for path, text in files.items():
        with open(os.path.join(top, path), "w", encoding="ascii") as file:
            file.write(text)
    for path, target in made.links.items():
        os.symlink(target, os.path.join(top, path))
    for path in files:
        if path.startswith("dev/"):
            os.chmod(os.path.join(top, path), 0o666)  # every user may open a GPU and a port


def _cpus(node_type: NodeType, made: Tree) -> None:
    everyone: list[int] = []
    core_id = 0
    for numa in node_type.numa:
        behind = {cpu: text for text in numa.l3 for cpu in parse(text)}
        for core in model.cores(node_type, numa.node):
            siblings = format_list(core)
            for cpu in core:
                everyone.append(cpu)
                topology = f"{_CPU}/cpu{cpu}/topology"
                made.files[f"{topology}/physical_package_id"] = f"{numa.socket}\n"
                made.files[f"{topology}/core_id"] = f"{core_id}\n"
                made.files[f"{topology}/thread_siblings_list"] = f"{siblings}\n"
                if cpu in behind:
                    cache = f"{_CPU}/cpu{cpu}/cache/index3"
                    made.files[f"{cache}/level"] = "3\n"
                    made.files[f"{cache}/type"] = "Unified\n"
                    made.files[f"{cache}/shared_cpu_list"] = f"{behind[cpu]}\n"
            core_id += 1
    for name in ("online", "present", "possible"):
        made.files[f"{_CPU}/{name}"] = f"{format_list(everyone)}\n"


def _numa(node_type: NodeType, made: Tree) -> None:
    nodes = sorted(node_type.numa, key=lambda numa: numa.node)
    for name in ("online", "possible"):
        made.files[f"{_NODE}/{name}"] = f"{format_list(numa.node for numa in nodes)}\n"
    for numa in nodes:
        folder = f"{_NODE}/node{numa.node}"
        cpus = (cpu for core in model.cores(node_type, numa.node) for cpu in core)
        made.files[f"{folder}/cpulist"] = f"{format_list(cpus)}\n"
        distances = (model.distance(node_type, numa.node, other.node) for other in nodes)
        made.files[f"{folder}/distance"] = " ".join(map(str, distances)) + "\n"
        if numa.memory_gib:
            kib = numa.memory_gib * _KIB_PER_GIB
            made.files[f"{folder}/meminfo"] = f"Node {numa.node} MemTotal:       {kib} kB\n"
