"""A node type that contradicts itself: each contradiction alone is found, at its place."""

import msgspec
import pytest

from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType, NumaNode, Variant
from hpclaunch.topology.consistency import problems

SOUND = NodeType(
    name="sound",
    description="made up",
    numa=(NumaNode(0, 0, ("0-1", "4-5")), NumaNode(1, 1, ("2-3", "6-7"))),
    distances=((10, 21), (21, 10)),
    gpus=(GpuSpec("0000:07:00.0", 0), GpuSpec("0000:87:00.0", 1)),
    hcas=(HcaSpec("0000:0c:00.0", 0), HcaSpec("0000:8d:00.0", 1)),
    variants={
        "two": Variant("both", {"0000:0c:00.0": "mlx5_0", "0000:8d:00.0": "mlx5_1"}, default=True),
        "one": Variant("first", {"0000:0c:00.0": "mlx5_0"}),
    },
)
FIRST = SOUND.numa[0]
WRONG = {
    "no NUMA node": ({"numa": (), "gpus": (), "hcas": (), "variants": {}, "distances": ()}, ("numa",)),
    "NUMA node twice": (
        {"distances": (), "numa": (FIRST, NumaNode(0, 1, ("2",)), NumaNode(1, 1, ()))},
        ("numa", 1, "node"),
    ),
    "not a CPU list": ({"numa": (NumaNode(0, 0, ("0-x",)), SOUND.numa[1])}, ("numa", 0, "threads", 0)),
    "CPU twice": ({"numa": (FIRST, NumaNode(1, 1, ("2-3", "5-6")))}, ("numa", 1, "threads", 1)),
    "second list longer": ({"numa": (NumaNode(0, 0, ("0", "4-5")), SOUND.numa[1])}, ("numa", 0, "threads")),
    "matrix not square": ({"distances": ((10, 21), (21,))}, ("distances",)),
    "short address": ({"gpus": (GpuSpec("07:00.0", 0),)}, ("gpus", 0, "pci")),
    "capitals in an address": ({"gpus": (GpuSpec("0000:0F:00.0", 0),)}, ("gpus", 0, "pci")),
    "GPU where an HCA is": ({"gpus": (GpuSpec("0000:0c:00.0", 0),)}, ("hcas", 0, "pci")),
    "GPU on no NUMA node": ({"gpus": (GpuSpec("0000:07:00.0", 3),)}, ("gpus", 0, "numa")),
    "GPUs out of order": ({"gpus": SOUND.gpus[::-1]}, ("gpus",)),
    "name without an HCA": ({"hcas": SOUND.hcas[:1]}, ("variants", "two", "names", "0000:8d:00.0")),
    "name twice": (
        {"variants": {"v": Variant("", {"0000:0c:00.0": "mlx5_0", "0000:8d:00.0": "mlx5_0"})}},
        ("variants", "v", "names", "0000:8d:00.0"),
    ),
    "two defaults": (
        {"variants": {"a": Variant("", {}, default=True), "b": Variant("", {}, default=True)}},
        ("variants", "b", "default"),
    ),
    "no default": ({"variants": {"a": Variant("", {}), "b": Variant("", {})}}, ("variants",)),
}


def test_a_sound_type_has_no_problem() -> None:
    assert problems(SOUND) == ()


@pytest.mark.parametrize(("changes", "path"), WRONG.values(), ids=WRONG)
def test_each_contradiction_is_found_at_its_place(
    changes: dict[str, object], path: tuple[str | int, ...]
) -> None:
    found = problems(msgspec.structs.replace(SOUND, **changes))
    assert [(problem.document, problem.path) for problem in found] == [("node type", path)]


def test_cores_that_lost_a_thread_are_sound() -> None:
    lists = (NumaNode(0, 0, ("0,2,1", "4,6")), NumaNode(1, 1, ()))
    assert problems(msgspec.structs.replace(SOUND, numa=lists)) == ()
