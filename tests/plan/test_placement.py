"""Which cores, memory, GPUs and HCAs each local rank gets."""

from collections import Counter

import published
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import machines

from hpclaunch.plan import placement
from hpclaunch.spec.job import Bind
from hpclaunch.spec.nodetype import GpuSpec, NodeType
from hpclaunch.topology import catalogue, model
from hpclaunch.values.cpulist import format_list, parse
from hpclaunch.values.errors import InputError
from hpclaunch.values.placement import Hca, Seat

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


@given(
    machine=machines(),
    ranks=st.integers(1, 40),
    policy=st.sampled_from(["local", "spread"]),
    smt=st.booleans(),
)
def test_on_any_machine(machine: NodeType, ranks: int, policy: str, smt: bool) -> None:
    hcas = model.named_hcas(machine, None)
    bind = Bind(cpus=policy, smt=smt)  # type: ignore[arg-type]
    found = placement.whole_node(machine, len(machine.gpus), ranks, bind, hcas, frozenset())
    cores = [core for node in machine.numa for core in model.cores(machine, node.node)]
    home = {
        cpu: node.node for node in machine.numa for core in model.cores(machine, node.node) for cpu in core
    }

    assert [seat.local_rank for seat in found] == list(range(ranks))
    for seat in found:
        assert seat.cpus
        assert set(seat.mems) == {home[cpu] for cpu in seat.cpus}
        siblings = [core for core in cores if set(core) & set(seat.cpus)]
        kept = [core if smt else core[:1] for core in siblings]
        assert sorted(seat.cpus) == sorted(cpu for core in kept for cpu in core)
        for gpu in seat.gpus:
            near = machine.gpus[gpu].numa
            if policy == "local":
                assert near in seat.mems
            else:
                assert model.socket_of(machine, near) in {
                    model.socket_of(machine, numa) for numa in seat.mems
                }
    # Every GPU has a rank, and every rank a GPU where there are enough, but for a helper.
    assert {gpu for seat in found for gpu in seat.gpus} == set(range(len(machine.gpus)))
    idle = [seat.local_rank for seat in found if not seat.gpus]
    assert idle in ([], [ranks - 1]) or not machine.gpus
    # No HCA is nearer to a rank's GPU than its own.
    if hcas and len(machine.gpus) == ranks:
        switch = {spec.pci: spec.switch for spec in machine.hcas}
        for seat in found:
            gpu = machine.gpus[seat.gpus[0]]

            def away(hca: Hca, gpu: GpuSpec = gpu) -> int:
                shared = gpu.switch and gpu.switch == switch[hca.pci]
                return 0 if shared else model.distance(machine, gpu.numa, hca.numa)

            (own,) = [hca for hca in hcas if hca.name in seat.hcas]
            assert away(own) == min(map(away, hcas))
