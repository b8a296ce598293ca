"""Kinds of nodes, and which node of a kind is asked. A real Slurm's nodes are in tests/sandbox."""

import pytest

from hpclaunch.schedulers.slurm_cluster import parse_nodes
from hpclaunch.schedulers.slurm_nodes import one_of_each, type_name
from hpclaunch.values.cluster import ClusterNode


def node(
    name: str, gres: str = "gpu:a100:8(S:0-1)", features: str = "ib", state: str = "IDLE"
) -> ClusterNode:
    """As 22.05 prints it, shortened."""
    (found,), unread = parse_nodes(
        f"NodeName={name} CoresPerSocket=64 AvailableFeatures={features} ActiveFeatures={features} "
        f"Gres={gres} RealMemory=1000000 Sockets=2 State={state} ThreadsPerCore=2 Partitions=batch"
    )
    assert unread == ()
    return found


def test_nodes_that_are_alike_are_one_kind() -> None:
    nodes = (
        node("a1", state="DOWN*"),
        node("a2", gres="gpu:a100:8(S:0,1)"),
        node("a3"),
        node("b1", gres="gpu:a100:4(S:0-1)"),
        node("c1", features="ib,big"),
        node("d1", gres="(null)", features="(null)"),
    )
    kinds = one_of_each(nodes)
    assert [found and found.name for found in kinds.values()] == ["a2", "b1", "c1", "d1"]
    words = tuple(kinds)
    assert words[0] == "2x64x2 sockets, cores, threads, Gres gpu:a100:8, features ib"
    assert words[-1] == "2x64x2 sockets, cores, threads, Gres none, features none"


@pytest.mark.parametrize(
    ("state", "starts"),
    [
        ("IDLE", True),
        ("MIXED", True),
        ("ALLOCATED", True),
        ("IDLE+CLOUD", True),
        ("IDLE*", False),
        ("IDLE+DRAIN", False),
        ("MIXED+DRAIN+RESERVED", False),
        ("IDLE+CLOUD+POWERED_DOWN", False),
        ("DOWN+NOT_RESPONDING", False),
        ("IDLE+MAINTENANCE+RESERVED", False),
        ("IDLE+INVALID_REG", False),
    ],
)
def test_nodes_that_start_nothing_are_not_asked(state: str, starts: bool) -> None:
    (found,) = one_of_each([node("a1", state=state)]).values()
    assert (found is not None) is starts


@pytest.mark.parametrize(
    ("name", "gres", "expected"),
    [
        ("dgx-a100-004", "(null)", "dgx-a100"),
        ("dgx1", "gpu:a100:8(S:0-1)", "dgx-a100"),
        ("dgx1.cluster.example", "shard:8,gpu:h100:8", "dgx-h100"),
        ("dgx1", "gpu:1g.5gb:56", "dgx"),
        ("17", "gpu:8", "node"),
    ],
)
def test_names_of_node_types(name: str, gres: str, expected: str) -> None:
    assert type_name(node(name, gres)) == expected
