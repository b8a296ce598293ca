"""The node type of a machine: any numbering of CPUs, and the machine that runs the tests."""

import json
import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model
from hpclaunch.topology.local import node_type, read_local
from hpclaunch.topology.machine import Cpu, Machine, Memory


@st.composite
def machines(draw: st.DrawFn) -> tuple[Machine, frozenset[int]]:
    """A machine of any CPU numbering, whose cores may have lost threads, and the CPUs that may be used."""
    widths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=10))
    numbers = iter(draw(st.permutations(range(sum(widths)))))
    cores = [tuple(sorted(next(numbers) for _ in range(width))) for width in widths]
    homes = [draw(st.integers(0, 2)) for _ in cores]
    cpus = {cpu: Cpu(cpu, homes[i], core) for i, core in enumerate(cores) for cpu in core}
    memories = [
        Memory(node, tuple(sorted(c for c, cpu in cpus.items() if cpu.package == node)), (), None)
        for node in range(3)
    ]
    allowed = draw(st.frozensets(st.sampled_from(sorted(cpus))))
    return Machine(tuple(cpus[n] for n in sorted(cpus)), tuple(memories), (), (), None), allowed


@given(machines())
def test_cores_are_those_of_the_kernel_less_what_may_not_be_used(
    case: tuple[Machine, frozenset[int]],
) -> None:
    machine, allowed = case
    found = node_type(machine, allowed)
    for node in range(3):
        wanted = {
            tuple(n for n in cpu.siblings if n in allowed) for cpu in machine.cpus if cpu.package == node
        }
        assert model.cores(found, node) == tuple(sorted(core for core in wanted if core))


def cpus(found: NodeType) -> set[int]:
    return {cpu for node in found.numa for core in model.cores(found, node.node) for cpu in core}


def test_this_machine() -> None:
    found = read_local()
    assert cpus(found) == os.sched_getaffinity(0)
    assert found.name == "local"
    assert found.memory_gib


def test_this_machine_with_one_cpu() -> None:
    """A launcher that was bound itself must not hand out CPUs beyond its own."""
    one = max(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, [{one}])\n"
        "from hpclaunch.topology.local import read_local\n"
        "import msgspec, sys; sys.stdout.buffer.write(msgspec.json.encode(read_local().numa))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert [node["threads"] for node in json.loads(done.stdout) if node["threads"]] == [[str(one)]]
