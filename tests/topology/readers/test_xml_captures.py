"""hwloc's XML in three versions and NCCL's topology: what is read, and what is refused."""

import pytest

from hpclaunch.topology.readers import hwloc, nccl
from hpclaunch.topology.readers.bitset import numbers
from hpclaunch.topology.seen import Seen
from hpclaunch.values.errors import InputError

V1 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x000000ff" nodeset="0x00000003">
    <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
      <latency value="1.000000"/><latency value="2.100000"/>
      <latency value="2.100000"/><latency value="1.000000"/>
    </distances>
    <object type="NUMANode" os_index="0" cpuset="0x00000055" nodeset="0x00000001" local_memory="8589934592">
      <object type="Socket" os_index="0" cpuset="0x00000055">
        <object type="Cache" cpuset="0x00000055" depth="3">
          <object type="Core" os_index="0" cpuset="0x00000011">
            <object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="4" cpuset="0x10"/>
          </object>
          <object type="Core" os_index="1" cpuset="0x00000044">
            <object type="PU" os_index="2" cpuset="0x4"/><object type="PU" os_index="6" cpuset="0x40"/>
          </object>
        </object>
      </object>
      <object type="Bridge" os_index="0" bridge_type="0-1" depth="0" bridge_pci="0000:[00-06]">
        <object type="Bridge" bridge_type="1-1" pci_busid="0000:00:07.0" pci_type="0604 [8086:340e] [0:0] 13">
          <object type="PCIDev" os_index="24576" name="Some GPU" pci_busid="0000:06:00.0"
                  pci_type="0302 [10de:06d2] [00de:0030] a3"/>
        </object>
        <object type="PCIDev" pci_busid="0000:05:00.0" pci_type="0c06 [15b3:673c] [103c:1782] b0">
          <object type="OSDev" name="ib0" osdev_type="2"/>
          <object type="OSDev" name="mlx4_0" osdev_type="3"><info name="Port1State" value="4"/></object>
        </object>
      </object>
    </object>
    <object type="NUMANode" os_index="1" cpuset="0x000000aa" nodeset="0x00000002" local_memory="8589934592">
      <object type="Socket" os_index="1" cpuset="0x000000aa">
        <object type="Core" os_index="0" cpuset="0x00000022">
          <object type="PU" os_index="1" cpuset="0x2"/><object type="PU" os_index="5" cpuset="0x20"/>
        </object>
        <object type="Core" os_index="1" cpuset="0x00000088">
          <object type="PU" os_index="3" cpuset="0x8"/><object type="PU" os_index="7" cpuset="0x80"/>
        </object>
      </object>
    </object>
  </object>
</topology>
"""
# One package; DRAM and memory without CPUs of its own side by side, as hwloc 2 has CXL and HBM.
SHARED = """<topology version="2.0">
  <object type="Machine" cpuset="0x3" nodeset="0x3">
  <object type="Package" os_index="0" cpuset="0x3" nodeset="0x3">
    <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1"/>
    <object type="NUMANode" os_index="1" cpuset="0x3" nodeset="0x2"/>
    <object type="Core" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
    <object type="Core" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object>
  </object></object>
</topology>
"""


def read(text: str) -> Seen:
    assert hwloc.looks_like(text)
    return hwloc.read(text, "hw.xml")


def test_version_1() -> None:
    seen = read(V1)
    assert [(cpu.number, cpu.socket, cpu.siblings, cpu.numa) for cpu in seen.cpus[:3]] == [
        (0, 0, (0, 4), 0),
        (1, 1, (1, 5), 1),
        (2, 0, (2, 6), 0),
    ]
    assert seen.cpus[0].l3 is not None
    assert seen.cpus[1].l3 is None
    assert [(node.cpus, node.kib, node.distances) for node in seen.numa] == [
        ((0, 2, 4, 6), 8 << 20, {0: 10, 1: 21}),
        ((1, 3, 5, 7), 8 << 20, {0: 21, 1: 10}),
    ]
    assert [(gpu.pci, gpu.numa, gpu.path, gpu.model) for gpu in seen.gpus] == [
        ("0000:06:00.0", 0, ("0000:00:07.0",), "Some GPU")
    ]
    hca = seen.hcas[0]
    assert (hca.name, hca.pci, hca.numa, hca.state, hca.netdev) == (
        "mlx4_0",
        "0000:05:00.0",
        0,
        "ACTIVE",
        "ib0",
    )


def test_lines_are_those_of_the_file() -> None:
    lines = V1.splitlines()
    for cpu in read(V1).cpus:
        assert f'os_index="{cpu.number}"' in lines[cpu.origin.line - 1]
    late = "$ lstopo out.xml; cat out.xml\n\n" + V1
    assert read(late).cpus[0].origin.line == read(V1).cpus[0].origin.line + 2


def test_memory_that_shares_its_cpus_gives_them_to_nobody() -> None:
    seen = read(SHARED)
    assert [node.cpus for node in seen.numa] == [None, None]
    assert all(cpu.numa is None for cpu in seen.cpus)
    assert len(seen.unread) == 2


def test_a_device_below_the_whole_machine_is_on_no_numa_node() -> None:
    device = '<object type="PCIDev" pci_busid="0000:43:00.0" pci_type="0302 [10de:20b0] [0:0] 01"/>'
    seen = read(SHARED.replace("</object></object>\n</topology>", f"</object>{device}</object>\n</topology>"))
    assert [(gpu.pci, gpu.numa) for gpu in seen.gpus] == [("0000:43:00.0", None)]


ENTITY = '<!DOCTYPE topology [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (V1[: len(V1) // 2], "it breaks off: </topology> is missing"),
        (V1.replace("</object>", "", 1), "line 42: mismatched tag"),
        (ENTITY + V1.partition('dtd">\n')[2], "line 1: it declares an entity"),
        (V1.replace('os_index="6"', 'os_index="4"'), "line 16: PU 4 stands twice"),
        (V1.replace('os_index="6"', 'os_index="-6"'), "line 16: os_index '-6' is not a number"),
        (
            V1.replace('cpuset="0x00000055" depth', 'cpuset="0xzz" depth'),
            "line 11: cpuset '0xzz' is not a bit set",
        ),
        (SHARED.replace('version="2.0"', 'version="9.1"'), "line 1: version 9.1 is not known"),
        (
            SHARED.replace('os_index="1" cpuset="0x3"', 'os_index="0" cpuset="0x3"'),
            "two NUMA nodes have one number",
        ),
    ],
)
def test_broken_and_unsafe_xml_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        hwloc.read(text, "hw.xml")
    assert str(caught.value).startswith("hw.xml: cannot be read as hwloc XML: ")
    assert says in str(caught.value)


def test_an_entity_is_not_expanded_where_it_stands_undeclared() -> None:
    with pytest.raises(InputError, match="undefined entity"):
        hwloc.read(V1.replace("Some GPU", "&xxe;"), "hw.xml")


def test_elements_that_never_end() -> None:
    deep = '<topology version="2.0">' + '<object type="Group">' * 5000 + "</object>" * 5000 + "</topology>"
    with pytest.raises(InputError, match="more than 200 levels"):
        hwloc.read(deep, "hw.xml")


@pytest.mark.parametrize(
    ("text", "found"),
    [("0x1,0x00000003", (0, 1, 32)), ("00000001,00000000", (32,)), ("0x0", ()), ("f", (0, 1, 2, 3))],
)
def test_bit_sets(text: str, found: tuple[int, ...]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize("text", ["", ",", "0x", "0x123456789", "-1", "1 2", "f," * 3000])
def test_no_bit_sets(text: str) -> None:
    with pytest.raises(ValueError, match="bit set"):
        numbers(text)


DUMP = """<system version="1">
  <cpu host_hash="0x1" numaid="3" affinity="ffff0000,00000000" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:01:00.0" class="0x060400" vendor="0x1000" device="0xc010" link_speed="16.0 GT/s PCIe">
      <pci busid="0000:07:00.0" class="0x030200" vendor="0x10de" device="0x20b0">
        <gpu dev="0" sm="80" rank="0"><nvlink target="0000:c4:00.0" count="2" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:0c:00.0" class="0x020700" vendor="0x15b3" device="0x101b">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" latency="0.0" guid="0x2" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu host_hash="0x1" numaid="-1" arch="x86_64">
    <pci busid="0000:61:00.0" class="0x020700" vendor="0x15b3">
      <nic>
        <net name="mlx5_4" dev="4" speed="200000" port="1" guid="0x3"/>
        <net name="mlx5_5" dev="5" speed="100000" port="2" guid="0x3"/>
      </nic>
    </pci>
    <nic><net name="eth0" dev="6" speed="10000" port="0" guid="0x0"/></nic>
  </cpu>
</system>
"""


def test_a_dump_of_nccl() -> None:
    assert nccl.looks_like(DUMP)
    seen = nccl.read(DUMP, "nccl.xml")
    assert [(node.node, node.cpus) for node in seen.numa] == [(3, tuple(range(48, 64)))]
    assert [(gpu.pci, gpu.index, gpu.numa, gpu.path) for gpu in seen.gpus] == [
        ("0000:07:00.0", None, 3, ("0000:01:00.0",))
    ]
    assert [(hca.name, hca.pci, hca.numa, hca.rate_gbps, hca.link_layer) for hca in seen.hcas] == [
        ("mlx5_0", "0000:0c:00.0", 3, 200, "InfiniBand"),
        ("mlx5_4", "0000:61:00.0", None, 200, "InfiniBand"),
        ("mlx5_5", "", None, 100, ""),
    ]
    assert seen.unread == (
        "nccl.xml:16: NCCL merges the functions of a card: the PCI address of mlx5_5 is not told",
    )


def test_a_file_for_nccl_has_classes_alone() -> None:
    text = """<system version="1"><cpu numaid="1" affinity="000fffff,00000000" arch="x86_64">
      <pci busid="ffff:ff:01.0" class="0x060400"><pci busid="0001:00:00.0" class="0x030200"/>
      <pci busid="0101:00:00.0" class="0x020700"/></pci></cpu></system>"""
    seen = nccl.read(text, "topo.xml")
    assert [(gpu.pci, gpu.path) for gpu in seen.gpus] == [("0001:00:00.0", ("ffff:ff:01.0",))]
    assert [(hca.pci, hca.name, hca.link_layer) for hca in seen.hcas] == [("0101:00:00.0", "", "InfiniBand")]


def test_a_dump_of_several_machines_is_refused() -> None:
    with pytest.raises(InputError, match="it shows 2 machines"):
        nccl.read(DUMP.replace('host_hash="0x1" numaid="-1"', 'host_hash="0x2" numaid="-1"'), "nccl.xml")
