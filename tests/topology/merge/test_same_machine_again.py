"""From what the tools print on a machine of the catalogue, discovery finds the same machine."""

import captured
import pytest

from hpclaunch.spec.nodetype import HcaSpec, NodeType
from hpclaunch.spec.read import parse_node_type
from hpclaunch.topology import captures, catalogue, model, nodetypetext
from hpclaunch.topology.merge.machine import Merged, merge
from hpclaunch.topology.seen import Seen

MACHINES = {name: catalogue.load(name).value for name in catalogue.names()}
ADDRESSED = [name for name, machine in MACHINES.items() if all(gpu.pci for gpu in machine.gpus)]
# Where bridges in one PCI domain have GPUs and HCAs of others below them (Azure), a tree cannot be printed.
TREES = [
    name for name in ADDRESSED if len({device.pci[:4] for device in MACHINES[name].gpus if device.switch}) < 2
]
WHOLE = {
    "hwloc 2": ("hwloc 2",),
    "hwloc 3 and nvidia-smi": ("hwloc 3", "nvidia-smi topo -m"),
    "text": (
        "lscpu -e",
        "numactl -H",
        "nvidia-smi topo -m",
        "ibdev2netdev -v",
        "ibstat",
        "lspci -D -vmm",
    ),
}


def seen(machine: NodeType, *formats: str) -> list[Seen]:
    found = [captures.read(captured.FORMATS[each](machine), each) for each in formats]
    assert not any(used.unused for used in found)
    return [one for used in found for one in used.seen]


def discovered(machine: NodeType, *formats: str) -> Merged:
    return merge(seen(machine, *formats), machine.name)


def switches(machine: NodeType) -> list[tuple[str, ...]]:
    """Who shares a switch with whom; names of switches are anybody's choice. A switch without a GPU, or with
    one card alone, brings nothing nearer."""
    present = captured.present(machine) if machine.variants else machine.hcas
    groups: dict[str, list[str]] = {}
    for device in (*machine.gpus, *present):
        path = device.switch.split("/") if device.switch else []
        for depth in range(1, len(path) + 1):
            groups.setdefault("/".join(path[:depth]), []).append(device.pci)
    return sorted(tuple(group) for group in groups.values() if len(group) > 1)


def hcas(machine: NodeType) -> list[tuple[object, ...]]:
    def facts(hca: HcaSpec) -> tuple[object, ...]:
        return (hca.pci, hca.numa, hca.link_layer, hca.use == "compute", hca.port)

    return sorted(facts(hca) for hca in machine.hcas if hca.pci in captured.names(machine))


def same(found: NodeType, machine: NodeType) -> None:
    assert [(node.node, node.socket) for node in found.numa] == [(n.node, n.socket) for n in machine.numa]
    for node in machine.numa:
        assert model.cores(found, node.node) == model.cores(machine, node.node)
    assert [(gpu.pci, gpu.numa) for gpu in found.gpus] == [(gpu.pci, gpu.numa) for gpu in machine.gpus]
    assert hcas(found) == hcas(machine)
    assert switches(found) == switches(machine)


@pytest.mark.parametrize("formats", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("name", ADDRESSED)
def test_whole_captures_give_the_machine(name: str, formats: tuple[str, ...]) -> None:
    machine = MACHINES[name]
    found = discovered(machine, *formats)
    same(found.node_type, machine)
    assert not found.warnings
    assert not found.unread
    if machine.distances:
        assert found.node_type.distances == machine.distances
    for mine, own in zip(found.node_type.numa, machine.numa, strict=True):
        assert mine.l3 == own.l3
    # hwloc shows cards that have no driver; a tool that lists devices does not.
    names = found.node_type.variants["captured"].names if found.node_type.variants else {}
    assert names == captured.names(machine)


@pytest.mark.parametrize("name", TREES)
def test_every_format_at_once_is_no_contradiction(name: str) -> None:
    machine = MACHINES[name]
    found = discovered(machine, *captured.FORMATS)
    same(found.node_type, machine)


@pytest.mark.parametrize("name", TREES)
def test_the_tree_of_lspci_tells_the_switches(name: str) -> None:
    machine = MACHINES[name]
    found = discovered(machine, "lscpu -e", "lspci -tv", "lspci -D -vmm", "ibdev2netdev -v")
    same(found.node_type, machine)


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-h100", "dgx-2"])
def test_lscpu_and_a_dump_of_nccl(name: str) -> None:
    """The names of second functions stay open, since NCCL merges them; all else is there."""
    machine = MACHINES[name]
    found = discovered(machine, "lscpu", "nccl").node_type
    assert [(gpu.pci, gpu.numa) for gpu in found.gpus] == [(gpu.pci, gpu.numa) for gpu in machine.gpus]
    assert [hca for hca in hcas(found) if hca[3]] == [hca for hca in hcas(machine) if hca[3]]
    assert [group for group in switches(found) if found.gpus[0].pci in group] == [
        group for group in switches(machine) if found.gpus[0].pci in group
    ]


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-h100", "gb200-tray", "dgx-1v"])
def test_summary_and_matrix_alone(name: str) -> None:
    """The two captures that people have: GPUs without addresses, HCAs named as left out."""
    machine = MACHINES[name]
    found = discovered(machine, "lscpu", "nvidia-smi topo -m")
    assert [(gpu.pci, gpu.numa) for gpu in found.node_type.gpus] == [("", gpu.numa) for gpu in machine.gpus]
    assert found.node_type.hcas == ()
    assert any("mlx5_" in line and "PCI address" in line for line in found.unknown)
    for node in machine.numa:
        assert model.cores(found.node_type, node.node) == model.cores(machine, node.node)
        assert model.socket_of(found.node_type, node.node) == node.socket


@pytest.mark.parametrize("name", ADDRESSED)
def test_what_is_written_reads_back_as_it_is(name: str) -> None:
    found = discovered(MACHINES[name], "hwloc 2")
    again = parse_node_type(nodetypetext.dump(found), "captured.yaml").value
    assert again == found.node_type


def test_formats_that_agree_make_a_fact_sure() -> None:
    found = discovered(MACHINES["dgx-a100"], "hwloc 2", "lscpu -e", "nvidia-smi topo -m")
    sure = {of: source.confidence for source in found.node_type.sources for of in source.of.split("; ")}
    assert sure["numa (CPU lists)"] == "high"
    assert sure["numa (SMT siblings)"] == "high"
    assert sure["distances"] == "medium"
