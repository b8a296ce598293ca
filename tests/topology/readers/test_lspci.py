"""The forms of lspci, in the shapes that lspci(8) and pciutils give them."""

import pytest

from hpclaunch.topology.readers import lspci
from hpclaunch.topology.seen import Seen
from hpclaunch.values.errors import InputError

TREE = r"""-+-[0000:e0]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex
 |           +-01.1-[e1]--+-00.0  Mellanox Technologies MT28908 Family [ConnectX-6]
 |           |            \-00.1  Mellanox Technologies MT28908 Family [ConnectX-6]
 |           \-03.1-[e2]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller
 +-[0000:53]-+-00.0-[54-7b]----00.0-[55-7b]--+-04.0-[56-6b]----00.0-[57-6b]--+-04.0-[58]--+-00.0  NVIDIA Corporation GA100 [A100 SXM4 40GB]
 |           |                               |                               |            \-00.1  NVIDIA Corporation GA100 High Definition Audio Controller
 |           |                               |                               \-08.0-[5c]----00.0  Mellanox Technologies MT27800 Family [ConnectX-5]
 |           |                               +-08.0-[6c]----00.0  NVIDIA Corporation GA100 [A100 NVSwitch]
 |           |                               \-0c.0-[6d-7b]--
 |           \-05.0-[7c]----00.0  NVIDIA Corporation Device 20b2
 \-[0000:00]-+-00.0  Intel Corporation Ice Lake Memory Map/VT-d
             \-11.5  Intel Corporation C620 Series Chipset Family SATA Controller
"""  # noqa: E501


def read(text: str) -> Seen:
    assert lspci.looks_like(text)
    return lspci.read(text, "lspci.txt")


def test_the_bridges_above_each_device_in_a_tree() -> None:
    seen = read(TREE)
    above = ("0000:53:00.0", "0000:54:00.0", "0000:55:04.0", "0000:56:00.0")
    assert [(gpu.pci, gpu.path, gpu.origin.line) for gpu in seen.gpus] == [
        ("0000:58:00.0", (*above, "0000:57:04.0"), 5)
    ]
    assert [(hca.pci, hca.path) for hca in seen.hcas] == [
        ("0000:5c:00.0", (*above, "0000:57:08.0")),
        ("0000:e1:00.0", ("0000:e0:01.1",)),
        ("0000:e1:00.1", ("0000:e0:01.1",)),
    ]


def test_what_a_tree_does_not_tell_is_named() -> None:
    """Without classes, a number instead of a name says nothing; its bridges are known all the same."""
    seen = read(TREE)
    assert seen.paths["0000:7c:00.0"] == ("0000:53:05.0",)
    assert any("0000:7c:00.0 (Device 20b2)" in line for line in seen.unread)
    assert not any("6c:00.0" in line for line in seen.unread)  # an NVSwitch is known for what it is


def test_a_tree_in_a_comment_or_a_quotation() -> None:
    plain = read(TREE)
    for sign in ("# ", "> ", "    "):
        moved = read("".join(sign + line + "\n" for line in TREE.splitlines()))
        assert [gpu.path for gpu in moved.gpus] == [gpu.path for gpu in plain.gpus]
        assert [hca.path for hca in moved.hcas] == [hca.path for hca in plain.hcas]


def test_a_tree_with_one_root_bus_and_without_names() -> None:
    seen = read("-[0000:00]-+-01.0-[01-02]----00.0-[02]----00.0\n           \\-02.0\n")
    assert seen.paths == {"0000:02:00.0": ("0000:00:01.0", "0000:01:00.0")}


def test_a_tree_whose_first_line_alone_was_moved() -> None:
    text = (
        "  -[0000:00]-+-06.0-[03]----00.0  NVIDIA Corporation GA100 [A100]\n           \\-1f.3  Some SMBus\n"
    )
    assert read(text).gpus[0].path == ("0000:00:06.0",)


def test_a_tree_whose_lines_were_moved_is_refused() -> None:
    lines = TREE.splitlines()
    lines[6] = lines[6].replace(" |           |      ", " |           |", 1)
    with pytest.raises(InputError, match=r"lspci\.txt:7:.*fits no bus above it"):
        lspci.read("\n".join(lines), "lspci.txt")


RECORDS = """Slot:\t{0}07:00.0
Class:\t3D controller{1}
Vendor:\tNVIDIA Corporation{2}
Device:\tGA100 [A100 SXM4 40GB]{3}
SVendor:\tNVIDIA Corporation
Rev:\ta1
NUMANode:\t3
IOMMUGroup:\t47

lspci: Unable to load libkmod resources: error -12
Slot:\t{0}0c:00.0
Class:\tInfiniband controller{4}
Vendor:\tMellanox Technologies{5}
Device:\tMT28908 Family [ConnectX-6]{6}
PhySlot:\t1
NUMANode:\t-1

Slot:\t{0}61:00.1
Class:\tEthernet controller{7}
Vendor:\tMellanox Technologies{5}
Device:\tMT28908 Family [ConnectX-6 Virtual Function]

Slot:\t{0}c4:00.0
Class:\tBridge
Vendor:\tNVIDIA Corporation{2}
Device:\tGA100 [A100 NVSwitch]
NUMANode:\t5
"""


@pytest.mark.parametrize(
    "parts",
    [
        ("", "", "", "", "", "", "", ""),
        ("0000:", " [0302]", " [10de]", " [20b0]", " [0207]", " [15b3]", " [101b]", " [0200]"),
    ],
    ids=["-vmm", "-D -nn -vmm"],
)
def test_records(parts: tuple[str, ...]) -> None:
    seen = read(RECORDS.format(*parts))
    assert [(gpu.pci, gpu.numa, gpu.origin.line) for gpu in seen.gpus] == [("0000:07:00.0", 3, 1)]
    assert [(hca.pci, hca.numa, hca.link_layer) for hca in seen.hcas] == [
        ("0000:0c:00.0", None, "InfiniBand"),
        ("0000:61:00.1", None, "Ethernet"),
    ]
    assert not seen.unread


@pytest.mark.parametrize(
    "text",
    [
        "07:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 40GB] (rev a1)\n"
        "0c:00.0 Infiniband controller: Mellanox Technologies MT28908 Family [ConnectX-6]\n"
        "c4:00.0 Bridge: NVIDIA Corporation Device 1af1 (rev a1)\n",
        "0000:07:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 40GB] [10de:20b0] (rev a1)\n"
        "0000:0c:00.0 Infiniband controller [0207]: Mellanox Technologies MT28908 [15b3:101b]\n"
        "0000:0e:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. [1a03:2000] (rev 41)\n",
        "07:00.0 0302: 10de:20b0 (rev a1)\n0c:00.0 0207: 15b3:101b\nc4:00.0 0680: 10de:1af1 (rev a1)\n",
        '07:00.0 "3D controller" "NVIDIA Corporation" "GA100 [A100 SXM4 40GB]" -ra1 "NVIDIA" "Device 134f"\n'
        '0c:00.0 "Infiniband controller" "Mellanox Technologies" "MT28908 Family" "" ""\n',
    ],
    ids=["plain", "-D -nn", "-n", "-mm"],
)
def test_listings(text: str) -> None:
    seen = read(text)
    assert [(gpu.pci, gpu.numa) for gpu in seen.gpus] == [("0000:07:00.0", None)]
    assert [(hca.pci, hca.link_layer) for hca in seen.hcas] == [("0000:0c:00.0", "InfiniBand")]


def test_a_verbose_listing_tells_bridges_and_numa_nodes() -> None:
    seen = read(
        "00:01.0 PCI bridge: Some Root Port (prog-if 00 [Normal decode])\n"
        "\tBus: primary=00, secondary=01, subordinate=03, sec-latency=0\n\n"
        "01:00.0 PCI bridge: PLX Technology, Inc. PEX 8747 (rev ca) (prog-if 00 [Normal decode])\n"
        "\tBus: primary=01, secondary=02, subordinate=03, sec-latency=0\n\n"
        "02:08.0 PCI bridge: PLX Technology, Inc. PEX 8747 (rev ca) (prog-if 00 [Normal decode])\n"
        "\tBus: primary=02, secondary=03, subordinate=03, sec-latency=0\n\n"
        "03:00.0 VGA compatible controller: NVIDIA Corporation GP100 (rev a1) (prog-if 00 [VGA controller])\n"
        "\tFlags: bus master, fast devsel\n\tNUMA node: 1\n\tKernel driver in use: nvidia\n"
    )
    gpu = seen.gpus[0]
    assert (gpu.path, gpu.numa) == (("0000:00:01.0", "0000:01:00.0", "0000:02:08.0"), 1)


def test_a_listing_with_paths() -> None:
    seen = read("00:01.0/01:00.0/02:08.0/03:00.0 3D controller: NVIDIA Corporation GP100 (rev a1)\n")
    assert seen.gpus[0].path == ("0000:00:01.0", "0000:01:00.0", "0000:02:08.0")


def test_lines_that_are_none_of_lspcis_are_named() -> None:
    seen = read("07:00.0 3D controller: NVIDIA Corporation GA100 (rev a1)\nSegmentation fault\n")
    assert len(seen.gpus) == 1
    assert any("Segmentation fault" in line for line in seen.unread)


def test_an_address_twice_is_named() -> None:
    seen = read("07:00.0 3D controller: NVIDIA Corporation A\n07:00.0 3D controller: NVIDIA Corporation B\n")
    assert [gpu.model for gpu in seen.gpus] == ["A"]
    assert any("0000:07:00.0 stands twice" in line for line in seen.unread)
