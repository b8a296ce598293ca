"""A node type as Slurm counts it."""

import pytest

from hpclaunch.cluster.machine import describe
from hpclaunch.cluster.slurmconf import gres_lines
from hpclaunch.spec.nodetype import GpuSpec, NodeType, NumaNode
from hpclaunch.topology import catalogue


def node_type(*numa: NumaNode, gpus: tuple[int, ...] = ()) -> NodeType:
    specs = tuple(GpuSpec(f"0000:{index + 1:02x}:00.0", node) for index, node in enumerate(gpus))
    return NodeType(name="made-up", description="", numa=numa, gpus=specs)


@pytest.mark.parametrize(("name", "cores"), [("dgx-a100", "48-63"), ("dgx-h100", "0-55")])
def test_cores_beside_the_first_gpu(name: str, cores: str) -> None:
    machine = describe(catalogue.load(name).value)
    assert machine.cores_near(machine.gpu_numa[0]) == cores


def test_slurm_counts_cores_socket_by_socket_whatever_the_kernel_numbers() -> None:
    # Sockets alternate, and the NUMA nodes are listed in the other order.
    machine = describe(
        node_type(NumaNode(1, 1, ("1,3,5", "7,9,11")), NumaNode(0, 0, ("0,2,4", "6,8,10")), gpus=(1, 0))
    )
    assert (machine.cores_near(0), machine.cores_near(1)) == ("0-2", "3-5")
    assert machine.numa[1].cores == ((1, 7), (3, 9), (5, 11))


def test_gpus_apart_on_one_numa_node_are_not_one_range() -> None:
    machine = describe(node_type(NumaNode(0, 0, ("0-3",)), NumaNode(1, 0, ("4-7",)), gpus=(0, 1, 0)))
    files = [line.split("File=")[1].split()[0] for line in gres_lines(machine, "n1")]
    assert files == ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2"]


@pytest.mark.parametrize(
    ("numa", "why"),
    [
        ((NumaNode(0, 0, ("0-3", "4-6")),), "differ in length"),
        ((NumaNode(0, 0, ("0-3",)), NumaNode(1, 1, ("4-5",))), "sockets of one size"),
        ((NumaNode(0, 0, ("0-1", "2-3")), NumaNode(1, 1, ("4-5",))), "as many threads"),
        ((NumaNode(0, 0, ("1-4",)),), "not numbered 0 to 3"),
    ],
)
def test_what_slurm_conf_cannot_say_is_refused(numa: tuple[NumaNode, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        describe(node_type(*numa))
