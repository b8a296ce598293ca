"""A node type whose data contradict themselves is refused at the place of the contradiction."""

import pytest

from hpclaunch.spec.read import parse_node_type
from hpclaunch.values.errors import InputError

MACHINE = """\
name: two-node
description: a small machine
numa:
  - {node: 0, socket: 0, threads: [0-1, 4-5]}
  - {node: 1, socket: 1, threads: ["2,3", "6,7"]}
distances:
  - [10, 20]
  - [20, 10]
gpus:
  - {pci: 0000:07:00.0, numa: 0}
  - {pci: "0000:0f:00.0", numa: 1}
hcas:
  - {pci: 0000:0c:00.0, numa: 0}
  - {pci: 0000:61:00.1, numa: 1, use: storage}
variants:
  full: {when: always, default: true, names: {0000:0c:00.0: mlx5_0, 0000:61:00.1: mlx5_1}}
  small: {when: never, names: {0000:0c:00.0: mlx5_0}}
env: {A: 1.10}
sources: [{of: all, source: made up, confidence: low}]
"""


def test_a_sound_machine_is_read():
    machine = parse_node_type(MACHINE, "f").value
    assert machine.numa[0].threads == ("0-1", "4-5")
    assert machine.gpus[0].pci == "0000:07:00.0"
    assert machine.variants["full"].names == {"0000:0c:00.0": "mlx5_0", "0000:61:00.1": "mlx5_1"}
    assert machine.distances == ((10, 20), (20, 10))
    assert machine.env == {"A": "1.10"}


CORPUS = [
    ("[0-1, 4-5]", "[0-1, 4]", "4:35", "different lengths"),
    ("[0-1, 4-5]", "[0-1, x]", "4:41", "numa[0].threads[1]: 'x' is neither a number nor a range"),
    ('["2,3", "6,7"]', '["2,3", "5,6"]', "5:43", "CPU 5 stands in NUMA node 0 already"),
    ("socket: 1", "socket: -1", "5:23", "must be 0 or more"),
    ("  - [20, 10]\n", "", "7:3", "1 rows for 2 NUMA nodes"),
    ("[20, 10]", "[20]", "8:5", "1 numbers for 2 NUMA nodes"),
    ("[20, 10]", "[20, 0]", "8:5", "at least 1"),
    ("[20, 10]", "[20, ten]", "8:10", "'ten' is not a whole number"),
    (
        "{pci: 0000:07:00.0, numa: 0}",
        "{pci: 0000:07:0.0, numa: 0}",
        "10:11",
        "'0000:07:0.0' is not a PCI address",
    ),
    ('"0000:0f:00.0"', "0000:0F:00.0", "11:11", "in lower case"),
    ("0000:07:00.0, numa: 0", "0000:07:00.8, numa: 0", "10:11", "'0000:07:00.8' is not a PCI address"),
    ("0000:07:00.0, numa: 0", "10000:01:00.0, numa: 0", "10:3", "the order of their PCI addresses"),
    ('"0000:0f:00.0"', "0000:07:00.0", "11:11", "0000:07:00.0 stands twice"),
    ('"0000:0f:00.0"', "0000:01:00.0", "10:3", "in the order of their PCI addresses"),
    ("{pci: 0000:0c:00.0, numa: 0}", "{pci: 0000:0c:00.0, numa: 5}", "13:31", "there is no NUMA node 5"),
    ("use: storage", "use: Storage", "14:39", "did you mean 'storage'"),
    ("use: storage", "port: 0", "14:40", "must be at least 1"),
    (
        "when: never, names: {0000:0c:00.0",
        "when: never, names: {0000:0d:00.0",
        "17:46",
        "there is no HCA 0000:0d:00.0",
    ),
    ("mlx5_1}", "mlx5_0}", "16:83", "0000:0c:00.0 is named mlx5_0 already"),
    ("when: never,", "when: never, default: yes,", "17:33", "full is the default already"),
    ("when: never, ", "", "17:10", "the key 'when' is missing (in variants.small)"),
    ("confidence: low", "confidence: sure", "19:50", "'sure' is not one of high, medium, low"),
]


@pytest.mark.parametrize(("old", "new", "place", "said"), CORPUS, ids=[case[3] for case in CORPUS])
def test_one_contradiction_at_its_place(old, new, place, said):
    assert MACHINE.count(old) == 1
    with pytest.raises(InputError) as caught:
        parse_node_type(MACHINE.replace(old, new), "f")
    (problem,) = caught.value.problems
    assert problem.where == f"f:{place}"
    assert said in problem.message


def test_each_numa_node_has_its_own_number():
    with pytest.raises(InputError) as caught:
        parse_node_type(MACHINE.replace("node: 1,", "node: 0,"), "f")
    found = [(problem.where, problem.message) for problem in caught.value.problems]
    assert found[0] == ("f:5:12", "numa[1].node: 0 must be 0 or more, and each node its own")
    assert [where for where, _ in found[1:]] == ["f:11:33", "f:14:31"]  # what hung on node 1
