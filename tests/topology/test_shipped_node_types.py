"""The node types that ship: in agreement with themselves and with the published maps."""

from pathlib import Path

import msgspec
import published
import pytest
import yaml
from published import address

from hpclaunch.cluster.slurmnode import slurm_node
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.read import parse_node_type, read_node_type
from hpclaunch.topology import catalogue, model
from hpclaunch.values import cpulist, pci

# The files themselves: a type of the person who runs the tests may have the same name.
FILES = {file.stem: file for file in sorted(Path(catalogue.__file__).with_name("node-types").glob("*.yaml"))}
# Sockets, cores of each, threads of a core, GPUs, compute HCAs: the machines in their makers' words.
SIZES = {
    "azure-nd-h100-v5": (2, 48, 1, 8, 8),
    "azure-ndm-a100-v4": (2, 48, 1, 8, 8),
    "azure-ndv2": (2, 20, 1, 8, 1),
    "dell-dss8440-10": (2, 24, 2, 10, 0),
    "dell-dss8440-8": (2, 24, 2, 8, 0),
    "dell-r750xa": (2, 32, 2, 4, 0),
    "dell-xe8545": (2, 64, 2, 4, 0),
    "dgx-1v": (2, 20, 2, 8, 4),
    "dgx-2": (2, 24, 2, 16, 8),
    "dgx-2h": (2, 24, 2, 16, 8),
    "dgx-a100": (2, 64, 2, 8, 8),
    "dgx-b200": (2, 56, 2, 8, 8),
    "dgx-h100": (2, 56, 2, 8, 8),
    "dgx-h200": (2, 56, 2, 8, 8),
    "gb200-tray": (2, 72, 1, 4, 4),
    "hpe-xl675d": (2, 32, 2, 8, 0),
    "supermicro-4029gp-tvrt": (2, 20, 2, 8, 0),
}


@pytest.fixture(params=list(FILES))
def shipped(request: pytest.FixtureRequest) -> NodeType:
    return read_node_type(FILES[request.param]).value


@pytest.fixture
def a100() -> NodeType:
    return read_node_type(FILES["dgx-a100"]).value


@pytest.fixture
def h100() -> NodeType:
    return read_node_type(FILES["dgx-h100"]).value


def test_each_is_found_by_the_name_of_its_file() -> None:
    assert {read_node_type(file).value.name for file in FILES.values()} == set(FILES) == set(SIZES)


def test_has_the_size_that_its_maker_says(shipped: NodeType) -> None:
    cores = [core for node in shipped.numa for core in model.cores(shipped, node.node)]
    sockets = {node.socket for node in shipped.numa}
    on_first = sum(len(model.cores(shipped, node.node)) for node in shipped.numa if node.socket == 0)
    compute = [hca for hca in shipped.hcas if hca.use == "compute"]
    found = (len(sockets), on_first, len(cores[0]), len(shipped.gpus), len(compute))
    assert found == SIZES[shipped.name]
    assert len(cores) == len(sockets) * on_first


def test_second_threads_are_numbered_after_all_first_ones(shipped: NodeType) -> None:
    """Linux on these machines, whether sockets take turns or not; and no number is left out."""
    cores = sorted(core for node in shipped.numa for core in model.cores(shipped, node.node))
    threads = SIZES[shipped.name][2]
    assert cores == [tuple(first + len(cores) * i for i in range(threads)) for first in range(len(cores))]
    assert model.cpu_count(shipped) == len(cores) * threads


def test_caches_keep_cores_whole(shipped: NodeType) -> None:
    for node in shipped.numa:
        caches = [set(cpulist.parse(text)) for text in node.l3]
        for core in model.cores(shipped, node.node):
            assert not caches or sum(set(core) <= cpus for cpus in caches) == 1
        # A cache for the whole node would say nothing.
        assert len(caches) != 1
        assert len({len(cpus) for cpus in caches}) <= 1


def test_distances_agree_with_the_sockets(shipped: NodeType) -> None:
    for a in shipped.numa:
        for b in shipped.numa:
            distance = model.distance(shipped, a.node, b.node)
            assert distance == model.distance(shipped, b.node, a.node)
            if a == b:
                assert distance == 10
            elif a.socket == b.socket:
                assert distance == 12
            else:
                assert distance > 20


def test_devices_stand_in_pci_order_beside_cpus(shipped: NodeType) -> None:
    for devices in (shipped.gpus, shipped.hcas):
        known = [pci.order(device.pci) for device in devices if device.pci]
        assert known == sorted(known)
        for device in devices:
            assert model.cores(shipped, device.numa)


def test_what_shares_a_switch_shares_a_numa_node(shipped: NodeType) -> None:
    homes: dict[str, set[int]] = {}
    for device in (*shipped.gpus, *shipped.hcas):
        if device.switch:
            homes.setdefault(device.switch.partition("/")[0], set()).add(device.numa)
    assert all(len(nodes) == 1 for nodes in homes.values())


def test_variants_name_every_compute_hca_in_pci_order(shipped: NodeType) -> None:
    assert [variant.default for variant in shipped.variants.values()].count(True) == bool(shipped.hcas)
    compute = {hca.pci for hca in shipped.hcas if hca.use == "compute"}
    for variant in shipped.variants.values():
        assert compute <= set(variant.names)
        # Device names count the functions in the order of their addresses.
        ordered = [variant.names[address] for address in sorted(variant.names, key=pci.order)]
        numbers = [int(name.removeprefix("mlx5_").removeprefix("ib")) for name in ordered]
        assert numbers == sorted(numbers)


def test_every_fact_has_a_source_or_is_said_to_be_unknown(shipped: NodeType) -> None:
    known = [source for source in shipped.sources if not source.of.startswith("not known")]
    unknown = " ".join(source.of for source in shipped.sources if source.of.startswith("not known"))
    told = " ".join(source.of for source in known)
    for fact in ("numa", "gpus", "hcas", "variants", "distances", "memory_gib", "env"):
        if getattr(shipped, fact):
            assert fact in told or (fact == "gpus" and "NUMA node of each GPU" in told)
    assert ("l3" in told) == any(node.l3 for node in shipped.numa)
    if any(hca.rate_gbps for hca in shipped.hcas):
        assert "rate" in told
    if not shipped.distances:
        assert "distances" in unknown
    if not all(gpu.pci for gpu in shipped.gpus):
        assert "PCI addresses" in unknown
    # What was inferred alone is never sure.
    assert not [s for s in known if s.source.startswith("inferred") and s.confidence == "high"]


def test_reads_back_as_it_is(shipped: NodeType) -> None:
    text = yaml.safe_dump(msgspec.to_builtins(shipped), sort_keys=False)
    assert parse_node_type(text, "again.yaml").value == shipped


def test_slurm_gives_each_gpu_the_cores_of_its_numa_node(shipped: NodeType) -> None:
    """In Slurm's numbering (socket by socket), also where the kernel's CPUs take turns between sockets."""
    node = slurm_node(shipped)
    assert (node.sockets, node.cores_per_socket, node.threads_per_core) == SIZES[shipped.name][:3]
    in_order = [core for group in node.numa for core in group.cores]
    for gpu in shipped.gpus:
        near = [in_order[number] for number in cpulist.parse(node.cores_near(gpu.numa))]
        assert sorted(near) == list(model.cores(shipped, gpu.numa))


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
        (switch,) = {gpu.switch.partition("/")[0] for gpu in a100.gpus if gpu.pci in wanted}
        devices = [d for d in (*a100.gpus, *a100.hcas) if d.switch.startswith(f"{switch}/")]
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
