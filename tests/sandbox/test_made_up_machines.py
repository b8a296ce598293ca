"""A made-up machine is read back as the node type that it was made of; no Slurm is needed."""

from itertools import permutations
from pathlib import Path

import pytest
from published import A100_NAMES, address

from hpclaunch.cluster.slurmnode import slurm_node
from hpclaunch.sandbox import groups, machines, pcitree
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue, model
from hpclaunch.topology.local import node_type as as_node_type
from hpclaunch.topology.machine import read_machine
from hpclaunch.values.errors import InputError

# Slurm cannot be told of a NUMA node without CPUs.
NAMES = [name for name in catalogue.names() if all(numa.threads for numa in catalogue.load(name).value.numa)]


def read_back(node_type: NodeType, variant: str | None, folder: Path) -> NodeType:
    machines.write(machines.tree(node_type, variant), slurm_node(node_type), "n1", folder)
    return as_node_type(read_machine(str(folder)))


@pytest.mark.parametrize("name", NAMES)
def test_every_node_type_is_read_back(name: str, tmp_path: Path) -> None:
    made = pcitree.with_addresses(catalogue.load(name).value)
    read = read_back(made, None, tmp_path)
    for numa in made.numa:
        assert model.cores(read, numa.node) == model.cores(made, numa.node)
        assert model.caches(read, numa.node) == model.caches(made, numa.node)
        assert model.socket_of(read, numa.node) == numa.socket
        for other in made.numa:
            assert model.distance(read, numa.node, other.node) == model.distance(made, numa.node, other.node)
    assert model.memory_gib(read) == model.memory_gib(made)
    assert [(gpu.pci, gpu.numa) for gpu in read.gpus] == [(gpu.pci, gpu.numa) for gpu in made.gpus]
    names = model.variant_of(made, None).names if made.variants else {}
    assert read.variants["this-machine"].names == names
    there = [hca for hca in made.hcas if hca.pci in names]
    facts = [(hca.pci, hca.numa, hca.link_layer, hca.rate_gbps, hca.port) for hca in there]
    assert [(hca.pci, hca.numa, hca.link_layer, hca.rate_gbps, hca.port) for hca in read.hcas] == facts


@pytest.mark.parametrize("name", NAMES)
def test_what_hangs_on_one_switch_still_does(name: str, tmp_path: Path) -> None:
    made = pcitree.with_addresses(catalogue.load(name).value)
    read = read_back(made, None, tmp_path)
    before = {device.pci: device.switch for device in (*made.gpus, *made.hcas)}
    after = {device.pci: device.switch for device in (*read.gpus, *read.hcas)}
    # A switch that spans PCI domains is a virtual machine's, and in no PCI tree.
    for one, near, far in permutations(after, 3):
        if one[:4] == near[:4] == far[:4]:
            nearer = model.switches_in_common(before[one], before[near])
            farther = model.switches_in_common(before[one], before[far])
            now = model.switches_in_common(after[one], after[near])
            assert bool(now) == bool(nearer) or one[:8] == near[:8]
            if nearer > farther:
                assert now > model.switches_in_common(after[one], after[far])


@pytest.mark.parametrize("variant", sorted(A100_NAMES))
def test_a_variant_has_its_names_and_no_other_hca(variant: str, tmp_path: Path) -> None:
    read_back(catalogue.load("dgx-a100").value, variant, tmp_path)
    names = {
        link.name: link.resolve().parents[1].name for link in (tmp_path / "sys/class/infiniband").iterdir()
    }
    published = (address(bus) for bus in A100_NAMES[variant].split())
    assert names == {f"mlx5_{number}": pci for number, pci in enumerate(published)}
    verbs = {
        (folder / "ibdev").read_text().strip(): folder.name
        for folder in (tmp_path / "sys/class/infiniband_verbs").iterdir()
    }
    assert verbs == {name: f"uverbs{name.removeprefix('mlx5_')}" for name in names}
    assert {path.name for path in (tmp_path / "dev/infiniband").iterdir()} == set(verbs.values())


def test_gpus_without_an_address_get_one_that_is_free() -> None:
    made = catalogue.load("dell-r750xa").value
    assert not any(gpu.pci for gpu in made.gpus)
    found = [gpu.pci for gpu in pcitree.with_addresses(made).gpus]
    assert len({*found, *(hca.pci for hca in made.hcas)}) == len(found) + len(made.hcas)


def test_slurms_cores_are_those_of_its_own_order(tmp_path: Path) -> None:
    node_type = catalogue.load("dell-r750xa").value  # CPUs alternate between the sockets
    read_back(pcitree.with_addresses(node_type), None, tmp_path)
    lines = (tmp_path / machines.CORES).read_text().splitlines()
    assert lines[:2] == ["0,64", "2,66"]
    assert lines[len(lines) // 2 :][:2] == ["1,65", "3,67"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("dgx-a100", ("dgx-a100", None, 2)),
        ("dgx-a100:1", ("dgx-a100", None, 1)),
        ("dgx-a100@10-device", ("dgx-a100", "10-device", 2)),
        ("dgx-a100@10-device:3", ("dgx-a100", "10-device", 3)),
        ("./some/type.yaml:1", ("./some/type.yaml", None, 1)),
        ("{folder}/a@b:7", ("{folder}/a@b:7", None, 2)),
        ("{folder}/a@b:7:1", ("{folder}/a@b:7", None, 1)),
    ],
)
def test_forms_of_a_node_type(text: str, wanted: tuple[str, str | None, int], tmp_path: Path) -> None:
    (tmp_path / "a@b:7").touch()
    found = groups.parse(text.format(folder=tmp_path), 2)
    assert (found.type, found.variant, found.nodes) == (wanted[0].format(folder=tmp_path), *wanted[1:])


def test_what_cannot_be_a_group_is_refused() -> None:
    node_type = catalogue.load("dgx-a100").value
    one = groups.add([], groups.parse("dgx-a100:2", 1), node_type, 0)
    both = groups.add(one, groups.parse("dgx-a100@10-device:2", 1), node_type, 0)
    assert [group.hosts for group in both] == [("dgx1", "dgx2"), ("dgx3", "dgx4")]
    with pytest.raises(InputError, match="one node type"):
        groups.add(one, groups.parse("dgx-a100", 1), node_type, 560)
    with pytest.raises(InputError, match="it has: 12-device, 10-device"):
        groups.add([], groups.parse("dgx-a100@9-device", 1), node_type, 0)
    with pytest.raises(InputError, match="not 65"):
        groups.parse("dgx-a100:65", 1)
