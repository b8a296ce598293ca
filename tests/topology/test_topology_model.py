"""What is derived from a node type."""

import pytest

from hpclaunch.spec.nodetype import HcaSpec, NodeType, NumaNode, Variant
from hpclaunch.topology import model
from hpclaunch.values.errors import InputError
from hpclaunch.values.placement import Hca


@pytest.fixture
def small() -> NodeType:
    """Two sockets, three NUMA nodes, no matrix; HCAs out of PCI order and in two variants."""
    return NodeType(
        name="small",
        description="made up",
        numa=(
            NumaNode(0, 0, ("4-5", "0-1")),
            NumaNode(1, 0, ("2-3,8", "6-7")),
            NumaNode(5, 1, ("9",)),
        ),
        hcas=(
            HcaSpec("10000:01:00.0", 5),
            HcaSpec("0000:81:00.0", 1, link_layer="Ethernet", port=2),
            HcaSpec("0000:0c:00.0", 0, use="storage"),
            HcaSpec("0000:12:00.0", 0),
        ),
        variants={
            "full": Variant(
                "all cards",
                {
                    "0000:0c:00.0": "mlx5_0",
                    "0000:12:00.0": "mlx5_1",
                    "0000:81:00.0": "mlx5_2",
                    "10000:01:00.0": "mlx5_3",
                },
            ),
            "one": Variant("one card", {"0000:81:00.0": "mlx5_0"}, default=True),
        },
    )


def test_cores_come_in_cpu_order(small: NodeType) -> None:
    assert model.cores(small, 0) == ((4, 0), (5, 1))
    assert model.cores(small, 1) == ((2, 6), (3, 7), (8,))
    assert model.cores(small, 5) == ((9,),)
    assert model.cpu_count(small) == 10


def test_distance_without_a_matrix_follows_the_sockets(small: NodeType) -> None:
    assert [model.distance(small, 0, other) for other in (0, 1, 5)] == [10, 12, 32]


def test_named_hcas_are_the_compute_ones_that_are_there(small: NodeType) -> None:
    second = Hca("mlx5_2", "0000:81:00.0", 1, 2, "Ethernet")
    assert model.named_hcas(small, "full") == (
        Hca("mlx5_1", "0000:12:00.0", 0),
        second,
        Hca("mlx5_3", "10000:01:00.0", 5),
    )
    assert [hca.name for hca in model.named_hcas(small, None)] == ["mlx5_0"]


def test_an_unknown_variant_is_refused_with_the_known(small: NodeType) -> None:
    with pytest.raises(InputError, match="no variant '12'; it has: full, one"):
        model.named_hcas(small, "12")


def test_a_type_without_variants_has_no_names() -> None:
    bare = NodeType(
        name="bare", description="", numa=(NumaNode(0, 0, ("0",)),), hcas=(HcaSpec("0000:01:00.0", 0),)
    )
    assert model.named_hcas(bare, None) == ()
    with pytest.raises(InputError, match="it has: none"):
        model.named_hcas(bare, "full")


def test_an_unknown_numa_node_is_refused_with_the_known(small: NodeType) -> None:
    for ask in (model.cores, model.socket_of):
        with pytest.raises(InputError, match="no NUMA node 2; it has 0-1,5"):
            ask(small, 2)
