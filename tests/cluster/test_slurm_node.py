"""A node type as Slurm counts it."""

import pytest

from hpclaunch.cluster.slurmconf import gres_lines
from hpclaunch.cluster.slurmnode import slurm_node
from hpclaunch.spec.nodetype import GpuSpec, NodeType, NumaNode
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError


def node_type(*numa: NumaNode, gpus: tuple[int, ...] = ()) -> NodeType:
    specs = tuple(GpuSpec(f"0000:{index + 1:02x}:00.0", node) for index, node in enumerate(gpus))
    return NodeType(name="made-up", description="", numa=numa, gpus=specs)


@pytest.mark.parametrize(("name", "cores"), [("dgx-a100", "48-63"), ("dgx-h100", "0-55")])
def test_cores_beside_the_first_gpu(name: str, cores: str) -> None:
    node = slurm_node(catalogue.load(name).value)
    assert node.cores_near(node.gpu_numa[0]) == cores


def test_slurm_counts_cores_socket_by_socket_whatever_the_kernel_numbers() -> None:
    # Sockets alternate, and the NUMA nodes are listed in the other order.
    node = slurm_node(
        node_type(NumaNode(1, 1, ("1,3,5", "7,9,11")), NumaNode(0, 0, ("0,2,4", "6,8,10")), gpus=(1, 0))
    )
    assert (node.cores_near(0), node.cores_near(1)) == ("0-2", "3-5")
    assert node.numa[1].cores == ((1, 7), (3, 9), (5, 11))


def test_gpus_apart_on_one_numa_node_are_not_one_range() -> None:
    node = slurm_node(node_type(NumaNode(0, 0, ("0-3",)), NumaNode(1, 0, ("4-7",)), gpus=(0, 1, 0)))
    files = [line.split("File=")[1].split()[0] for line in gres_lines(node, "n1")]
    assert files == ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2"]


@pytest.mark.parametrize(
    ("numa", "why"),
    [
        ((NumaNode(0, 0, ("0-3", "4-6")),), "as many threads"),
        ((NumaNode(0, 0, ("0-3",)), NumaNode(1, 1, ("4-5",))), "sockets of one size"),
        ((NumaNode(0, 0, ("0-1", "2-3")), NumaNode(1, 1, ("4-5",))), "as many threads"),
        ((NumaNode(0, 0, ()),), "it has no CPUs"),
        ((NumaNode(0, 0, ("1-4",)),), "not numbered 0 to 3"),
    ],
)
def test_what_slurm_conf_cannot_say_is_refused(numa: tuple[NumaNode, ...], why: str) -> None:
    with pytest.raises(InputError, match=why):
        slurm_node(node_type(*numa))


def test_numa_nodes_of_memory_alone_count_for_nothing() -> None:
    """A Grace shows its GPUs' memory as NUMA nodes without CPUs; Slurm counts cores."""
    cores = (NumaNode(0, 0, ("0-3",)), NumaNode(1, 1, ("4-7",)))
    memory = (NumaNode(2, 0, ()), NumaNode(10, 1, ()))
    assert slurm_node(node_type(*cores, *memory, gpus=(0, 1))) == slurm_node(node_type(*cores, gpus=(0, 1)))


def test_a_gpu_beside_no_core_is_refused() -> None:
    numa = (NumaNode(0, 0, ("0-3",)), NumaNode(2, 0, ()))
    with pytest.raises(InputError, match="GPU 1 is on NUMA node 2, which has no CPUs"):
        slurm_node(node_type(*numa, gpus=(0, 2)))
