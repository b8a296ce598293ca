"""The node types that ship: in agreement with themselves and with the published maps."""

import published
import pytest
from published import address

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue, model
from hpclaunch.values import cpulist

SHIPPED = ("dgx-a100", "dgx-h100")


@pytest.fixture
def a100() -> NodeType:
    return catalogue.load("dgx-a100").value


@pytest.fixture
def h100() -> NodeType:
    return catalogue.load("dgx-h100").value


@pytest.mark.parametrize(("name", "cpus"), [("dgx-a100", 256), ("dgx-h100", 224)])
def test_has_every_cpu_once_in_a_core_of_two_threads(name: str, cpus: int) -> None:
    node_type = catalogue.load(name).value
    cores = [core for node in node_type.numa for core in model.cores(node_type, node.node)]
    # Both machines number the second threads after all first ones.
    assert sorted(cores) == [(first, first + cpus // 2) for first in range(cpus // 2)]
    assert model.cpu_count(node_type) == cpus


@pytest.mark.parametrize("name", SHIPPED)
def test_distances_agree_with_the_sockets(name: str) -> None:
    node_type = catalogue.load(name).value
    for a in node_type.numa:
        for b in node_type.numa:
            distance = model.distance(node_type, a.node, b.node)
            assert distance == model.distance(node_type, b.node, a.node)
            if a == b:
                assert distance == 10
            elif a.socket == b.socket:
                assert distance == 12
            else:
                assert distance > 20


def test_a100_ranks_find_their_published_cores(a100: NodeType) -> None:
    for rank, (numa, cpus) in enumerate(published.A100_RANKS):
        assert a100.gpus[rank].numa == numa
        cores = model.cores(a100, numa)
        half = cores[:8] if rank % 2 == 0 else cores[8:]
        assert cpulist.format_list(cpu for core in half for cpu in core) == cpus


def test_a100_nodes_are_four_to_a_socket(a100: NodeType) -> None:
    assert [model.socket_of(a100, node) for node in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a100_gpu_pairs_share_a_switch_with_their_hca_pair_alone(a100: NodeType) -> None:
    switches = set()
    for gpus, hcas, numa in published.A100_PAIRS:
        wanted = {address(bus) for bus in (*gpus, *hcas)}
        (switch,) = {gpu.switch for gpu in a100.gpus if gpu.pci in wanted}
        devices = [d for d in (*a100.gpus, *a100.hcas) if d.switch == switch]
        assert {device.pci for device in devices} == wanted
        assert {device.numa for device in devices} == {numa}
        switches.add(switch)
    assert len(switches) == 4


@pytest.mark.parametrize("variant", ["12-device", "10-device"])
def test_a100_names_count_all_devices_in_pci_order(a100: NodeType, variant: str) -> None:
    buses = published.A100_NAMES[variant].split()
    assert a100.variants[variant].names == {address(bus): f"mlx5_{i}" for i, bus in enumerate(buses)}


def test_a100_compute_hcas(a100: NodeType) -> None:
    def names(variant: str | None) -> list[str]:
        return [hca.name for hca in model.named_hcas(a100, variant)]

    assert names(None) == names("12-device") == [f"mlx5_{n}" for n in (0, 1, 2, 3, 6, 7, 8, 9)]
    assert names("10-device") == [f"mlx5_{n}" for n in range(8)]
    storage = {hca.pci: hca.numa for hca in a100.hcas if hca.use == "storage"}
    assert storage == {address("61.0"): 0, address("61.1"): 0, address("e1.0"): 4, address("e1.1"): 4}


def test_h100_has_one_hca_on_the_switch_of_each_gpu(h100: NodeType) -> None:
    names = h100.variants["12-device"].names
    rows = []
    for gpu in h100.gpus:
        (hca,) = (hca for hca in h100.hcas if hca.switch == gpu.switch)
        assert (hca.use, hca.numa, hca.rate_gbps) == ("compute", gpu.numa, 400)
        rows.append((gpu.pci, hca.pci, names[hca.pci], gpu.numa))
    wanted = [(address(gpu), address(hca), name, numa) for gpu, hca, name, numa in published.H100_ROWS]
    assert rows == wanted


def test_h100_storage_hcas(h100: NodeType) -> None:
    names = h100.variants["12-device"].names
    storage = {hca.pci: names[hca.pci] for hca in h100.hcas if hca.use == "storage"}
    assert storage == {address(bus): name for bus, name in published.H100_STORAGE.items()}


def test_h100_halves_belong_to_the_sockets(h100: NodeType) -> None:
    assert [node.threads for node in h100.numa] == [("0-55", "112-167"), ("56-111", "168-223")]
    assert [model.socket_of(h100, node) for node in (0, 1)] == [0, 1]
