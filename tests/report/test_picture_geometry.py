"""Nothing in a picture overlaps, is cut, or leaves its frame: for every node type, and for any machine."""

from typing import Any

import drawn
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_plans import planned, svg

from hpclaunch.report import claims, layout, picture
from hpclaunch.report import svg as svg_module
from hpclaunch.spec.job import Bind
from hpclaunch.topology import catalogue, model
from hpclaunch.topology.outline import outline
from hpclaunch.values.outline import GpuOutline, HcaOutline, NumaOutline, Outline, SocketOutline

WIDTHS = (layout.WIDE, layout.NARROW)


@pytest.mark.parametrize("ranks", [None, 1, 3, 33, 256])
@pytest.mark.parametrize("name", catalogue.names())
def test_every_node_type_with_nothing_cut(name: str, ranks: int | None) -> None:
    possible = model.cpu_count(catalogue.load(name).value)
    plan, machines = planned(name, None if ranks is None else min(ranks, possible))
    for width in WIDTHS:
        found = drawn.read(svg(plan, machines, width))
        drawn.check_geometry(found)
        assert found.canvas.right == width
        assert not cut(found)


@pytest.mark.parametrize("name", catalogue.names())
def test_every_node_type_alone(name: str) -> None:
    for width in WIDTHS:
        found = drawn.read(
            svg_module.document([picture.of_machine(outline(catalogue.load(name).value, None), width)])
        )
        drawn.check_geometry(found)
        assert not cut(found)


@pytest.mark.parametrize(
    "job",
    [
        {"gpus_per_node": 3},
        {"gpus_per_node": 0},
        {"exclusive": False},
        {"bind": Bind(cpus="none", memory="none", hcas="none")},
        {"bind": Bind(cpus="spread", smt=False, hcas="all")},
        {"reserved": "0-3,128-131,48,176"},
        {"ranks": 2, "bind": Bind(cpus=("0-7,100,130-135", "8-15,200"), memory=("0", "1,6"))},
        {"ranks": 2, "bind": Bind(cpus=("0-127", "128-255"), hcas=("mlx5_0,mlx5_9", "mlx5_0"))},
        {"ranks": 9},
        {"ranks": 17},
    ],
)
def test_every_kind_of_placement(job: dict[str, Any]) -> None:
    plan, machines = planned("dgx-a100", **job)
    for width in WIDTHS:
        found = drawn.read(svg(plan, machines, width))
        drawn.check_geometry(found)
        assert not cut(found)


def cut(found: drawn.Picture) -> list[str]:
    """The words that end where there was no more room."""
    every = [words.text for page in found.pages for frame in page.all() for words in frame.words]
    return [text for text in every if text.endswith("…")]


NAMES = st.text(st.characters(codec="utf-8"), max_size=30)
PATHS = st.lists(st.sampled_from(["pex0", "1", "0000:00:01.1", "<&\"'>"]), max_size=3).map(tuple)


@st.composite
def machines(draw: st.DrawFn) -> Outline:
    """Up to four sockets of up to four NUMA nodes, cores of unequal threads, devices on any switch."""
    threads = draw(st.integers(1, 4))
    cpus = iter(range(10_000))
    sockets = []
    node = 0
    for socket in range(draw(st.integers(1, 4))):
        nodes = []
        for _ in range(draw(st.integers(1, 4))):
            cores = tuple(
                tuple(next(cpus) for _ in range(draw(st.integers(1, threads))))
                for _ in range(draw(st.integers(0, 40)))
            )
            caches = sorted(draw(st.integers(0, 5)) for _ in cores) if draw(st.booleans()) else []
            nodes.append(NumaOutline(node, cores, tuple(caches), draw(st.none() | st.integers(1, 9999))))
            node += 1
        sockets.append(SocketOutline(socket, tuple(nodes)))
    nodes_of = st.integers(0, node - 1)
    gpus = tuple(
        GpuOutline(index, draw(st.sampled_from(["", f"0000:{index:02x}:00.0"])), draw(nodes_of), draw(PATHS))
        for index in range(draw(st.integers(0, 17)))
    )
    hcas = tuple(
        HcaOutline(
            draw(NAMES) or f"mlx5_{index}",
            f"10000:{index:02x}:00.0",
            draw(nodes_of),
            draw(PATHS),
            draw(st.sampled_from(["compute", "storage", "management"])),
            draw(st.sampled_from(["InfiniBand", "Ethernet"])),
            draw(st.none() | st.integers(1, 1600)),
        )
        for index in range(draw(st.integers(0, 20)))
    )
    reserved = tuple(cpu for cpu in range(next(cpus)) if draw(st.integers(0, 9)) == 0)
    return Outline(draw(NAMES), draw(NAMES), tuple(sockets), gpus, hcas, reserved)


@st.composite
def any_claims(draw: st.DrawFn, machine: Outline) -> claims.Claims:
    """Any owners of anything, as explicit lists may have them."""
    most = draw(st.sampled_from([1, 4, 30, 300]))
    owners = st.sets(st.integers(0, most), max_size=draw(st.sampled_from([1, 3, 40]))).map(
        lambda found: tuple(sorted(found))
    )
    nodes = [numa for socket in machine.sockets for numa in socket.nodes]
    return claims.Claims(
        noun=draw(st.sampled_from(["rank", "GPU"])),
        cpus={cpu: draw(owners) for numa in nodes for core in numa.cores for cpu in core},
        memory={numa.node: draw(owners) for numa in nodes},
        gpus={gpu.index: draw(owners) for gpu in machine.gpus},
        hcas={hca.name: draw(owners) for hca in machine.hcas},
        entries={
            owner: tuple(draw(st.lists(NAMES, max_size=4))) for owner in range(draw(st.integers(0, most)))
        },
        anywhere=draw(st.booleans()),
        any_memory=draw(st.booleans()),
        notes=tuple(draw(st.lists(NAMES, max_size=2))),
    )


@settings(deadline=None, max_examples=60)
@given(data=st.data(), width=st.sampled_from(WIDTHS), title=NAMES)
def test_any_machine_and_any_owners(data: st.DataObject, width: float, title: str) -> None:
    machine = data.draw(machines())
    owners = data.draw(st.none() | any_claims(machine))
    head = layout.Head(title or "job", (data.draw(NAMES),))
    drawn.check_geometry(drawn.read(svg_module.document([layout.picture(head, machine, owners, width)])))
