"""Names, ports and addresses: ibdev2netdev, ibstat and its like, and nvidia-smi's lists of GPUs."""

from collections.abc import Callable

import made_captures as made
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_captures import Port, ports

from hpclaunch.topology.readers import ibdev2netdev, ibstat, nvidia_gpus
from hpclaunch.topology.seen import HcaSeen, Seen
from hpclaunch.values.errors import InputError

PORTS = [
    Port("mlx5_0", 1, "0000:0c:00.0", True, "InfiniBand", 200, "ib0"),
    Port("mlx5_1", 1, "0000:12:00.0", False, "InfiniBand", 100, "ib1"),
    Port("mlx5_1", 2, "0000:12:00.0", True, "Ethernet", 100, "eth1"),
]


def refused(reader: Callable[[str, str], Seen], text: str) -> str:
    with pytest.raises(InputError) as caught:
        reader(text, "hcas.txt")
    return str(caught.value)


def by_port(seen: Seen) -> dict[tuple[str, int | None], HcaSeen]:
    assert seen.unread == ()
    return {(hca.name, hca.port): hca for hca in seen.hcas}


@given(ports(), st.sampled_from(["", "# ", "> ", "\t"]))
def test_ibstat(found: list[Port], prefix: str) -> None:
    text = "".join(f"{prefix}{line}\n" for line in ("ibstat\n" + made.ibstat_text(found)).splitlines())
    assert ibstat.looks_like(text)
    assert {
        key: (hca.state, hca.link_layer, hca.rate_gbps)
        for key, hca in by_port(ibstat.read(text, "f")).items()
    } == {
        (port.name, port.number): ("Active", port.link, port.rate)
        if port.active
        else ("Down", port.link, None)
        for port in found
    }


@given(ports())
def test_ibstatus(found: list[Port]) -> None:
    text = made.ibstatus_text(found)
    assert ibstat.looks_like(text)
    assert {
        key: (hca.state, hca.link_layer, hca.rate_gbps)
        for key, hca in by_port(ibstat.read(text, "f")).items()
    } == {
        (port.name, port.number): ("ACTIVE", port.link, port.rate)
        if port.active
        else ("DOWN", port.link, None)
        for port in found
    }


@given(ports())
def test_ibv_devinfo(found: list[Port]) -> None:
    text = made.devinfo_text(found)
    assert ibstat.looks_like(text)
    assert {
        key: (hca.state, hca.link_layer, hca.model) for key, hca in by_port(ibstat.read(text, "f")).items()
    } == {
        (port.name, port.number): ("ACTIVE" if port.active else "DOWN", port.link, "MT4123") for port in found
    }


@given(ports(), st.booleans())
def test_ibdev2netdev(found: list[Port], verbose: bool) -> None:
    text = made.ibdev2netdev_text(found, verbose)
    assert ibdev2netdev.looks_like(text)
    assert {
        key: (hca.pci, hca.netdev, hca.state) for key, hca in by_port(ibdev2netdev.read(text, "f")).items()
    } == {
        (port.name, port.number): (port.pci, port.net, "ACTIVE" if port.active else "DOWN")
        if verbose
        else ("", port.net, "Up" if port.active else "Down")
        for port in found
    }


def test_the_list_of_names() -> None:
    assert ibstat.looks_like("mlx5_0\nmlx5_10\nrocep49s0\n")
    assert [hca.name for hca in ibstat.read("$ ibstat -l\nmlx5_0\nmlx5_10\n", "f").hcas] == [
        "mlx5_0",
        "mlx5_10",
    ]


@pytest.mark.parametrize("write", [made.ibstat_text, made.ibstatus_text, made.devinfo_text])
def test_ports_cut_anywhere_tell_nothing_that_the_whole_does_not(write: Callable[[list[Port]], str]) -> None:
    text = write(PORTS)
    whole = by_port(ibstat.read(text, "f"))
    for end in range(len(text)):
        try:
            seen = ibstat.read(text[:end], "f")
        except InputError:
            continue
        for hca in seen.hcas:
            known = whole.get((hca.name, hca.port)) or HcaSeen(hca.origin, name=hca.name)
            assert hca.name in {"mlx5_0", "mlx5_1"}
            assert hca.port is None or hca.state == known.state
            assert hca.link_layer in ("", known.link_layer)
            assert hca.rate_gbps in (None, known.rate_gbps)


def test_a_device_that_ibstat_could_not_read_is_named() -> None:
    port = "CA 'mlx5_7'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n\t\tLink layer: InfiniBand\n"
    failed = "ibpanic: [1323906] main: stat of IB device 'mlx5_8' failed: No such file or directory\n"
    seen = ibstat.read(port + failed, "f")
    assert [hca.name for hca in seen.hcas] == ["mlx5_7"]
    assert len(seen.unread) == 1
    assert "mlx5_8" in seen.unread[0]


def test_what_people_do_to_ibdev2netdev() -> None:
    seen = ibdev2netdev.read(
        "[root@dgx ~]# ibdev2netdev -v | sort\n"
        "mlx5_1   port  1  ==>  enp27s0f0np0   (Up)    # storage\n"
        "mlx5_10 port 1 ==&gt; (Down)\n"
        "mlx5\\_11 port 1 \\==\\> ib7 (Down)\n"
        "0000:02:00.5 mlx5_2 (MT4116 - NA)  fw 12.23.1020 port 1 (DOWN  ) ==> enp2s0f2 (Down)\n"
        "0000:41:00.0 mlx5_3 (MT4123 - MCX653105A-HDAT) ConnectX-6 VPI adapter card, HDR IB (200Gb/s)\n"
        " and 200GbE, single-port QSFP56 fw 20.28.1002 port 1 (ACTIVE) ==> ib3 (Up)\n"
        "mlx5_4 port 1 ==> ib4 (Up) (o2ib)\n",
        "f",
    )
    assert [(hca.name, hca.pci, hca.netdev, hca.state) for hca in seen.hcas] == [
        ("mlx5_1", "", "enp27s0f0np0", "Up"),
        ("mlx5_10", "", "", "Down"),
        ("mlx5_11", "", "ib7", "Down"),
        ("mlx5_2", "0000:02:00.5", "enp2s0f2", "DOWN"),
        ("mlx5_3", "0000:41:00.0", "ib3", "ACTIVE"),
        ("mlx5_4", "", "ib4", "Up"),
    ]
    assert seen.unread == ()


def test_a_second_interface_of_a_port_is_named() -> None:
    seen = ibdev2netdev.read("mlx5_0 port 1 ==> ib0 (Up)\nmlx5_0 port 1 ==> ib0.8001 (Up)\n", "f")
    assert [hca.netdev for hca in seen.hcas] == ["ib0"]
    assert "ib0.8001" in seen.unread[0]


@pytest.mark.parametrize(
    ("reader", "text", "says"),
    [
        (ibstat.read, "nothing\n", "no device"),
        (ibstat.read, "CA 'mlx5_0'\nCA 'mlx5_0'\n", "hcas.txt:2:1: mlx5_0 stands twice"),
        (ibstat.read, "mlx5_0\nmlx5_0\n", "hcas.txt:2:1: mlx5_0 stands twice"),
        (ibstat.read, "CA 'mlx5_0'\n  Number of ports: 2\n  Port 1:\n    State: Active\n", "breaks off"),
        (ibstat.read, "CA 'mlx5_0'\n  Port 1:\n    State: Act\n", "'Act' is no state"),
        (ibstat.read, "CA 'mlx5_0'\n  Port 1:\n    State: Down\n    Link layer: Infini\n", "'Infini'"),
        (ibstat.read, "CA 'mlx5_0'\n  Port 1:\n  Port 1:\n", "port 1 of mlx5_0 stands twice"),
        (ibstat.read, "CA 'mlx5_0'\n  Port 99999999999:\n", "above 255"),
        (ibdev2netdev.read, "mlx5_0 port 1 ==> ib0 (U", "no line of ibdev2netdev"),
        (ibdev2netdev.read, "mlx5_0 port 999 ==> ib0 (Up)", "above 255"),
        (ibdev2netdev.read, "00:0c:00.00 mlx5_0 port 1 (ACTIVE) ==> ib0 (Up)", "not a PCI address"),
        (
            ibdev2netdev.read,
            "0000:0c:00.0 mlx5_0 port 1 (ACTIVE) ==> a (Up)\n0000:0d:00.0 mlx5_0 port 2 (DOWN) ==> b (Up)\n",
            "0000:0c:00.0 above",
        ),
        (nvidia_gpus.read, "nothing\n", "no GPU"),
        (
            nvidia_gpus.read,
            "index, pci.bus_id\n0, 00000000:07:00.0\n0, 00000000:0F:00.0\n",
            "GPU 0 stands twice",
        ),
        (nvidia_gpus.read, "0, 00000000:07:00.0\n1, 00000000:07:00.0\n", "0000:07:00.0 stands twice"),
        (nvidia_gpus.read, "index, pci.bus_id\n99999, 00000000:07:00.0\n", "above"),
        (nvidia_gpus.read, "index, pci.bus_id\n0, 00000000:07:00.0, A100\n", "3 cells, and 2 above"),
    ],
)
def test_what_is_refused_is_named(reader: Callable[[str, str], Seen], text: str, says: str) -> None:
    assert says in refused(reader, text)


GPUS = [(0, "0000:07:00.0", "NVIDIA A100-SXM4-40GB"), (1, "0001:0f:00.0", "NVIDIA A100-SXM4-40GB")]
QUERY = (
    "0, 00000000:07:00.0, NVIDIA A100-SXM4-40GB, 40960 MiB\n"
    "1, 00000001:0F:00.0, NVIDIA A100-SXM4-40GB, 1 MiB\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "index, pci.bus_id, name, memory.total [MiB]\n" + QUERY,
        "$ nvidia-smi --query-gpu=index,pci.bus_id,name,memory.total --format=csv,noheader\n" + QUERY,
        QUERY,
        "# name, index, gpu_bus_id\n"
        "# NVIDIA A100-SXM4-40GB, 0, 00000000:07:00.0\n# NVIDIA A100-SXM4-40GB, 1, 00000001:0F:00.0\n",
        "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
        "|===============================+======================+======================|\n"
        "|   0  NVIDIA A100-SXM4-40GB  On  | 00000000:07:00.0 Off |                    0 |\n"
        "| N/A   39C    P0    39W / 150W |      0MiB /  8123MiB |      0%      Default |\n"
        "+-------------------------------+----------------------+----------------------+\n"
        "|   1  NVIDIA A100-SXM4-40GB          On  |   00000001:0F:00.0 Off |                    0 |\n",
    ],
)
def test_lists_of_gpus(text: str) -> None:
    assert nvidia_gpus.looks_like(text)
    seen = nvidia_gpus.read(text, "f")
    assert [(gpu.index, gpu.pci, gpu.model) for gpu in seen.gpus] == GPUS
    assert seen.unread == ()


def test_the_short_list_tells_models() -> None:
    text = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0a1b)\n"
        "  MIG 1g.10gb     Device  0: (UUID: MIG-0a1b)\n"
        "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0a1c)\n"
    )
    assert nvidia_gpus.looks_like(text)
    seen = nvidia_gpus.read(text, "f")
    assert [(gpu.index, gpu.pci, gpu.model) for gpu in seen.gpus] == [
        (0, "", "NVIDIA H100 80GB HBM3"),
        (1, "", "NVIDIA H100 80GB HBM3"),
    ]
    assert seen.unread == ()


def test_without_a_header_a_number_that_does_not_count_is_no_index() -> None:
    seen = nvidia_gpus.read("00000000:07:00.0, 7\n00000000:0F:00.0, 7\n", "f")
    assert [(gpu.index, gpu.pci) for gpu in seen.gpus] == [(None, "0000:07:00.0"), (None, "0000:0f:00.0")]
