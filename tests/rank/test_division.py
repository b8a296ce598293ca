"""The division of a job's cores among its ranks on a part of a node, against an independent calculation."""

from dataclasses import dataclass
from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_node import Node
from running import Runner

from hpclaunch.values.cpulist import format_list, parse

Core = tuple[int, ...]


@dataclass(frozen=True)
class Machine:
    """`cores` are (pool, NUMA node, CPUs) as in the table; `gpus` the pools of each, the nearest first."""

    cores: list[tuple[int, int, Core]]
    gpus: list[list[int]]

    def settings(self) -> tuple[str, str]:
        cores = " ".join(f"{pool}.{node}:{'/'.join(map(str, cpus))}" for pool, node, cpus in self.cores)
        gpus = " ".join(
            f"0000:{bus:02x}:00.0|{','.join(map(str, pools))}|" for bus, pools in enumerate(self.gpus)
        )
        return f"cores={cores}", f"gpus={gpus}"


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    cores, cpu = [], 0
    threads = draw(st.sampled_from((1, 2, 2, 4)))
    # Numbered from somewhere in steps, as kernels number siblings; pools may have several NUMA nodes.
    pools = draw(st.integers(1, 4))
    for node in range(draw(st.integers(pools, 5))):
        for _ in range(draw(st.integers(1, 6))):
            cores.append((node % pools, node, tuple(cpu + 40 * thread for thread in range(threads))))
            cpu += 1
    gpus = draw(st.lists(st.permutations(range(pools)), max_size=6))
    return Machine(draw(st.permutations(cores)), gpus)


def divided(items: list[Core], parts: int) -> list[list[Core]]:
    """In runs whose lengths differ by one at most, the longer first; too few items are shared."""
    if len(items) < parts:
        return [items[part * len(items) // parts :][:1] for part in range(parts)]
    lengths = sorted((len(range(part, len(items), parts)) for part in range(parts)), reverse=True)
    ends = list(accumulate(lengths))
    return [items[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def expected(
    machine: Machine, allowed: set[int], granted: list[int], seats: list[list[int]]
) -> list[set[Core]]:
    """The cores of each rank."""
    mine = [
        (pool, kept)
        for pool, _, cpus in machine.cores
        if (kept := tuple(cpu for cpu in cpus if cpu in allowed))
    ]
    if not any(seats):
        return list(map(set, divided([core for _, core in mine], len(seats))))
    there = {pool for pool, _ in mine}
    homes = [next(pool for pool in machine.gpus[gpu] if pool in there) for gpu in granted]
    shares: dict[int, list[Core]] = {}
    for pool in there:
        owners = [position for position, home in enumerate(homes) if home == pool]
        parts = divided([core for home, core in mine if home == pool], len(owners)) if owners else []
        shares |= dict(zip(owners, parts, strict=True))
    owned = {core for share in shares.values() for core in share}
    left = {core for _, core in mine} - owned
    if not left and not all(seats):  # each GPU gives its last, if its ranks have others
        for position, share in shares.items():
            if len(share) > sum(position in seat for seat in seats):
                left.add(share.pop())
    left = left or {core for _, core in mine}
    result = []
    for rank, positions in enumerate(seats):
        cores: set[Core] = set() if positions else left
        for position in positions:
            sharers = [other for other, seat in enumerate(seats) if position in seat]
            cores |= set(divided(shares[position], len(sharers))[sharers.index(rank)])
        result.append(cores)
    return result


@settings(max_examples=40, deadline=None)
@given(data=st.data(), machine=machines())
def test_ranks_have_what_they_should(
    shell_on_node: tuple[Runner, Node], data: st.DataObject, machine: Machine
) -> None:
    on_node, node = shell_on_node
    cpus = [cpu for _, _, core in machine.cores for cpu in core]
    allowed = set(data.draw(st.sets(st.sampled_from(cpus), min_size=1)))
    granted = sorted(data.draw(st.sets(st.integers(0, len(machine.gpus) - 1)))) if machine.gpus else []
    seat = st.sets(st.integers(0, len(granted) - 1), max_size=3).map(sorted) if granted else st.just([])
    seats = data.draw(st.lists(seat, min_size=1, max_size=5))
    node.allowed(format_list(allowed))
    settings = (*machine.settings(), "seats=" + ";".join(map(format_list, seats)), "part=cpus,membind")
    nodes = {cpu: number for _, number, core in machine.cores for cpu in core}
    for rank, cores in enumerate(expected(machine, allowed, granted, seats)):
        env = {
            "SLURM_LOCALID": str(rank),
            "SLURM_STEP_NUM_TASKS": str(len(seats)),
            "SLURM_STEP_NUM_NODES": "1",
            "SLURM_STEP_GPUS": ",".join(map(str, granted)),
        }
        result = on_node("from=slurm", *settings, "--", "--", "true", env=env)
        assert (result.returncode, result.stderr) == (0, b"")
        own = {cpu for core in cores for cpu in core}
        assert set(parse(node.cores() or "")) == own
        policy = (node.policy() or "").removeprefix("--membind=")
        assert set(parse(policy)) == {nodes[cpu] for cpu in own}
