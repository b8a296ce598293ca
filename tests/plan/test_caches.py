"""Last-level caches stay whole where cores are divided, against every way to divide them."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from machines import machines

from hpclaunch.plan import placement
from hpclaunch.plan.caches import Cores, regrouped
from hpclaunch.plan.split import runs
from hpclaunch.spec.job import Bind
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue, model
from hpclaunch.values.cpulist import format_list, parse


def whole(shares: Sequence[Cores], caches: Sequence[frozenset[int]]) -> int:
    """How many caches have cores in one share alone."""
    return sum(
        sum(any(core[0] in cache for core in share) for share in shares) == 1
        for cache in caches
        if any(core[0] in cache for share in shares for core in share)
    )


def every_way(cores: Cores, sizes: Sequence[int]) -> Iterator[tuple[Cores, ...]]:
    if not sizes:
        yield ()
        return
    for share in combinations(cores, sizes[0]):
        for others in every_way(tuple(core for core in cores if core not in share), sizes[1:]):
            yield (share, *others)


def shares_and_caches(
    count: int, behind: Sequence[int], parts: int
) -> tuple[tuple[Cores, ...], list[frozenset[int]]]:
    """Runs of `count` cores with two threads, behind caches of these numbers of cores."""
    cores = tuple((number, number + 100) for number in range(count))
    caches, start = [], 0
    for size in behind:
        caches.append(frozenset(cpu for core in cores[start : start + size] for cpu in core))
        start += size
    return runs(cores, parts), caches


@settings(deadline=None)
@given(size=st.integers(1, 4), number=st.integers(1, 8), parts=st.integers(1, 4))
def test_caches_of_one_size_are_split_as_little_as_can_be(size: int, number: int, parts: int) -> None:
    assume(parts <= size * number <= 8)
    shares, caches = shares_and_caches(size * number, [size] * number, parts)
    found = regrouped(shares, caches)
    best = max(whole(way, caches) for way in every_way(sum(shares, ()), list(map(len, shares))))
    assert whole(found, caches) == best
    assert list(map(len, found)) == list(map(len, shares))
    assert sorted(sum(found, ())) == sorted(sum(shares, ()))
    if whole(shares, caches) == best:
        assert found == shares  # runs stay where they are as good


@settings(deadline=None)
@given(behind=st.lists(st.integers(1, 6), min_size=1, max_size=8), parts=st.integers(1, 5))
def test_caches_of_any_sizes_are_split_no_more_than_by_runs(behind: list[int], parts: int) -> None:
    assume(parts <= sum(behind))
    shares, caches = shares_and_caches(sum(behind), behind, parts)
    found = regrouped(shares, caches)
    assert whole(found, caches) >= whole(shares, caches)
    assert list(map(len, found)) == list(map(len, shares))
    assert sorted(sum(found, ())) == sorted(sum(shares, ()))


@settings(deadline=None)
@given(machine=machines(), ranks=st.integers(1, 20), policy=st.sampled_from(["local", "spread"]))
def test_no_machine_has_more_split_caches_than_it_must(machine: NodeType, ranks: int, policy: str) -> None:
    """A share of n cores has no more than n // size caches to itself, and as many it gets."""
    found = placement.whole_node(
        machine,
        len(machine.gpus),
        ranks,
        Bind(cpus=policy),
        (),
        frozenset(),  # type: ignore[arg-type]
    )
    for node in machine.numa:
        cores = model.cores(machine, node.node)
        caches = model.caches(machine, node.node)
        shares = [tuple(core for core in cores if core[0] in seat.cpus) for seat in found]
        taken = [core for share in shares for core in share]
        sizes = {len(cache) // len(cores[0]) for cache in caches}
        if len(sizes) == 1 and len(taken) == len(set(taken)) == len(cores):
            (size,) = sizes
            assert whole(shares, caches) == sum(len(share) // size for share in shares)


@pytest.mark.parametrize(
    ("ranks", "reserved", "expected"),
    [
        # 6, 5 and 5 of 16 cores with 4 behind each cache: runs would split two of them.
        (3, "", ["0-3,12-13", "4-7,14", "8-11,15"]),
        (4, "", ["0-3", "4-7", "8-11", "12-15"]),
        (2, "0,128", ["4-11", "1-3,12-15"]),
        (5, "", ["0-3", "4-6", "7-9", "10-12", "13-15"]),
    ],
)
def test_sixteen_cores_behind_four_caches(ranks: int, reserved: str, expected: list[str]) -> None:
    machine = catalogue.load("dgx-a100").value
    node = machine.numa[0]
    one = NodeType("one", "a NUMA node alone", (node,))
    found = placement.whole_node(one, 0, ranks, Bind(smt=False), (), frozenset(parse(reserved)))
    assert [format_list(seat.cpus) for seat in found] == expected
