"""No text makes a reader crash, hang or take what it cannot know: damaged captures, and hostile ones."""

import json
from collections.abc import Sequence
from types import ModuleType

import made_captures as made
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_captures import Layout, hard_wrapped, topo_text
from test_reading_cpus import DELL
from test_reading_devices import PORTS, QUERY
from test_reading_nvidia_topo import DGX, DGX_TEXT

from hpclaunch.topology.readers import ibdev2netdev, ibstat, lscpu, numactl, nvidia_gpus, nvidia_smi, text
from hpclaunch.topology.seen import Origin, Seen
from hpclaunch.values.errors import InputError

GOOD: list[tuple[ModuleType, str]] = [
    (nvidia_smi, DGX_TEXT),
    (nvidia_smi, topo_text(DGX, Layout(legend=False, columns=1, tabs=False, prefix="# "))),
    (nvidia_smi, hard_wrapped(topo_text(DGX, Layout(tabs=False)), 61)),
    (lscpu, made.lscpu_text(DELL)),
    (lscpu, made.lscpu_sections(DELL)),
    (lscpu, made.lscpu_json(DELL, nested=True)),
    (lscpu, made.lscpu_table(DELL)),
    (lscpu, made.lscpu_parsable(DELL)),
    (lscpu, made.lscpu_table_json(DELL, words=True)),
    (numactl, made.numactl_text(DELL)),
    (ibstat, made.ibstat_text(PORTS)),
    (ibstat, made.ibstatus_text(PORTS)),
    (ibstat, made.devinfo_text(PORTS)),
    (ibstat, "mlx5_0\nmlx5_1\n"),
    (ibdev2netdev, made.ibdev2netdev_text(PORTS, verbose=False)),
    (ibdev2netdev, made.ibdev2netdev_text(PORTS, verbose=True)),
    (nvidia_gpus, "index, pci.bus_id, name, memory.total [MiB]\n" + QUERY),
    (nvidia_gpus, "GPU 0: NVIDIA H100 (UUID: GPU-0a)\nGPU 1: NVIDIA H100 (UUID: GPU-0b)\n"),
    (nvidia_gpus, "|   0  NVIDIA A100  On  | 00000000:07:00.0 Off |   0 |\n"),
]
READERS = list(dict.fromkeys(reader for reader, _ in GOOD))
HOSTILE = [
    "0-99999999999",
    "9" * 5000,
    "0-65535," * 500,
    "-1",
    "1e9",
    "٣",
    "²",
    "\x00",
    "\ud800",
    "\x1b[4m",
    "X" * 300,
    "[" * 300,
    "NV999",
    ",",
    ":",
    "'",
    '"',
    "{",
    "null",
    "|",
]


@st.composite
def damaged(draw: st.DrawFn, whole: str) -> str:
    """A capture with some lines and words lost, doubled, swapped or replaced."""
    lines = whole.split("\n")
    for _ in range(draw(st.integers(1, 4))):
        at, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        words = lines[at].split(" ") if draw(st.booleans()) else lines[at].split("\t")
        word = draw(st.integers(0, len(words) - 1))
        kind = draw(st.sampled_from(["lose", "double", "swap", "cut", "join", "word", "noise", "hostile"]))
        if kind == "lose" and len(lines) > 1:
            del lines[at]
        elif kind == "double":
            lines.insert(other, lines[at])
        elif kind == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == "cut":
            lines[at] = lines[at][: draw(st.integers(0, 80))]
        elif kind == "join":
            lines[at] += lines[other]
        elif kind == "word":
            words[word] = draw(st.sampled_from(lines[other].split() or [""]))
            lines[at] = " ".join(words)
        elif kind == "noise":
            lines.insert(at, draw(st.text(max_size=40)))
        elif kind == "hostile":
            words[word] = draw(st.sampled_from(HOSTILE))
            lines[at] = " ".join(words)
    return "\n".join(lines)


def read_or_refused(reader: ModuleType, capture: str) -> Seen | None:
    """What was read. Every message is one that can be shown."""
    assert isinstance(reader.looks_like(capture), bool)
    seen: Seen | None = None
    try:
        seen = reader.read(capture, "f")
        said: Sequence[str] = seen.unread
    except InputError as error:
        said = [str(problem) for problem in error.problems]
    assert all(0 < len(line) < 400 and line.isprintable() for line in said)
    return seen


@pytest.mark.parametrize(("reader", "whole"), GOOD)
def test_the_whole_captures_are_read(reader: ModuleType, whole: str) -> None:
    seen = read_or_refused(reader, whole)
    assert seen is not None
    assert seen.unread == ()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_capture_is_read_or_refused(data: st.DataObject) -> None:
    reader, whole = data.draw(st.sampled_from(GOOD))
    read_or_refused(reader, data.draw(damaged(whole)))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(READERS), st.text(st.characters(), max_size=300))
def test_any_text_is_read_or_refused(reader: ModuleType, capture: str) -> None:
    read_or_refused(reader, capture)


@pytest.mark.parametrize("reader", READERS)
def test_a_capture_of_another_tool_is_refused(reader: ModuleType) -> None:
    for other, whole in GOOD:
        if other is not reader:
            assert not reader.looks_like(whole)
            assert read_or_refused(reader, whole) is None


@pytest.mark.parametrize(
    ("reader", "capture"),
    [
        (nvidia_smi, "GPU0 CPU Affinity\nGPU0 X " + "0-65535," * 2000),
        (nvidia_smi, "GPU0 " + " ".join(f"NIC{n}" for n in range(2000)) + "\nGPU0 X\n"),
        (nvidia_smi, "GPU0\n" * 50_000),
        (nvidia_smi, "GPU0 GPU1\nGPU0 X PHB\n" + "PHB PHB\n" * 50_000),
        (nvidia_smi, "".join(f"GPU{n} GPU{n + 1}\n" for n in range(9000))),
        (nvidia_smi, "-" * 19_000 + "\n" + " " * 19_000 + "x\n"),
        (lscpu, "CPU(s): 1\nOn-line CPU(s) list: 0\n" + "0,\n" * 100_000),
        (lscpu, '{"lscpu": ' + "[" * 100_000),
        (lscpu, '{"lscpu": [' + '{"field": "CPU(s):", "data": 1, "children": [' * 20_000),
        (lscpu, '{"cpus": [{"cpu": ' + "9" * 100_000 + "}]}"),
        (lscpu, "A" + " " * 19_000 + "b\n" * 10),
        (numactl, "node 0 cpus: 0\n" + "1 2 3\n" * 50_000),
        (numactl, "node 0 cpus:" + " 1" * 9000),
        (ibstat, "CA 'mlx5_0'\n" + "Port 1:\n" * 10_000),
        (ibdev2netdev, "mlx5_0 port 1 (" + "port (" * 3000),
        (ibdev2netdev, "mlx5_0 (" + " port" * 3900),
        (nvidia_gpus, "," * 19_000),
        (nvidia_gpus, "|   0 " + " " * 18_000 + "| 00000000:07:00.0 Off | | |"),
        (nvidia_gpus, "pci.bus_id\n" + "00000000:07:00.0\n" * 3000),
    ],
)
def test_a_capture_that_would_take_forever_is_refused(reader: ModuleType, capture: str) -> None:
    """Ends at all, which an expanded list or a pattern that tries every way would not."""
    assert read_or_refused(reader, capture) is None


@pytest.mark.parametrize("reader", READERS)
def test_what_is_far_too_long_is_no_capture(reader: ModuleType) -> None:
    assert read_or_refused(reader, "GPU0 mlx5_0 CPU(s): node 0 cpus: 1\n" * 100_000) is None
    assert read_or_refused(reader, "GPU0 " * 10_000) is None


def test_many_lines_that_are_not_understood_are_counted() -> None:
    capture = made.lscpu_text(DELL) + "\n" + "something else\n" * 500
    seen = lscpu.read(capture, "f")
    assert len(seen.unread) == 11
    assert seen.unread[-1] == "f: 490 more lines that were not understood"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[4mGPU0\x1b[0m", "GPU0"),
        ("^[[4mGPU0 [0m", "GPU0"),
        ("\x1b]0;title\x07GPU0", "GPU0"),
        ("\ufeffCPU(s):\u00a02", "CPU(s): 2"),
        ("0\u201315", "0-15"),
        ("a ==&gt; b", "a ==> b"),
        ("GPU0&#9;X&nbsp;&#x41;", "GPU0\tX A"),
        ("&lt;AT&T&nosuch; &amp;lt;", "<AT&T&nosuch; &lt;"),
        ('<pre class="x"><code>GPU0 X</code></pre>', "GPU0 X"),
        ("```console", ""),
        ("> # GPU0\tX", "GPU0\tX"),
        ("  //  GPU0", " GPU0"),
        (" *", ""),
        ("*bold*", "*bold*"),
    ],
)
def test_what_others_put_around_a_line_is_taken_off(raw: str, clean: str) -> None:
    (line,) = text.lines(raw, "f")
    assert line.text == clean


def test_columns_are_those_of_the_file() -> None:
    (line,) = text.lines("#   GPU0 FOO", "f")
    assert text.Row((line,)).place("FOO") == (1, 10)


@given(st.lists(st.sampled_from(["ab", "c", " d"]), min_size=1, max_size=5))
def test_every_way_to_undo_a_break_is_offered(words: list[str]) -> None:
    row = text.Row(tuple(text.Line(number, word) for number, word in enumerate(words, start=1)))
    ways = list(row.joined())
    assert len(ways) == 2 ** (len(words) - 1)
    assert {" ".join(words), "".join(words)} <= set(ways)


def test_json_in_one_long_line_is_read() -> None:
    fields = json.loads(made.lscpu_json(DELL, nested=False))
    fields["lscpu"].append({"field": "Flags:", "data": "fpu " * 10_000})
    assert len(lscpu.read(json.dumps(fields), "f").numa) == 2


def test_unread_lines_have_their_place() -> None:
    left = text.lines("one\n\x07two", "f")
    assert text.unread(Origin("f", "x"), left) == ("f:1: not understood: 'one'", "f:2: not understood: 'two'")
