"""Which cores, memory, GPUs and HCAs each local rank gets."""

from collections import Counter
from itertools import groupby

import published
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from machines import machines
from solvers import searched

from hpclaunch.plan import placement
from hpclaunch.spec.job import Bind
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue, model
from hpclaunch.values.cpulist import format_list, parse
from hpclaunch.values.errors import InputError
from hpclaunch.values.placement import Seat

COUNTS = (1, 2, 3, 4, 8, 16, 33)


def seats(
    name: str, ranks: int, variant: str | None = None, reserved: str = "", **bind: object
) -> tuple[Seat, ...]:
    machine = catalogue.load(name).value
    hcas = model.named_hcas(machine, variant)
    return placement.whole_node(
        machine,
        len(machine.gpus),
        ranks,
        Bind(**bind),
        hcas,
        frozenset(parse(reserved)),  # type: ignore[arg-type]
    )


def cpus(found: tuple[Seat, ...]) -> list[str]:
    return [format_list(seat.cpus) for seat in found]


def mems(found: tuple[Seat, ...]) -> list[str]:
    return [format_list(seat.mems) for seat in found]


def test_dgx_a100_reference() -> None:
    found = seats("dgx-a100", 8)
    assert cpus(found) == list(published.A100_CPUS)
    assert [seat.mems for seat in found] == [(numa,) for numa in published.A100_MEMS]
    assert [seat.gpus for seat in found] == [(gpu,) for gpu in range(8)]
    assert [seat.hcas for seat in found] == [(name,) for name in published.A100_HCAS]


def test_dgx_a100_without_the_second_storage_card() -> None:
    found = seats("dgx-a100", 8, variant="10-device")
    assert [seat.hcas for seat in found] == [(f"mlx5_{number}",) for number in range(8)]
    assert cpus(found) == list(published.A100_CPUS)


def test_dgx_a100_spread_as_published() -> None:
    found = seats("dgx-a100", 8, cpus="spread", smt=False)
    assert cpus(found) == list(published.A100_SPREAD)
    assert mems(found) == ["0", "3", "1", "2", "4", "7", "5", "6"]


def test_dgx_a100_one_rank_has_the_memory_that_dlrm_binds_to() -> None:
    (seat,) = seats("dgx-a100", 1)
    assert seat.mems == (1, 3, 5, 7)
    assert seat.gpus == tuple(range(8))


def test_dgx_h100_as_published() -> None:
    found = seats("dgx-h100", 8)
    assert cpus(found) == [f"{14 * r}-{14 * r + 13},{112 + 14 * r}-{125 + 14 * r}" for r in range(8)]
    assert mems(found) == ["0"] * 4 + ["1"] * 4
    assert [name for seat in found for name in seat.hcas] == [f"mlx5_{n}" for n in (0, 3, 4, 5, 6, 9, 10, 11)]


def test_three_ranks_on_eight_gpus() -> None:
    assert [seat.gpus for seat in seats("dgx-a100", 3)] == [(0, 1, 2), (3, 4, 5), (6, 7)]


def test_the_helper_among_33_ranks_has_what_nobody_owns() -> None:
    found = seats("dgx-a100", 33)
    assert [len(seat.gpus) for seat in found] == [1] * 32 + [0]
    assert Counter(seat.gpus for seat in found[:32]) == {(gpu,): 4 for gpu in range(8)}
    assert found[32].mems == (0, 2, 4, 6)
    assert format_list(found[32].cpus) == "0-15,32-47,64-79,96-111,128-143,160-175,192-207,224-239"


def test_the_helper_on_a_machine_without_spare_cores_gets_one_of_each_share() -> None:
    found = seats("dgx-h100", 33)
    assert format_list(found[32].cpus) == ",".join(
        [str(14 * gpu + 13) for gpu in range(8)] + [str(125 + 14 * gpu) for gpu in range(8)]
    )
    everyone = Counter(cpu for seat in found for cpu in seat.cpus)
    assert set(everyone.values()) == {1}


@pytest.mark.parametrize("name", ["dgx-a100", "dgx-h100"])
@pytest.mark.parametrize("ranks", COUNTS)
@pytest.mark.parametrize("policy", ["local", "spread"])
def test_no_core_belongs_to_two_ranks(name: str, ranks: int, policy: str) -> None:
    found = seats(name, ranks, cpus=policy)
    owners = Counter(cpu for seat in found for cpu in seat.cpus)
    assert set(owners.values()) == {1}
    assert all(seat.cpus for seat in found)


def test_reserved_cpus_are_left_out() -> None:
    found = seats("dgx-a100", 8, reserved="48-49,176,16")
    taken = {cpu for seat in found for cpu in seat.cpus}
    assert taken.isdisjoint({48, 49, 176, 16})
    assert {50, 177, 17, 144} <= taken


def test_policies_that_do_not_bind() -> None:
    for seat in seats("dgx-a100", 8, cpus="none", memory="none", hcas="none"):
        assert (seat.cpus, seat.mems, seat.hcas) == ((), (), ())
    unbound = seats("dgx-a100", 8, cpus="none")
    assert [seat.mems for seat in unbound] == [(numa,) for numa in published.A100_MEMS]
    assert {len(seat.hcas) for seat in seats("dgx-a100", 8, hcas="all")} == {8}


def test_explicit_lists() -> None:
    found = seats("dgx-a100", 2, cpus=("0-3", "64"), memory=("0", "4-5"), hcas=("mlx5_0,mlx5_2", "mlx5_9"))
    assert cpus(found) == ["0-3", "64"]
    assert mems(found) == ["0", "4-5"]
    assert [seat.hcas for seat in found] == [("mlx5_0", "mlx5_2"), ("mlx5_9",)]


@pytest.mark.parametrize(
    ("bind", "words"),
    [
        ({"cpus": ("0", "1", "2")}, ["3 entries", "2 ranks"]),
        ({"cpus": ("0", "256")}, ["256", "0-255"]),
        ({"memory": ("0", "8")}, ["8", "0-7"]),
        ({"hcas": ("mlx5_0", "mlx5_4")}, ["mlx5_4", "mlx5_9"]),  # mlx5_4 is a storage port
    ],
)
def test_explicit_lists_that_do_not_fit(bind: dict[str, tuple[str, ...]], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        seats("dgx-a100", 2, **bind)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("name", catalogue.names())
def test_every_node_type_with_any_number_of_ranks(name: str) -> None:
    machine = catalogue.load(name).value
    cpus = model.cpu_count(machine)
    few = set(range(1, 2 * len(machine.gpus) + 3))
    for ranks in sorted(few | set(range(1, cpus + 1, 17)) | {cpus - 1, cpus}):
        check(machine, ranks, Bind(), frozenset())
    for policy in ("local", "spread"):
        check(machine, len(machine.gpus) or 1, Bind(cpus=policy, smt=False), frozenset({0}))  # type: ignore[arg-type]


@settings(deadline=None)
@given(
    machine=machines(),
    ranks=st.integers(1, 40),
    policy=st.sampled_from(["local", "spread"]),
    smt=st.booleans(),
    reserved=st.frozensets(st.integers(0, 20), max_size=4),
)
def test_on_any_machine(
    machine: NodeType, ranks: int, policy: str, smt: bool, reserved: frozenset[int]
) -> None:
    assume(any(cpu not in reserved for cpu in range(model.cpu_count(machine))))
    check(machine, ranks, Bind(cpus=policy, smt=smt), reserved)  # type: ignore[arg-type]


def check(machine: NodeType, ranks: int, bind: Bind, reserved: frozenset[int]) -> None:
    """What holds for the seats on any machine."""
    hcas = model.named_hcas(machine, None)
    found = placement.whole_node(machine, len(machine.gpus), ranks, bind, hcas, reserved)
    by_numa = {
        node.node: [
            tuple(left) if bind.smt else (left[0],)
            for core in model.cores(machine, node.node)
            if (left := [cpu for cpu in core if cpu not in reserved])
        ]
        for node in machine.numa
    }
    home = {cpu: numa for numa, cores in by_numa.items() for core in cores for cpu in core}
    assert [seat.local_rank for seat in found] == list(range(ranks))
    for seat in found:
        assert seat.cpus
        assert set(seat.mems) == {home[cpu] for cpu in seat.cpus}
        # A core is whole, with all its siblings that jobs may use.
        assert set(seat.cpus) == {
            cpu for cores in by_numa.values() for core in cores if set(core) & set(seat.cpus) for cpu in core
        }
        for gpu in seat.gpus:
            near = machine.gpus[gpu].numa
            if by_numa[near]:
                sockets = {model.socket_of(machine, numa) for numa in seat.mems}
                assert (
                    near in seat.mems if bind.cpus == "local" else model.socket_of(machine, near) in sockets
                )
        if bind.cpus == "local" and seat.gpus:
            homes = {machine.gpus[gpu].numa for gpu in seat.gpus}
            assert set(seat.mems) <= homes or not all(by_numa[numa] for numa in homes)
    # Every GPU has a rank, and every rank a GPU where there are enough, but for a helper.
    assert {gpu for seat in found for gpu in seat.gpus} == set(range(len(machine.gpus)))
    idle = [seat.local_rank for seat in found if not seat.gpus]
    assert idle in ([], [ranks - 1]) or not machine.gpus
    check_sharing(machine, found, by_numa)
    for seat in found:
        assert sorted((*seat.hcas, *seat.next_hcas)) == sorted(hca.name for hca in hcas)
        assert len(seat.hcas) == len(set(seat.hcas)) >= bool(hcas)


def check_sharing(
    machine: NodeType, found: tuple[Seat, ...], by_numa: dict[int, list[tuple[int, ...]]]
) -> None:
    """Where there are cores enough near the GPUs no core has two ranks, and parts are even, the larger
    first."""
    own = [[core for cores in by_numa.values() for core in cores if core[0] in seat.cpus] for seat in found]
    working = [cores for seat, cores in zip(found, own, strict=True) if seat.gpus or not machine.gpus]
    once = sum(map(len, working)) == len({core for cores in working for core in cores})
    if not machine.gpus:
        assert once or len(found) > sum(map(len, by_numa.values()))
        sizes = list(map(len, own))
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] - sizes[-1] <= 1
        return
    sharers = Counter(gpu for seat in found for gpu in seat.gpus)
    parts = []  # of each NUMA node's GPUs: how many ranks share one, how many cores each has at least
    for numa in {gpu.numa for gpu in machine.gpus}:
        here = [index for index, gpu in enumerate(machine.gpus) if gpu.numa == numa]
        parts.append((max(sharers[gpu] for gpu in here), len(by_numa[numa]) // len(here)))
    if not all(ranks <= cores for ranks, cores in parts):
        return
    assert once
    everyone = Counter(core for cores in own for core in cores)
    if any(ranks < cores for ranks, cores in parts):
        assert set(everyone.values()) == {1}  # the rank without a GPU has cores of its own too
    for gpus, group in groupby((seat for seat in found if seat.gpus), key=lambda seat: seat.gpus):
        sizes = [len(own[seat.local_rank]) for seat in group]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] - sizes[-1] <= 1, gpus


@settings(deadline=None)
@given(machine=machines(gpus=(0, 0), hcas=(1, 8)), ranks=st.integers(1, 7))
def test_ranks_without_gpus_share_hcas_evenly_and_near_their_cores(machine: NodeType, ranks: int) -> None:
    hcas = model.named_hcas(machine, None)
    found = placement.whole_node(machine, 0, ranks, Bind(), hcas, frozenset())
    costs = [
        [min(model.distance(machine, numa, hca.numa) for numa in seat.mems) for hca in hcas] for seat in found
    ]
    names = [hca.name for hca in hcas]
    assert [names.index(seat.hcas[0]) for seat in found] == searched(costs)
    for seat, row in zip(found, costs, strict=True):
        distances = [row[names.index(name)] for name in seat.next_hcas]
        assert distances == sorted(distances)


def test_a_down_hca_is_replaced_by_the_next_nearest() -> None:
    found = seats("dgx-a100", 8)
    assert found[3].next_hcas == tuple(f"mlx5_{number}" for number in (2, 0, 1, 6, 7, 8, 9))
    assert found[4].next_hcas == tuple(f"mlx5_{number}" for number in (7, 8, 9, 0, 1, 2, 3))
    (alone,) = seats("dgx-a100", 1)
    assert (alone.hcas, alone.next_hcas) == (published.A100_HCAS, ())
    listed = seats("dgx-a100", 2, hcas=("mlx5_9", "mlx5_0,mlx5_2"))
    assert listed[0].next_hcas[0] == "mlx5_0"  # rank 0 has GPUs 0 to 3
    assert listed[1].next_hcas[0] == "mlx5_6"


def test_the_same_inner_switch_as_published() -> None:
    found = seats("dgx-a100", 8, pairing="switch")
    assert [seat.hcas for seat in found] == [(f"mlx5_{number}",) for number in (1, 0, 3, 2, 7, 6, 9, 8)]
    assert [seat.next_hcas[0] for seat in found] == [seat.hcas[0] for seat in seats("dgx-a100", 8)]
