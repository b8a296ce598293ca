"""What a picture shows of each rank is what the plan gives it: by the fill of every cell and band."""

import re
from collections import defaultdict

import drawn
import pytest
from made_plans import planned, svg

from hpclaunch.spec.job import Bind
from hpclaunch.values.placement import Seat

Owned = dict[int, set[object]]


def fills_of(page: drawn.Frame, noun: str = "rank") -> dict[str, int]:
    """Fill -> owner, from the legend. Up to 48 owners look different."""
    frames = [frame for frame in page.all() if frame.kind in ("entry", "page")]
    swatches = [fill for frame in frames for fill in frame.fills if re.fullmatch(rf"{noun} \d+", fill.title)]
    found = {fill.fill: drawn.number_in(fill.title) for fill in swatches}
    assert len(found) == len(swatches)
    return found


def owners(fills: list[drawn.Filled], names: dict[str, int]) -> set[int]:
    return {names[fill.fill] for fill in fills if fill.fill in names and fill.title}


def shown(page: drawn.Frame, noun: str = "rank") -> dict[str, Owned]:
    """What each owner has: CPUs, NUMA nodes of memory, GPUs and HCAs, by what is drawn in its colour."""
    names = fills_of(page, noun)
    found: dict[str, Owned] = {key: defaultdict(set) for key in ("cpus", "memory", "gpus", "hcas")}
    for node in page.of_kind("node"):
        for fill in node.fills:
            cpu = drawn.cpu_of(fill)
            for owner in owners([fill], names):
                if cpu is None:
                    found["memory"][owner].add(drawn.number_in(node.frame.title))
                else:
                    found["cpus"][owner].add(cpu)
        for gpu in node.of_kind("gpu"):
            for owner in owners(gpu.fills, names):
                found["gpus"][owner].add(drawn.number_in(gpu.words[0].text))
        for hca in node.of_kind("hca"):
            for owner in owners(hca.fills, names):
                found["hcas"][owner].add(hca.words[0].text)
    return found


def wanted(seats: tuple[Seat, ...], key: str) -> Owned:
    """The same from the plan."""
    return {seat.local_rank: set(getattr(seat, key)) for seat in seats if getattr(seat, key)}


@pytest.mark.parametrize(
    ("node_type", "job"),
    [
        ("dgx-a100", {}),
        ("dgx-a100", {"ranks": 1}),
        ("dgx-a100", {"ranks": 3}),
        ("dgx-a100", {"ranks": 16}),
        ("dgx-a100", {"ranks": 33}),
        ("dgx-a100", {"ranks": 9, "bind": Bind(cpus="spread", smt=False, hcas="all")}),
        ("dgx-a100", {"ranks": 2, "bind": Bind(cpus=("0-7,100,130", "8-15,130"), memory=("0", "0,6"))}),
        ("dgx-a100", {"bind": Bind(cpus="none", memory="none", hcas="none")}),
        ("dgx-2", {}),
        ("dgx-2", {"ranks": 48}),
        ("dgx-h100", {"reserved": "0,112"}),
        ("dell-dss8440-10", {}),
        ("dell-dss8440-10", {"ranks": 3}),
        ("gb200-tray", {}),
    ],
)
def test_each_rank_has_its_own_and_nothing_else(node_type: str, job: dict[str, object]) -> None:
    plan, machines = planned(node_type, **job)  # type: ignore[arg-type]
    seats = plan.common.shape.seats
    (page,) = drawn.read(svg(plan, machines)).pages
    found = shown(page)
    assert set(fills_of(page).values()) == {seat.local_rank for seat in seats}
    assert found["cpus"] == wanted(seats, "cpus")
    assert found["memory"] == wanted(seats, "mems")
    assert found["gpus"] == wanted(seats, "gpus")
    assert found["hcas"] == wanted(seats, "hcas")


def test_on_a_part_of_a_node_each_gpu_shows_its_pool() -> None:
    plan, machines = planned("dgx-a100", gpus_per_node=2)
    shape = plan.common.shape
    (page,) = drawn.read(svg(plan, machines)).pages
    found = shown(page, "GPU")
    for gpu in shape.gpus:
        near = [part for part in shape.cores if part.pool == gpu.pools[0]]
        assert found["cpus"][gpu.index] == {cpu for part in near for core in part.cores for cpu in core}
        assert found["memory"][gpu.index] == {part.node for part in near}
        assert found["gpus"][gpu.index] == {gpu.index}
        assert found["hcas"][gpu.index] == {gpu.hcas[0]}


def test_every_cpu_is_drawn_once_in_its_numa_node_and_core() -> None:
    plan, machines = planned("dell-dss8440-10")
    (page,) = drawn.read(svg(plan, machines)).pages
    frames = {drawn.number_in(frame.frame.title): frame for frame in page.of_kind("node")}
    for numa in (numa for socket in machines[0].sockets for numa in socket.nodes):
        cells = {
            drawn.cpu_of(fill): fill.box for fill in frames[numa.node].fills if drawn.cpu_of(fill) is not None
        }
        assert set(cells) == {cpu for core in numa.cores for cpu in core}
        for first, second in numa.cores:  # siblings are one under the other
            assert cells[first].left == cells[second].left
            assert cells[first].bottom < cells[second].top


def test_devices_are_inside_their_switches() -> None:
    plan, machines = planned("dgx-a100")
    (page,) = drawn.read(svg(plan, machines)).pages

    def paths(frame: drawn.Frame, above: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
        inside = above
        if frame.kind == "switch":
            inside = (*above, frame.frame.title.removeprefix("PCI switch "))
        own = {frame.words[0].text: above} if frame.kind in ("gpu", "hca", "other") else {}
        for inner in frame.inner:
            own |= paths(inner, inside)
        return own

    wanted_paths = {f"GPU {gpu.index}": gpu.switch for gpu in machines[0].gpus}
    wanted_paths |= {hca.name: hca.switch for hca in machines[0].hcas}
    assert paths(page) == wanted_paths
    storage = {hca.name for hca in machines[0].hcas if hca.use == "storage"}
    assert {frame.words[0].text for frame in page.of_kind("other")} == storage


def test_reserved_cpus_look_like_no_others() -> None:
    plan, machines = planned("dgx-a100", reserved="0-3,48,176")
    (page,) = drawn.read(svg(plan, machines)).pages
    cells = {drawn.cpu_of(fill): fill.fill for frame in page.of_kind("node") for fill in frame.fills}
    (look,) = {cells[cpu] for cpu in (0, 1, 2, 3, 48, 176)}
    assert {cpu for cpu, fill in cells.items() if fill == look} == {0, 1, 2, 3, 48, 176}


def test_a_cpu_of_several_ranks_has_a_part_for_each() -> None:
    """256 ranks on 64 cores: four to a core."""
    plan, machines = planned("dgx-a100", ranks=256)
    (page,) = drawn.read(svg(plan, machines)).pages
    parts = defaultdict(int)
    for frame in page.of_kind("node"):
        for fill in frame.fills:
            parts[drawn.cpu_of(fill)] += 1
    sharing = {cpu: sum(cpu in seat.cpus for seat in plan.common.shape.seats) for cpu in range(256)}
    assert {cpu: parts[cpu] for cpu in range(256)} == {cpu: count or 1 for cpu, count in sharing.items()}
    # The numbers are on them: every core says whose it is.
    said = [words.text for frame in page.of_kind("node") for words in frame.words]
    for first in range(0, 256, 4):
        assert f"{first}-{first + 3}" in said
