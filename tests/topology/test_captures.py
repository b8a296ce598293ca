"""What users hand over: files of any name and encoding, several captures in one, and what is none."""

import contextlib
import html
import random

import captured
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpclaunch.topology import captures, catalogue, model
from hpclaunch.topology.merge.machine import merge
from hpclaunch.topology.seen import Seen
from hpclaunch.values.errors import InputError

MACHINE = catalogue.load("dgx-a100").value
TEXTS = {name: text(MACHINE) for name, text in captured.FORMATS.items()}


def formats(text: str) -> list[str]:
    return [seen.origin.format for seen in captures.read(text, "bundle.txt").seen]


EXPECTED = {
    "lscpu": "lscpu",
    "lscpu -e": "lscpu",
    "numactl -H": "numactl",
    "nvidia-smi topo -m": "nvidia-smi topo",
    "ibdev2netdev -v": "ibdev2netdev",
    "ibstat": "ibstat",
    "lspci -tv": "lspci -tv",
    "lspci -D -vmm": "lspci -vmm",
    "hwloc 2": "hwloc XML",
    "hwloc 3": "hwloc XML",
    "nccl": "NCCL topology",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_capture_is_known_by_its_content(name: str) -> None:
    assert formats(TEXTS[name]) == [EXPECTED[name]]


@pytest.mark.parametrize(
    "head",
    [
        "$ {}",
        "[root@dgx001 ~]# {}",
        "user@dgx001:~$ {}",
        "# {}",
        "===== {} =====",
        "==> {} <==",
        "--- output of {} ---",
        "## {}\n```",
        "+ {}",
    ],
)
def test_captures_pasted_together(head: str) -> None:
    """Cut where the text says so; lines count from the top of the file."""
    names = [name for name in TEXTS if not name.startswith("hwloc") and name != "nccl"]
    bundle = ""
    begins = []
    for name in names:
        bundle += head.format(name) + "\n"
        begins.append(bundle.count("\n") + 1)
        bundle += TEXTS[name] + "\n"
    used = captures.read(bundle, "bundle.txt")
    assert [seen.origin.format for seen in used.seen] == [EXPECTED[name] for name in names]
    assert not used.unused
    assert not [line for seen in used.seen for line in seen.unread]
    for seen, begin, name in zip(used.seen, begins, names, strict=True):
        alone = captures.read(TEXTS[name], "bundle.txt").seen[0]
        assert first_line(seen) == first_line(alone) + begin - 1
    assert (
        merge(used.seen, "x").node_type.hcas
        == merge([one for name in names for one in captures.read(TEXTS[name], name).seen], "x").node_type.hcas
    )


def first_line(seen: Seen) -> int:
    facts = (*seen.cpus, *seen.numa, *seen.gpus, *seen.hcas)
    return min((fact.origin.line for fact in facts if fact.origin.line), default=0)


def test_captures_with_nothing_but_empty_lines_between() -> None:
    names = ("lscpu", "nvidia-smi topo -m", "ibdev2netdev -v", "lspci -D -vmm")
    text = "\n\n".join(TEXTS[name] for name in names)
    assert formats(text) == [EXPECTED[name] for name in names]
    alone = merge([one for name in names for one in captures.read(TEXTS[name], name).seen], "x")
    assert merge(captures.read(text, "b").seen, "x").node_type.gpus == alone.node_type.gpus


def test_xml_in_a_bundle() -> None:
    text = f"$ cat topo.xml\n{TEXTS['hwloc 2']}\n$ lscpu\n{TEXTS['lscpu']}"
    assert formats(text) == ["hwloc XML", "lscpu"]


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_source_of_a_web_page(name: str) -> None:
    """Saved from a browser: every sign as an entity, in <pre>; the lines stay where they are."""
    page = (
        "<pre><code>"
        + html.escape(TEXTS[name]).replace("\t", "&#9;").replace("  ", "&nbsp; ")
        + "</code></pre>"
    )
    assert captures.read(page, "f") == captures.read(TEXTS[name], "f")


def test_what_fits_nothing_is_named_beside_what_does() -> None:
    used = captures.read(f"$ uname -a\nLinux dgx001 5.15\n$ lscpu\n{TEXTS['lscpu']}", "b.txt")
    assert len(used.seen) == 1
    assert used.unused == ("b.txt: lines 1-2 fit no known format ('Linux dgx001 5.15')",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_encodings_and_ends_of_lines(encoding: str, end: str) -> None:
    data = TEXTS["nvidia-smi topo -m"].replace("\n", end).encode(encoding)
    assert captures.decode(data, "f") == TEXTS["nvidia-smi topo -m"]


@pytest.mark.parametrize(
    "data", [b"\x7fELF\x02\x01\x01\0\0\0\0", bytes(range(256)) * 10, b"PK\x03\x04\0\0" * 9]
)
def test_what_is_no_text(data: bytes) -> None:
    with pytest.raises(InputError, match=r"f: this is not text\. Known captures: lscpu"):
        captures.decode(data, "f")


def test_too_much_of_a_capture_is_said_with_its_file() -> None:
    with pytest.raises(InputError) as caught:
        captures.read("GPU0 X SYS 0-3\n" * 600_000, "long.txt")
    assert [
        (problem.where, "9,000,001 characters" in problem.message) for problem in caught.value.problems
    ] == [("long.txt", True)]


def test_too_much() -> None:
    with pytest.raises(InputError, match="is no capture of a machine"):
        captures.decode(b" " * (captures.LIMIT + 1), "f")


def damaged(text: str, seed: int) -> str:
    """Cut, repeated, swapped and overwritten, as files are that went through terminals and web pages."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        at, length = chance.randrange(len(text) + 1), chance.randint(0, 200)
        other = chance.randrange(len(text) + 1)
        text = chance.choice(
            (
                text[:at],
                text[:at] + text[at + length :],
                text[:at] + text[other : other + length] + text[at:],
                text[:at] + chance.choice("0919,-[]<>\"'\t\n |+\\x\0\x1bé€") + text[at + 1 :],
                "\n".join(chance.sample(lines := text.split("\n"), len(lines))) if length < 40 else text,
            )
        )
    return text


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 1 << 30))
def test_damaged_captures_are_read_or_refused(name: str, seed: int) -> None:
    """Never another error; and a sound capture of the CPUs is not made wrong by a damaged one beside it."""
    sound = captures.read(TEXTS["lscpu -e"], "sound").seen
    with contextlib.suppress(InputError):
        found = merge([*captures.read(damaged(TEXTS[name], seed), "damaged").seen, *sound], "x").node_type
        for node in MACHINE.numa:
            assert model.cores(found, node.node) == model.cores(MACHINE, node.node)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(InputError):
        assert captures.read(captures.decode(data, "f"), "f").seen == ()
