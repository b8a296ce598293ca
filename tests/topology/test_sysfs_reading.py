"""Reading made-up machines: the shapes that real kernels show."""

from pathlib import Path

import published
import pytest
from published import address
from sysfs_tree import SysfsTree

from hpclaunch.spec.check_nodetype import node_type_problems
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue, model
from hpclaunch.topology.local import node_type
from hpclaunch.topology.machine import read_machine
from hpclaunch.values.errors import HpclaunchError


def read(tree: SysfsTree, allowed: tuple[int, ...] | None = None) -> NodeType:
    return node_type(read_machine(str(tree.root)), allowed)


def all_cores(found: NodeType) -> dict[int, tuple[tuple[int, ...], ...]]:
    return {node.node: model.cores(found, node.node) for node in found.numa}


@pytest.fixture
def dell(tmp_path: Path) -> SysfsTree:
    """Two sockets of two cores with SMT, even CPUs on socket 0 and odd ones on socket 1, as Dell numbers."""
    tree = SysfsTree(tmp_path, "0-7")
    for first in range(4):
        tree.core(f"{first},{first + 4}", first % 2, first, first + 4)
    tree.node(0, "0,2,4,6", "10 21")
    tree.node(1, "1,3,5,7", "21 10")
    return tree


def test_even_and_odd_cpus_keep_their_siblings(dell: SysfsTree) -> None:
    found = read(dell)
    assert all_cores(found) == {0: ((0, 4), (2, 6)), 1: ((1, 5), (3, 7))}
    assert [node.socket for node in found.numa] == [0, 1]
    assert found.distances == ((10, 21), (21, 10))
    assert [node.memory_gib for node in found.numa] == [32, 32]


def test_smt_off(tmp_path: Path) -> None:
    tree = SysfsTree(tmp_path, "0-3")
    for cpu in range(4):
        tree.core(str(cpu), 0, cpu)
    tree.node(0, "0-3", "10")
    found = read(tree)
    assert all_cores(found) == {0: ((0,), (1,), (2,), (3,))}
    assert found.numa[0].threads == ("0-3",)


def test_adjacent_siblings_of_four_threads(tmp_path: Path) -> None:
    # POWER9: the four threads of a core follow each other, and NUMA nodes are 0 and 8.
    tree = SysfsTree(tmp_path, "0-7,88-91")
    for first, package in ((0, 0), (4, 0), (88, 8)):
        tree.core(f"{first}-{first + 3}", package, *range(first, first + 4))
    tree.node(0, "0-7", "10 40")
    tree.node(8, "88-91", "40 10")
    found = read(tree)
    assert all_cores(found) == {0: ((0, 1, 2, 3), (4, 5, 6, 7)), 8: ((88, 89, 90, 91),)}
    assert model.distance(found, 0, 8) == 40


def test_a_cpu_that_is_offline_shifts_no_siblings(tmp_path: Path) -> None:
    tree = SysfsTree(tmp_path, "0-4,6-7")  # 5, the second thread of core 1, is offline
    tree.core("0,4", 0, 0, 4)
    tree.core("1", 0, 1)
    tree.core("2,6", 0, 2, 6)
    tree.core("3,7", 0, 3, 7)
    tree.node(0, "0-4,6-7", "10")
    assert all_cores(read(tree)) == {0: ((0, 4), (1,), (2, 6), (3, 7))}


def test_performance_and_efficiency_cores(tmp_path: Path) -> None:
    # A hybrid laptop: two cores of two adjacent threads, then two cores of one.
    tree = SysfsTree(tmp_path, "0-5")
    tree.core("0-1", 0, 0, 1)
    tree.core("2-3", 0, 2, 3)
    tree.core("4", 0, 4)
    tree.core("5", 0, 5)
    tree.node(0, "0-5", "10")
    assert all_cores(read(tree)) == {0: ((0, 1), (2, 3), (4,), (5,))}


def test_without_numa_there_is_one_node(tmp_path: Path) -> None:
    tree = SysfsTree(tmp_path, "0-1")
    tree.core("0-1", 0, 0, 1)
    tree.write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 5 kB")
    found = read(tree)
    assert all_cores(found) == {0: ((0, 1),)}
    assert (found.memory_gib, found.numa[0].memory_gib) == (16, 16)
    assert model.distance(found, 0, 0) == 10


def test_without_topology_files_each_cpu_is_a_core(tmp_path: Path) -> None:
    assert all_cores(read(SysfsTree(tmp_path, "0-2"))) == {0: ((0,), (1,), (2,))}


def test_memory_alone_stays_and_counts_with_the_nearest_socket(dell: SysfsTree) -> None:
    dell.node(0, "0,2,4,6", "10 21 80 13")
    dell.node(1, "1,3,5,7", "21 10 40 28")
    dell.node(2, "", "80 40 10 80")  # the memory of a GPU near socket 1
    dell.node(3, "", "13 28 80 10")
    found = read(dell)
    assert [(node.node, node.socket) for node in found.numa] == [(0, 0), (1, 1), (2, 1), (3, 0)]
    assert model.cores(found, 2) == ()
    assert model.cpu_count(found) == 8


def test_firmware_that_lists_cpus_in_each_node(tmp_path: Path) -> None:
    tree = SysfsTree(tmp_path, "0-1")
    tree.node(0, "0-1", "10 10")
    tree.node(1, "0-1", "10 10")
    assert all_cores(read(tree)) == {0: ((0,), (1,)), 1: ()}


def test_cpus_of_a_node_that_is_offline_count_with_their_package(tmp_path: Path) -> None:
    tree = SysfsTree(tmp_path, "0-3")
    for cpu, package in ((0, 0), (1, 1), (2, 0), (3, 1)):
        tree.core(str(cpu), package, cpu)
    tree.node(1, "0", "10 20")
    tree.node(2, "1", "20 10")
    assert all_cores(read(tree)) == {1: ((0,), (2,)), 2: ((1,), (3,))}


def test_cpus_that_may_not_be_used_are_left_out(dell: SysfsTree) -> None:
    found = read(dell, allowed=(0, 2, 6, 99))
    assert all_cores(found) == {0: ((0,), (2, 6)), 1: ()}
    assert found.numa[1].socket == 1


def test_gpus_in_pci_order_with_the_driver_alone(dell: SysfsTree) -> None:
    dell.gpu("0000:b0:01.0", "0000:b7:00.0", numa=1)
    dell.gpu("10000:e0:01.0", "10000:e1:00.0", numa=1)
    dell.gpu("0000:00:01.0", "0000:07:00.0", numa=0)
    dell.gpu("0000:00:05.0", numa=-1, device_class="0x030000", driver="")
    dell.gpu("0000:00:06.0", numa=0, driver="vfio-pci")
    dell.gpu("0000:00:07.0", numa=0, device_class="0x040300")  # the sound device of a display card
    dell.pci("0000:00:08.0", vendor="0x1a03", device_class="0x030000", numa=0, driver="ast")
    (dell.root / "proc/driver/nvidia/gpus/0000:00:05.0").mkdir(parents=True)
    gpus = [(gpu.pci, gpu.numa) for gpu in read(dell).gpus]
    assert gpus == [
        ("0000:00:05.0", 0),
        ("0000:07:00.0", 0),
        ("0000:b7:00.0", 1),
        ("10000:e1:00.0", 1),
    ]


def test_a_gpu_and_an_hca_below_one_root_port_share_a_switch(dell: SysfsTree) -> None:
    switch = ("0000:15:01.0", "0000:16:00.0")
    dell.gpu(*switch, "0000:17:00.0", "0000:1b:00.0", numa=0)
    dell.hca("mlx5_0", *switch, "0000:17:04.0", "0000:18:00.0", numa=0)
    dell.hca("mlx5_1", "0000:27:01.0", "0000:29:00.0", numa=0)
    dell.gpu("0000:00:09.0", numa=0)  # as in a virtual machine: no bridge says what is near
    found = read(dell)
    assert {device.pci: device.switch for device in (*found.gpus, *found.hcas)} == {
        "0000:00:09.0": "",
        "0000:1b:00.0": "0000-15-01.0/0000-16-00.0/0000-17-00.0",
        "0000:18:00.0": "0000-15-01.0/0000-16-00.0/0000-17-04.0",
        "0000:29:00.0": "0000-27-01.0",
    }
    assert node_type_problems(found) == []


def test_cpus_behind_one_l3_are_told(dell: SysfsTree) -> None:
    for cpu, shared in ((0, "0,4"), (1, "1,3,5,7"), (2, "2,6")):
        dell.cache(cpu, 3, 3, shared)
    assert [node.l3 for node in read(dell).numa] == [("0,4", "2,6"), ("1,3,5,7",)]
    assert [node.l3 for node in read(dell, (2, 3, 7)).numa] == [("2",), ("3,7",)]


def test_an_l3_is_found_by_its_level(dell: SysfsTree) -> None:
    # A core without a separate instruction cache has its L3 as index2.
    for cpu, shared in ((0, "0,2,4,6"), (1, "1,3,5,7")):
        dell.cache(cpu, 1, 2, str(cpu))
        dell.cache(cpu, 2, 3, shared)
    assert [node.l3 for node in read(dell).numa] == [("0,2,4,6",), ("1,3,5,7",)]


def test_a_node_whose_caches_are_not_all_told_has_none(dell: SysfsTree) -> None:
    dell.cache(0, 3, 3, "0,4")
    assert [node.l3 for node in read(dell).numa] == [(), ()]


def test_hcas_have_their_names_and_links(dell: SysfsTree) -> None:
    dell.hca("mlx5_10", "0000:a0:01.0", "0000:aa:00.0", numa=1, rate="400 Gb/sec (4X NDR)")
    dell.hca("mlx5_2", "0000:10:01.0", "0000:12:00.0", numa=-1, rate="2.5 Gb/sec (1X SDR)", ports=(2,))
    dell.hca("mlx5_bond_0", "0000:20:01.0", "0000:21:00.0", numa=0, link_layer="Ethernet")
    dell.write("sys/class/infiniband/rxe0/ports/1/link_layer", "Ethernet")  # software, on no PCI device
    found = read(dell)
    assert [(hca.pci, hca.numa, hca.port, hca.use, hca.rate_gbps) for hca in found.hcas] == [
        ("0000:12:00.0", 0, 2, "compute", 2),
        ("0000:21:00.0", 0, 1, "management", 200),
        ("0000:aa:00.0", 1, 1, "compute", 400),
    ]
    assert [hca.name for hca in model.named_hcas(found, None)] == ["mlx5_2", "mlx5_10"]
    dell.hca("mlx5_3", "0000:b0:01.0", "0000:ba:00.0", numa=1, state="1: DOWN", rate="10 Gb/sec (4X SDR)")
    (down,) = (hca for hca in read(dell).hcas if hca.pci == "0000:ba:00.0")
    assert (down.use, down.rate_gbps) == ("compute", None)  # what it says is not what the link can do
    assert found.variants["this-machine"].names["0000:21:00.0"] == "mlx5_bond_0"


def test_where_all_hcas_are_ethernet_they_are_for_jobs(dell: SysfsTree) -> None:
    dell.hca("mlx5_0", "0000:10:01.0", "0000:12:00.0", numa=0, link_layer="Ethernet")
    (hca,) = model.named_hcas(read(dell), None)
    assert (hca.name, hca.link_layer) == ("mlx5_0", "Ethernet")


def test_a_dgx_a100_reads_as_its_node_type(tmp_path: Path) -> None:
    tree = SysfsTree(tmp_path, "0-255")
    for first in range(128):
        tree.core(f"{first},{first + 128}", first // 64, first, first + 128)
    for number in range(8):
        low = 16 * number
        row = " ".join("10" if n == number else "12" if n // 4 == number // 4 else "32" for n in range(8))
        tree.node(number, f"{low}-{low + 15},{low + 128}-{low + 143}", row)
    numa = {"61.0": 0, "61.1": 0, "e1.0": 4, "e1.1": 4}
    route = {bus: (f"0000:f0:0{port}.0",) for port, bus in enumerate(numa)}
    for port, (gpus, hcas, node) in enumerate(published.A100_PAIRS):
        for bus in gpus:
            tree.gpu(f"0000:{port}0:01.1", f"0000:{port}1:00.0", address(bus), numa=node)
        for bus in hcas:
            numa[f"{bus}.0"] = node
            route[f"{bus}.0"] = (f"0000:{port}0:01.1", f"0000:{port}2:00.0")
    for index, bus in enumerate(published.A100_NAMES["12-device"].split()):
        tree.hca(f"mlx5_{index}", *route[bus], address(bus), numa=numa[bus])
    found, shipped = read(tree), catalogue.load("dgx-a100").value
    assert all_cores(found) == all_cores(shipped)
    assert found.distances == shipped.distances
    assert [(gpu.pci, gpu.numa) for gpu in found.gpus] == [(gpu.pci, gpu.numa) for gpu in shipped.gpus]
    assert [(hca.pci, hca.numa) for hca in found.hcas] == [(hca.pci, hca.numa) for hca in shipped.hcas]
    assert found.variants["this-machine"].names == shipped.variants["12-device"].names


def test_without_sys_there_is_no_machine(tmp_path: Path) -> None:
    with pytest.raises(HpclaunchError, match="cpu/online is missing"):
        read_machine(str(tmp_path))
