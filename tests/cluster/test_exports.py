"""What an administrator takes from a site, beside what a real slurmctld takes in tests/sandbox."""

import re

import pytest

from hpclaunch.cluster.export import export
from hpclaunch.cluster.slurmnode import slurm_node
from hpclaunch.spec.nodetype import NodeType, NumaNode
from hpclaunch.spec.site import NodeGroup, Site, SlurmSite
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError

MACHINES = {
    name: catalogue.load(name).value
    for name in ("dgx-1v", "dgx-a100", "dgx-h100", "dell-dss8440-10", "supermicro-4029gp-tvrt")
}


def site(*groups: NodeGroup) -> Site:
    return Site("s", "slurm", groups, slurm=SlurmSite("23.11", partition="batch"))


@pytest.mark.parametrize(
    ("group", "ports"),
    [
        # Storage cards of a DGX A100: mlx5_4 and mlx5_10 are InfiniBand, their second ports Ethernet.
        (NodeGroup("dgx-a100", hosts="n[1-2]"), "mlx5_4/1 mlx5_10/1"),
        (NodeGroup("dgx-a100", hosts="n[1-2]", variant="10-device"), "mlx5_8/1"),
        (NodeGroup("dgx-h100", hosts="n[1-2]"), "mlx5_1/1 mlx5_7/1"),
        # S000: a DGX-1 has no others than those of the jobs.
        (NodeGroup("dgx-1v", hosts="n[1-2]"), "mlx5_0/1 mlx5_1/1 mlx5_2/1 mlx5_3/1"),
    ],
)
def test_verbs_ports(group: NodeGroup, ports: str) -> None:
    text = export("verbsports", site(group), MACHINES, None)
    assert re.findall(r'^mmchconfig .*verbsPorts="([^"]*)" -N (\S+)$', text, re.MULTILINE) == [
        (ports, "n1,n2")
    ]


def test_a_group_without_infiniband_has_no_verbs_ports() -> None:
    plain = NodeGroup("supermicro-4029gp-tvrt", hosts="eth[1-2]")
    text = export("verbsports", site(plain, NodeGroup("dgx-a100", hosts="n1")), MACHINES, None)
    assert re.findall(r"-N (\S+)", text) == ["n1"]
    with pytest.raises(InputError, match="no verbs ports"):
        export("verbsports", site(plain), MACHINES, None)


@pytest.mark.parametrize("form", ["slurm.conf", "gres.conf", "verbsports"])
def test_nodes_without_names_are_refused_by_their_place(form: str) -> None:
    with pytest.raises(InputError, match="dgx-a100 nodes have no names") as caught:
        export(form, site(NodeGroup("dgx-h100", hosts="a"), NodeGroup("dgx-a100", count=3)), MACHINES, None)
    assert [problem.path for problem in caught.value.problems] == [("node_types", 1)]


def test_nccl_is_for_one_machine() -> None:
    both = site(NodeGroup("dgx-a100", hosts="a[1-2]"), NodeGroup("dgx-h100", hosts="h[1-2]"))
    with pytest.raises(InputError, match="--node-type: dgx-a100, dgx-h100"):
        export("nccl", both, MACHINES, None)
    with pytest.raises(InputError, match="--node-type is only for nccl"):
        export("slurm.conf", both, MACHINES, "dgx-a100")
    assert "0000:1b:00.0" in export("nccl", both, MACHINES, "dgx-h100")
    with pytest.raises(InputError, match="no nodes of type dgx-2"):
        export("nccl", both, MACHINES, "dgx-2")
    twice = site(NodeGroup("dgx-a100", hosts="a"), NodeGroup("dgx-a100", hosts="b", variant="10-device"))
    with pytest.raises(InputError, match="several variants"):
        export("nccl", twice, MACHINES, "dgx-a100")


def test_reserved_cpus_in_slurm_s_own_numbers() -> None:
    """Slurm counts core by core: CPUs 0, 1, 128 and 129 of a DGX A100 are cores 0 and 1, its CPUs 0 to 3; on
    even and odd numbers CPUs 1 and 49 are the first core of the second socket, with 48 CPUs before it."""
    for name, reserved, own in (("dgx-a100", "0-1,128-129", "0-3"), ("dell-dss8440-10", "1,49", "48-49")):
        text = export("slurm.conf", site(NodeGroup(name, hosts="n1", reserved_cpus=reserved)), MACHINES, None)
        assert re.findall(r"^#.*CpuSpecList=(\S+)", text, re.MULTILINE) == [own]


def test_memory_that_is_not_known_is_left_to_the_administrator() -> None:
    machine = NodeType("bare", "", (NumaNode(0, 0, ("0-3",)),))
    text = export("slurm.conf", site(NodeGroup("bare", hosts="n1")), {"bare": machine}, None)
    (line,) = re.findall(r"^NodeName=.*", text, re.MULTILINE)
    assert "RealMemory" not in line
    assert "slurmd -C" in text
    assert slurm_node(machine).memory_mib > 0


def test_sockets_in_the_order_of_their_cpus() -> None:
    """hwloc counts by CPU numbers, whatever the firmware calls a socket or a NUMA node."""
    machine = NodeType(
        "odd", "", (NumaNode(0, 1, ("4-5",)), NumaNode(1, 0, ("6-7",)), NumaNode(2, 0, ("0-3",)))
    )
    with pytest.raises(InputError, match="sockets of one size"):
        slurm_node(machine)
    machine = NodeType(
        "odd", "", (NumaNode(0, 1, ("4-7",)), NumaNode(1, 0, ("2-3",)), NumaNode(2, 0, ("0-1",)))
    )
    node = slurm_node(machine)
    assert [(group.node, group.core_range) for group in node.numa] == [(2, "0-1"), (1, "2-3"), (0, "4-7")]


def test_a_site_without_slurm() -> None:
    here = Site("here", "local", (NodeGroup("dgx-a100"),))
    with pytest.raises(InputError, match="no Slurm"):
        export("slurm.conf", here, MACHINES, None)
