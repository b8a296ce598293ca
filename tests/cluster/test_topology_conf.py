"""Scalable units as Slurm's topology plugins read them. topology.conf for trees is before a real slurmctld in
tests/sandbox; blocks and topology.yaml need a later Slurm."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.cluster.topologyconf import topology_conf, topology_yaml
from hpclaunch.spec import hosts
from hpclaunch.spec.site import Fabric, NodeGroup, Site, SlurmSite
from hpclaunch.values.errors import InputError


def site(*lists: str, unit: int = 20, topology: Any = "block", version: str = "25.11") -> Site:
    groups = tuple(NodeGroup("dgx-h100", hosts=each) for each in lists)
    return Site("s", "slurm", groups, slurm=SlurmSite(version), fabric=Fabric(unit=unit, topology=topology))


def records(text: str) -> list[dict[str, str]]:
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return [dict(word.split("=", 1) for word in line) for line in lines]


@pytest.mark.parametrize(
    ("version", "nodes", "base"),
    [("24.05", 140, "20"), ("24.11", 127, "7"), ("25.05", 127, "20"), ("25.11", 560, "20")],
)
def test_blocks(version: str, nodes: int, base: str) -> None:
    *blocks, sizes = records(topology_conf(site(f"dgx[1-{nodes}]", version=version)))
    assert sizes == {"BlockSizes": base}
    named = [name for block in blocks for name in hosts.expand(block["Nodes"])]
    assert named == [f"dgx{number}" for number in range(1, nodes + 1)]
    assert max(hosts.count(block["Nodes"]) for block in blocks) == 20
    assert len({block["BlockName"] for block in blocks}) == len(blocks)


@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=4), unit=st.integers(1, 25))
def test_every_node_is_on_one_leaf_and_no_leaf_has_nodes_of_two_groups(sizes: list[int], unit: int) -> None:
    lists = [f"g{index}-[1-{size}]" for index, size in enumerate(sizes)]
    *leaves, spine = records(topology_conf(site(*lists, unit=unit, topology="tree")))
    names = [hosts.expand(leaf["Nodes"]) for leaf in leaves]
    assert sorted(name for each in names for name in each) == sorted(
        name for each in lists for name in hosts.expand(each)
    )
    assert all(len({name.split("-")[0] for name in each}) == 1 for each in names)
    assert all(len(each) <= unit for each in names)
    assert hosts.expand(spine["Switches"]) == sorted(leaf["SwitchName"] for leaf in leaves)


def test_yaml_says_the_same() -> None:
    for topology in ("tree", "block"):
        here = site("dgx[001-050]", topology=topology)
        (entry,) = yaml.safe_load(topology_yaml(here))
        found = {}
        for leaf in entry[topology]["switches" if topology == "tree" else "blocks"]:
            if "nodes" in leaf:
                found[leaf["switch" if topology == "tree" else "block"]] = leaf["nodes"]
        key = "SwitchName" if topology == "tree" else "BlockName"
        assert found == {
            record[key]: record["Nodes"] for record in records(topology_conf(here)) if "Nodes" in record
        }
        assert entry["cluster_default"] is True


@pytest.mark.parametrize(
    ("make", "here", "said"),
    [
        (topology_conf, site("a[1-2]", topology="none"), r"fabric\.topology"),
        (topology_conf, site("a[1-2]", version="23.11"), r"24\.05"),
        (topology_yaml, site("a[1-2]", version="24.11"), r"25\.05"),
        (
            topology_conf,
            Site(
                "s", "slurm", (NodeGroup("x", count=3),), slurm=SlurmSite("25.11"), fabric=Fabric(4, "tree")
            ),
            "have no names",
        ),
    ],
)
def test_what_cannot_be_said_is_refused(make: Callable[[Site], str], here: Site, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(here)
