"""Discovery on the live machine: what it shows beyond what a job of this machine needs."""

import os
from pathlib import Path

import pytest
from sysfs_tree import SysfsTree

from hpclaunch.topology.readers import sysfs
from hpclaunch.values.errors import InputError


@pytest.fixture
def tree(tmp_path: Path) -> SysfsTree:
    made = SysfsTree(tmp_path, "0-3")
    for first in range(2):
        made.core(f"{first},{first + 2}", first, first, first + 2)
        made.node(first, f"{first},{first + 2}", "10 21" if first == 0 else "21 10", kib=1000 + first)
        made.cache(first, 3, 3, f"{first},{first + 2}")
    return made


def test_cpus_and_nodes(tree: SysfsTree) -> None:
    seen = sysfs.read_live(str(tree.root))
    assert [(c.number, c.socket, c.siblings, c.numa, c.l3) for c in seen.cpus] == [
        (0, 0, (0, 2), 0, 0),
        (1, 1, (1, 3), 1, 1),
        (2, 0, (0, 2), 0, 0),
        (3, 1, (1, 3), 1, 1),
    ]
    assert [(n.node, n.cpus, n.kib, n.distances) for n in seen.numa] == [
        (0, (0, 2), 1000, {0: 10, 1: 21}),
        (1, (1, 3), 1001, {0: 21, 1: 10}),
    ]


def test_gpus_with_model_and_bridges(tree: SysfsTree) -> None:
    route = ("0000:15:01.0", "0000:16:00.0", "0000:17:00.0")
    tree.gpu(*route, "0000:1b:00.0", numa=1)
    tree.gpu("0000:00:09.0", numa=-1)
    tree.write(
        "proc/driver/nvidia/gpus/0000:1b:00.0/information",
        "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 99",
    )
    seen = sysfs.read_live(str(tree.root))
    assert [(g.index, g.pci, g.numa, g.model, g.path) for g in seen.gpus] == [
        (0, "0000:00:09.0", None, "", ()),
        (1, "0000:1b:00.0", 1, "NVIDIA A100-SXM4-40GB", route),
    ]
    assert seen.paths == {"0000:1b:00.0": route}


def test_every_port_with_its_state_and_interface(tree: SysfsTree) -> None:
    tree.hca("mlx5_0", "0000:10:01.0", "0000:12:00.0", numa=0, net="ibp18s0")
    tree.hca("mlx5_1", "0000:20:01.0", "0000:21:00.0", numa=1, state="1: DOWN", rate="10 Gb/sec (4X SDR)")
    tree.hca(
        "mlx4_0", "0000:30:01.0", "0000:31:00.0", numa=1, ports=(1, 2), link_layer="Ethernet", net="eth1"
    )
    for port, name in enumerate(("eth1", "eth2")):
        tree.write(f"sys/devices/pci0000:30/0000:30:01.0/0000:31:00.0/net/{name}/dev_port", str(port))
    seen = sysfs.read_live(str(tree.root))
    assert [(h.name, h.port, h.state, h.rate_gbps, h.netdev, h.link_layer, h.numa) for h in seen.hcas] == [
        ("mlx5_0", 1, "ACTIVE", 200, "ibp18s0", "InfiniBand", 0),
        ("mlx5_1", 1, "DOWN", None, "", "InfiniBand", 1),
        ("mlx4_0", 1, "ACTIVE", 200, "eth1", "Ethernet", 1),
        ("mlx4_0", 2, "ACTIVE", 200, "eth2", "Ethernet", 1),
    ]
    assert str(seen.hcas[0].origin) == f"{tree.root}/sys/class/infiniband/mlx5_0 (sysfs)"


def test_this_machine() -> None:
    seen = sysfs.read_live()
    assert os.sched_getaffinity(0) <= {cpu.number for cpu in seen.cpus}
    assert {cpu.numa for cpu in seen.cpus} == {node.node for node in seen.numa if node.cpus}


@pytest.mark.parametrize(("path", "text"), [("cpu/online", "0-x"), ("node/node0/distance", "10 far")])
def test_what_no_kernel_says_is_refused(tree: SysfsTree, path: str, text: str) -> None:
    tree.write(f"sys/devices/system/{path}", text)
    with pytest.raises(InputError, match="sys"):
        sysfs.read_live(str(tree.root))


def test_without_sys_there_is_no_machine(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cpu/online is missing"):
        sysfs.read_live(str(tmp_path))
