"""NCCL's topology file of every node type tells the machine that it was made of."""

import re

import pytest
from msgspec import structs

from hpclaunch.cluster.ncclxml import nccl_xml
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue, model
from hpclaunch.topology.readers import nccl
from hpclaunch.values import pci
from hpclaunch.values.cpulist import parse
from hpclaunch.values.errors import InputError

MACHINES = {name: catalogue.load(name).value for name in catalogue.names()}
ADDRESSED = [name for name, machine in MACHINES.items() if all(gpu.pci for gpu in machine.gpus)]


def in_common(path_a: tuple[str, ...], path_b: tuple[str, ...]) -> int:
    return len([one for one, other in zip(path_a, path_b, strict=False) if one == other])


@pytest.mark.parametrize("name", ADDRESSED)
def test_the_reader_of_dumps_finds_the_same_machine(name: str) -> None:
    machine = MACHINES[name]
    for variant in machine.variants or [None]:
        seen = nccl.read(nccl_xml(machine, variant), "topo.xml")
        assert seen.unread == ()
        assert {node.node: node.cpus for node in seen.numa} == {
            node.node: tuple(sorted(cpu for text in node.threads for cpu in parse(text))) or None
            for node in machine.numa
        }
        assert [(gpu.pci, gpu.numa) for gpu in seen.gpus] == [(gpu.pci, gpu.numa) for gpu in machine.gpus]
        names = model.variant_of(machine, variant).names if variant else {}
        there = sorted((hca for hca in machine.hcas if hca.pci in names), key=lambda hca: pci.order(hca.pci))
        assert [(hca.pci, hca.numa, hca.link_layer) for hca in seen.hcas] == [
            (hca.pci, hca.numa, hca.link_layer) for hca in there
        ]
        for gpu, spec in zip(seen.gpus, machine.gpus, strict=True):
            for hca, of in zip(seen.hcas, there, strict=True):
                assert in_common(gpu.path, hca.path) == (
                    model.switches_in_common(spec.switch, of.switch) if spec.numa == of.numa else 0
                )


@pytest.mark.parametrize("name", ["a--b", "a---b-"])
def test_a_name_with_hyphens_leaves_the_comment_whole(name: str) -> None:
    text = nccl_xml(structs.replace(MACHINES["dgx-1v"], name=name), None)
    assert len(nccl.read(text, "topo.xml").gpus) == 8


@pytest.mark.parametrize("name", ADDRESSED)
def test_the_form_is_what_nccl_s_own_parser_takes(name: str) -> None:
    """src/graph/xml.cc: values of at most 254 characters, at most 256 elements, a blank before each attribute
    and none before the end, no attribute that belongs to another machine's CPU."""
    text = nccl_xml(MACHINES[name], None)
    assert len(re.findall(r"<[a-z]", text)) <= 256
    assert max(len(value) for value in re.findall(r'"([^"]*)"', text)) < 255
    assert not re.search(r"\s/?>", text)
    assert not re.search(r"\b(arch|vendor|familyid|modelid|name)=", text)
    switches = re.findall(r"<pci [^>]*0x060400[^>]*>", text)
    assert all("link_speed=" in each and "link_width=" in each for each in switches)
    busids = re.findall(r'busid="([^"]*)"', text)
    assert len(set(busids)) == len(busids)


def test_a_switch_is_as_fast_as_its_adapters() -> None:
    """PCI 3.0 for EDR, 4.0 for HDR, 5.0 for NDR."""
    for name, speed in (("dgx-2", "8 GT/s"), ("dgx-a100", "16 GT/s"), ("dgx-h100", "32 GT/s")):
        assert set(re.findall(r'link_speed="([^"]*)"', nccl_xml(MACHINES[name], None))) == {speed}


def test_a_machine_without_addresses_is_refused() -> None:
    unknown: list[NodeType] = [MACHINES[name] for name in MACHINES if name not in ADDRESSED]
    assert unknown
    for machine in unknown:
        with pytest.raises(InputError, match="PCI addresses"):
            nccl_xml(machine, None)
