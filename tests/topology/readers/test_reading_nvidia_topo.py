"""nvidia-smi topo: each layout that published captures have, and what is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_captures import LEGEND, Layout, Topo, hard_wrapped, soft_wrapped, topo_text, topos

from hpclaunch.topology.readers import nvidia_smi
from hpclaunch.topology.seen import Seen
from hpclaunch.values import cpulist
from hpclaunch.values.errors import InputError

LAYOUTS = st.builds(
    Layout,
    legend=st.booleans(),
    columns=st.integers(1, 3),
    tabs=st.booleans(),
    colour=st.booleans(),
    prefix=st.sampled_from(["", "# ", "#", "// ", "> ", "    ", "\t", " * "]),
    fence=st.booleans(),
    command=st.booleans(),
)
# A DGX A100 of the years with NIC0 columns: both storage ports of slot 5 are missing.
DGX = Topo(
    gpus=4,
    nics=["mlx5_0", "mlx5_1", "mlx5_bond_0"],
    levels=[
        ["X", "NV12", "NV12", "NV12", "PXB", "SYS", "SYS"],
        ["NV12", "X", "NV12", "NV12", "PXB", "SYS", "SYS"],
        ["NV12", "NV12", "X", "NV12", "SYS", "PXB", "SYS"],
        ["NV12", "NV12", "NV12", "X", "SYS", "PXB", "SYS"],
        ["PXB", "PXB", "SYS", "SYS", "X", "SYS", "SYS"],
        ["SYS", "SYS", "PXB", "PXB", "SYS", "X", "SYS"],
        ["SYS", "SYS", "SYS", "SYS", "SYS", "SYS", "X"],
    ],
    cpus=["48-63,176-191", "48-63,176-191", "16-31,144-159", "112-127,240-255"],
    numa=["3", "3", "1", "7"],
    memory=["N/A"] * 4,
)
DGX_TEXT = topo_text(DGX, Layout())


def read(text: str) -> Seen:
    assert nvidia_smi.looks_like(text)
    return nvidia_smi.read(text, "topo.txt")


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        nvidia_smi.read(text, "topo.txt")
    return str(caught.value)


def expect(seen: Seen, topo: Topo, columns: int = 3) -> None:
    assert [gpu.index for gpu in seen.gpus] == list(range(topo.gpus))
    assert [hca.name for hca in seen.hcas] == topo.nics
    assert {(each.a, each.b): each.level for each in seen.levels} == topo.pairs()
    for gpu, cpus, numa in zip(seen.gpus, topo.cpus, topo.numa, strict=True):
        assert gpu.cpus == (None if cpus == "N/A" else cpulist.parse(cpus))
        assert gpu.numa == (None if columns < 2 or numa == "N/A" else int(numa))
    assert seen.unread == ()


@given(topos(), LAYOUTS)
def test_a_machine_reads_back_from_every_layout(topo: Topo, layout: Layout) -> None:
    expect(read(topo_text(topo, layout)), topo, layout.columns)


@settings(max_examples=60)
@given(topos(), LAYOUTS, st.integers(24, 200), st.booleans())
def test_a_wrapped_matrix_reads_right_or_is_refused(
    topo: Topo, layout: Layout, width: int, hard: bool
) -> None:
    layout.prefix, layout.tabs, layout.colour = "", False, False
    text = topo_text(topo, layout)
    try:
        seen = nvidia_smi.read(hard_wrapped(text, width) if hard else soft_wrapped(text, width), "topo.txt")
    except InputError:
        return
    assert {(each.a, each.b): each.level for each in seen.levels} == topo.pairs()
    for gpu, cpus, numa in zip(seen.gpus, topo.cpus, topo.numa, strict=True):
        assert gpu.cpus in (None, () if cpus == "N/A" else cpulist.parse(cpus))
        assert gpu.numa in (None, -1 if numa == "N/A" else int(numa))


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("width", [40, 57, 60, 61, 64, 72, 80, 100, 120, 132])
def test_widths_of_terminals(width: int, columns: int) -> None:
    text = topo_text(DGX, Layout(tabs=False, columns=columns))
    expect(read(hard_wrapped(text, width)), DGX, columns)
    expect(read(soft_wrapped(text, width)), DGX, columns)


def test_forty_nics_in_a_terminal() -> None:
    size = 48
    near = [["X" if a == b else "PIX" if a % 8 == b % 8 else "SYS" for b in range(size)] for a in range(size)]
    topo = Topo(8, [f"mlx5_{n}" for n in range(40)], near, ["0-55,112-167"] * 8, ["0"] * 8, ["N/A"] * 8)
    text = topo_text(topo, Layout(tabs=False))
    for width in (80, 100, 132, 180, 237):
        expect(read(hard_wrapped(text, width)), topo)


def test_a_capture_cut_anywhere_tells_nothing_that_the_whole_does_not() -> None:
    whole = read(DGX_TEXT)
    pairs = {(each.a, each.b, each.level) for each in whole.levels}
    # Inside the very last name nothing shows that more was to come.
    for end in range(DGX_TEXT.index("NIC2: ") + len("NIC2: ")):
        try:
            seen = nvidia_smi.read(DGX_TEXT[:end], "topo.txt")
        except InputError:
            continue
        assert {(each.a, each.b, each.level) for each in seen.levels} <= pairs
        assert {hca.name for hca in seen.hcas} <= {hca.name for hca in whole.hcas}
        for gpu, known in zip(seen.gpus, whole.gpus, strict=True):
            assert gpu.cpus in (None, known.cpus)
            assert gpu.numa in (None, known.numa)


def test_a_table_of_markdown() -> None:
    seen = read(
        "| | GPU0 | GPU1 | CPU Affinity |\n|---|:-:|---|---|\n"
        "| GPU0 | X | PHB | 0-3 |\n| GPU1 | PHB | X | N/A |\n"
    )
    assert [gpu.cpus for gpu in seen.gpus] == [(0, 1, 2, 3), None]
    assert [each.level for each in seen.levels] == ["PHB"]


def test_lost_spaces_are_found_again_where_only_one_reading_is_possible() -> None:
    seen = read(
        "GPU0GPU1NIC0 CPU Affinity NUMA Affinity GPU NUMA ID\n"
        "GPU0 X SYSSYS 0-55,112-167 0N/A\n"
        "GPU1 SYS X PIX 56-111,168-2231 N/A\n"
        "NIC0 SYSPIX X\n"
        "NIC Legend:\n NIC0: mlx5_3 \n"
    )
    assert {(each.a, each.b): each.level for each in seen.levels} == {
        ("GPU0", "GPU1"): "SYS",
        ("GPU0", "mlx5_3"): "SYS",
        ("GPU1", "mlx5_3"): "PIX",
    }
    # Whether the 1 at the end is a NUMA node or part of CPU 2231 cannot be told.
    assert [(gpu.numa, gpu.cpus and len(gpu.cpus)) for gpu in seen.gpus] == [(0, 112), (None, None)]
    assert len(seen.unread) == 1
    assert "GPU1" in seen.unread[0]


def test_a_list_that_the_driver_may_have_cut_is_not_taken() -> None:
    seen = read(
        "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\t X \tSYS\t0,2,4,6,8,10\t0\nGPU1\tSYS\t X \t1,3,5\t1\n"
    )
    assert [(gpu.cpus, gpu.numa) for gpu in seen.gpus] == [(None, 0), ((1, 3, 5), 1)]
    assert "GPU0" in seen.unread[0]


def test_lists_of_old_drivers_are_whole() -> None:
    cpus = ",".join(f"{cpu}-{cpu}" for cpu in range(0, 80, 8))
    seen = read(f"GPU0 mlx5_0 CPU Affinity\nGPU0 X SOC {cpus}\nmlx5_0 SOC X\n")
    assert seen.gpus[0].cpus == tuple(range(0, 80, 8))


def test_several_numa_nodes_of_one_gpu_are_named_and_left_open() -> None:
    seen = read("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-71\t0,2-17\t\t2\n")
    assert (seen.gpus[0].numa, len(seen.gpus[0].cpus or ())) == (None, 72)
    assert "0,2-17" in seen.unread[0]


def test_empty_affinities_are_unknown() -> None:
    seen = read("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t\t\tN/A\n")
    assert (seen.gpus[0].numa, seen.gpus[0].cpus, seen.unread) == (None, None, ())


def test_nics_without_a_legend_have_no_name() -> None:
    seen = read(DGX_TEXT.partition("NIC Legend")[0])
    assert seen.hcas == ()
    assert {each.a + each.b for each in seen.levels} == set()
    assert "NIC0" in seen.unread[0]
    assert len(seen.gpus) == 4


def test_nics_that_nvidia_smi_left_out_are_named() -> None:
    seen = read("140 NICs found in the topology, only displaying 63 in the matrix.\n" + DGX_TEXT)
    assert len(seen.unread) == 1
    assert "140 NICs" in seen.unread[0]


def test_gpus_alone_without_the_rows_of_the_nics() -> None:
    lines = [
        line
        for line in DGX_TEXT.splitlines()
        if not line.startswith("NIC0\t") and not line.startswith(("NIC1\t", "NIC2\t"))
    ]
    seen = read("\n".join(lines))
    assert {(each.a, each.b) for each in seen.levels} == {
        key for key in DGX.pairs() if key[0].startswith("GPU")
    }
    assert [hca.name for hca in seen.hcas] == DGX.nics
    assert "how near the HCAs are" in seen.unread[0]


def test_the_text_around_the_matrix_is_named() -> None:
    seen = read(f"GPU Topology:\n{DGX_TEXT}\nulimit soft: 1024\n")
    assert [line.partition(":")[2] for line in seen.unread] == [
        "1: not understood: 'GPU Topology:'",
        f"{DGX_TEXT.count(chr(10)) + 3}: not understood: 'ulimit soft: 1024'",
    ]


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("GPU0 GPU1\nGPU0 X PHB\nGPU1 PIX X\n", "3:1", "line 2 says PHB"),
        ("GPU0 GPU1\nGPU0 X NV4\nGPU1 NV2 X\n", "3:1", "GPU1 to GPU0 is NV2"),
        ("GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB PHB\n", "3:1", "GPU1 to GPU1 is PHB"),
        ("GPU0 GPU1\nGPU0 X X\nGPU1 X X\n", "2:6", "GPU0 to GPU1 is X"),
        ("GPU0 GPU1\nGPU0 X PHB\n", "2:1", "no row for GPU1"),
        ("GPU0 GPU1 CPU Affinity\nGPU0 X PHB 0-1\nGPU1 PHB 0-1\n", "3:10", "1 cells for the 2 devices"),
        ("GPU0 GPU1\nGPU0 X PHB\nGPU1 PHB X 0-3\n", "3:12", "more cells"),
        ("  GPU0 GPU1\n  GPU0 X FOO\n  GPU1 FOO X\n", "2:10", "'FOO' is none of"),
        ("GPU0 GPU1\nGPU0 X PHB\nGPU0 X PHB\nGPU1 PHB X\n", "3:1", "second row GPU0"),
        ("GPU0 GPU0\nGPU0 X PHB\n", "1:1", "GPU0 twice"),
        ("GPU0 CPU Affinity\nGPU0 X 0-99999999999\n", "2:8", "99999999999"),
        ("GPU0 CPU Affinity\nGPU0 X 9-3\n", "2:8", "runs backwards"),
        ("GPU0\nGPU0 X\n\nGPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n", "4:1", "second matrix"),
        ("GPU0 NIC0\nGPU0 X PIX\nNIC0 PIX X\nNIC0: mlx5_0\nNIC0: mlx5_1\n", "5:1", "mlx5_1 for NIC0"),
        ("GPU0 NIC0\nGPU0 X PIX\nNIC0 PIX X\nNIC0: mlx5_0\nNIC1: mlx5_0\n", "5:1", "another NIC"),
        ("nothing\n", "", "no matrix"),
    ],
)
def test_what_is_refused_is_named_with_its_place(text: str, place: str, says: str) -> None:
    message = refused(text)
    assert message.startswith(f"topo.txt:{place}" if place else "topo.txt: ")
    assert says in message


def test_a_matrix_of_peer_access_is_none_of_distances() -> None:
    peers = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n\nLegend:\n  OK   = Status Ok\n"
    assert not nvidia_smi.looks_like(peers)
    assert "'OK' is none of" in refused(peers)
    for text in (f"{DGX_TEXT}{LEGEND}\n{peers}", f"{peers}\n{DGX_TEXT}"):
        seen = read(text)
        assert {(each.a, each.b): each.level for each in seen.levels} == DGX.pairs()
        assert len(seen.unread) == 3  # its rows and header
