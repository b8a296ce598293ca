"""lscpu and numactl in all their forms: what was written reads back, and what breaks off is refused."""

import subprocess
from collections.abc import Callable

import made_captures as made
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_captures import Cpus, machines

from hpclaunch.topology.readers import lscpu, numactl
from hpclaunch.topology.seen import Seen
from hpclaunch.values.errors import InputError

SUMMARIES: list[Callable[[Cpus], str]] = [
    made.lscpu_text,
    made.lscpu_sections,
    lambda machine: made.lscpu_json(machine, nested=False),
    lambda machine: made.lscpu_json(machine, nested=True),
    lambda machine: "".join(f"# {line}\n" for line in made.lscpu_text(machine).splitlines()),
    lambda machine: f"[root@dgx001 ~]$ lscpu\r\n{made.lscpu_text(machine)}".replace("\n", "\r\n"),
    lambda machine: f"```json\n{made.lscpu_json(machine, nested=False)}```\n",
    lambda machine: made.hard_wrapped(made.lscpu_text(machine), 57),
]
TABLES: list[Callable[[Cpus], str]] = [
    made.lscpu_table,
    made.lscpu_parsable,
    lambda machine: made.lscpu_table_json(machine, words=False),
    lambda machine: made.lscpu_table_json(machine, words=True),
    lambda machine: "$ lscpu -e\n" + made.lscpu_table(machine),
]
# Two sockets that number their CPUs in turn, with SMT.
DELL = Cpus(
    cores={0: [(0, 4), (2, 6)], 1: [(1, 5), (3, 7)]},
    sockets={0: 0, 1: 1},
    caches={cpu: cpu % 2 for cpu in range(8)},
    mb={0: 191_889, 1: 193_504},
    distances={0: {0: 10, 1: 21}, 1: {0: 21, 1: 10}},
)


def refused(reader: Callable[[str, str], Seen], text: str) -> str:
    with pytest.raises(InputError) as caught:
        reader(text, "cpus.txt")
    return str(caught.value)


@given(machines(), st.sampled_from(SUMMARIES))
def test_a_summary_of_lscpu(machine: Cpus, write: Callable[[Cpus], str]) -> None:
    text = write(machine)
    assert lscpu.looks_like(text)
    seen = lscpu.read(text, "cpus.txt")
    assert {cpu.number: cpu.numa for cpu in seen.cpus} == machine.home()
    assert {node.node: node.cpus for node in seen.numa} == {node: machine.of(node) for node in machine.cores}
    assert seen.sockets == len(set(machine.sockets.values()))
    assert (seen.cpu_count, seen.model) == (len(machine.all), "AMD EPYC 7742 64-Core Processor")
    assert seen.unread == ()


@given(machines(), st.sampled_from(TABLES))
def test_a_table_of_lscpu(machine: Cpus, write: Callable[[Cpus], str]) -> None:
    text = write(machine)
    assert lscpu.looks_like(text)
    seen = lscpu.read(text, "cpus.txt")
    assert [
        {"cpu": c.number, "node": c.numa, "socket": c.socket, "core": c.core, "l3": c.l3} for c in seen.cpus
    ] == machine.rows()
    assert seen.unread == ()


@given(machines(), st.sampled_from([0, 40, 80]))
def test_numactl(machine: Cpus, width: int) -> None:
    text = made.numactl_text(machine)
    assert numactl.looks_like(text)
    seen = numactl.read(made.hard_wrapped(text, width) if width else text, "cpus.txt")
    assert {node.node: node.cpus for node in seen.numa} == {node: machine.of(node) for node in machine.cores}
    assert {node.node: node.kib for node in seen.numa} == {n: mb * 1024 for n, mb in machine.mb.items()}
    assert {node.node: node.distances for node in seen.numa} == machine.distances
    assert seen.unread == ()


@pytest.mark.parametrize(
    "arguments", ["", "-J", "-e", "-p", "-e -J", "-x", "-p=CPU,NODE,CACHE", "-y -e", "-a -e"]
)
def test_what_this_machine_says(arguments: str) -> None:
    """lscpu's own words, whichever version runs the tests."""
    done = subprocess.run(["lscpu", *arguments.split()], capture_output=True, text=True, env={"LC_ALL": "C"})
    if done.returncode:
        pytest.fail(done.stderr)
    with open("/sys/devices/system/cpu/online", encoding="ascii") as online:
        count = len(lscpu.captures.cpus(online.read().strip()))
    assert len(lscpu.read(done.stdout, "cpus.txt").cpus) == count


@pytest.mark.parametrize("write", [made.lscpu_text, made.lscpu_sections, SUMMARIES[2], SUMMARIES[3]])
def test_a_summary_cut_anywhere_tells_nothing_that_the_whole_does_not(write: Callable[[Cpus], str]) -> None:
    text = write(DELL)
    for end in range(len(text)):
        try:
            seen = lscpu.read(text[:end], "cpus.txt")
        except InputError:
            continue
        assert [cpu.number for cpu in seen.cpus] in ([], list(range(8)))
        assert all(node.cpus == DELL.of(node.node) for node in seen.numa)
        assert {cpu.numa for cpu in seen.cpus} in (set(), {0, 1}, {None})


def test_numactl_cut_anywhere_is_refused() -> None:
    text = made.numactl_text(DELL)
    for end in range(len(text) - 1):
        assert refused(numactl.read, text[:end])


def test_off_line_cpus_are_left_out() -> None:
    text = "CPU(s): 4\nOn-line CPU(s) list: 0,2-3\nOff-line CPU(s) list: 1\nNUMA node0 CPU(s): 0,2,3\n"
    assert [cpu.number for cpu in lscpu.read(text, "f").cpus] == [0, 2, 3]
    table = "CPU NODE SOCKET CORE ONLINE\n0 0 0 0 yes\n1 - - - no\n2 0 0 1 yes\n"
    assert [(cpu.number, cpu.core) for cpu in lscpu.read(table, "f").cpus] == [(0, 0), (2, 1)]


def test_memory_alone_is_a_node_without_cpus() -> None:
    text = "CPU(s): 1\nOn-line CPU(s) list: 0\nNUMA node(s): 2\nNUMA node0 CPU(s): 0\nNUMA node1 CPU(s):\n"
    assert [node.cpus for node in lscpu.read(text, "f").numa] == [(0,), ()]


def test_masks() -> None:
    text = "CPU(s): 6\nOn-line CPU(s) mask: 0x3f\nNUMA node0 CPU(s): 0x15\nNUMA node1 CPU(s): 2a\n"
    assert [node.cpus for node in lscpu.read(text, "f").numa] == [(0, 2, 4), (1, 3, 5)]


def test_cores_of_two_kinds_have_no_common_number_of_threads() -> None:
    kind = "Model name: Cortex-A{}\n  Thread(s) per core: {}\n"
    seen = lscpu.read("CPU(s): 2\n" + kind.format(53, 1) + kind.format(72, 2), "f")
    assert (seen.threads_per_core, seen.model, seen.cpu_count) == (None, "Cortex-A53 + Cortex-A72", 2)


def test_old_words() -> None:
    seen = lscpu.read(
        "Architecture: x86_64\nCPU(s): 8\nCPU socket(s): 2\nNUMA node(s): 1\nNUMA node0 CPU(s): 0-7\n", "f"
    )
    assert (seen.sockets, seen.cpu_count, seen.numa[0].cpus) == (2, 8, tuple(range(8)))


def test_sizes_of_caches_are_no_strange_lines() -> None:
    caches = "Caches (sum of all):\n  L1d: 2 MiB (64 instances)\n  L1i: 2 MiB\n  L2: 64 MiB\n  L3: 512 MiB\n"
    seen = lscpu.read(f"CPU(s): 1\nOn-line CPU(s) list: 0\nL1d cache: 32K\n{caches}", "f")
    assert seen.unread == ()


def test_other_lines_are_named() -> None:
    seen = lscpu.read("CPU(s): 1\nHello: world\nOn-line CPU(s) list: 0\n", "f")
    assert seen.unread == ("f:2: not understood: 'Hello: world'",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("NUMA 节点0 CPU: 0,2", "no CPU(s)"),
        ("CPU(s): 2\nOn-line CPU(s) list: 0-99999999999\n", "cpus.txt:2:1"),
        ("CPU(s): many\n", "cpus.txt:1:1"),
        (
            "CPU(s): 2\nOn-line CPU(s) list: 0-1\nNUMA node0 CPU(s): 0\nNUMA node1 CPU(s): 0-1\n",
            "in NUMA node 0 and in 1",
        ),
        ("CPU(s): 2\nNUMA node(s): 2\nNUMA node0 CPU(s): 0-1\n", "2 NUMA nodes and lists 1"),
        ("CPU(s): 2\nNUMA node0 CPU(s): 0\nNUMA node0 CPU(s): 1\n", "node 0 stands twice"),
        ('{"lscpu": [{"field": "CPU(s):"', "cpus.txt:1:"),
        ('{"lscpu": {}}', "neither a list"),
        ('{"cpus": [{"cpu": 0}, {"cpu": 0}]}', "CPU 0 stands twice"),
        ('{"cpus": [{"cpu": {}}]}', "not a number"),
        ("CPU NODE\n0 0\n1\n", "cpus.txt:3:1"),
        ("CPU NODE\n0 0\n0 0\n", "CPU 0 stands twice"),
        ("CPU L1d:L1i:L2:L3\n0 0:0\n", "not one number for each"),
        ("CPU NODE ONLINE\n0 0 maybe\n", "yes or no"),
    ],
)
def test_what_lscpu_would_not_say_is_refused(text: str, says: str) -> None:
    assert says in refused(lscpu.read, text)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("(0-1)", "(0-2)"), "says 2 nodes and lists 3"),
        (("node 1 cpus: 1", "node 1 cpus: 0 1"), "CPU 0 stands in node 0 and in 1"),
        (("node 0 cpus: 0 2", "node 0 cpus: 2 0"), "do not rise"),
        (("node 1 size: 193504 MB\n", ""), "size of node 1"),
        (("node 0 cpus: 0 2 4 6", "node 0 cpus: 0 2 4 66666666"), "is above"),
        (("  0:  10  21", "  0:  10  2"), "below 10"),
        (("  0:  10  21", "  0:  10"), "1 numbers for 2 nodes"),
        (("  1:  21  10", "  0:  21  10"), "second row"),
        (("  1:  21  10\n", ""), "not those of the header"),
        (("node distances:", "node"), "distances are missing"),
    ],
)
def test_what_numactl_would_not_say_is_refused(change: tuple[str, str], says: str) -> None:
    text = made.numactl_text(DELL)
    assert change[0] in text
    assert says in refused(numactl.read, text.replace(*change))


def test_a_machine_without_numa() -> None:
    assert "no line says the CPUs" in refused(numactl.read, "No NUMA available on this system\n")


def test_lines_that_somebody_picked_are_taken() -> None:
    seen = numactl.read("node 0 cpus: 0 1\nnode 1 cpus: 2 3\n", "f")
    assert [(node.cpus, node.kib, node.distances) for node in seen.numa] == [
        ((0, 1), None, {}),
        ((2, 3), None, {}),
    ]
