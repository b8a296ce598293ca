"""The line that a rank writes for `hpclaunch verify`: what it has, not what was planned."""

import os
import resource
from pathlib import Path

import pytest
from made_up_node import Node
from running import Runner

from hpclaunch.values.cpulist import format_list, parse

HCAS = "hcas=mlx5_0/0000:0c:00.0/1/InfiniBand mlx5_1/0000:12:00.0/1/InfiniBand"


@pytest.fixture
def dgx(node: Node) -> Node:
    """Half of a DGX A100's NUMA nodes, two of its GPUs and two of its HCAs."""
    numa = {
        number: f"{16 * number}-{16 * number + 15},{16 * number + 128}-{16 * number + 143}"
        for number in (0, 3, 10)
    }
    node.cpus("0-255", numa, {48: "48,176", 0: "0,128"})
    node.gpu("0000:07:00.0", 0, numa=3)
    node.gpu("0000:0f:00.0", 1, numa=3)
    node.hca("mlx5_0", "0000:0c:00.0", 0, numa=3)
    node.hca("mlx5_7", "0000:12:00.0", 7, numa=-1)
    node.allowed("48-55,176-183")
    node.write("proc/self/numa_maps", "7f00a000 bind:3 file=/bin/dash mapped=2 N3=2\n7f00b000 default anon=1")
    node.write(
        "proc/self/limits",
        "Limit  Soft Limit  Hard Limit  Units\nMax locked memory  unlimited  unlimited  bytes",
    )
    return node


def line(on_node: Runner, *settings: str, env: dict[str, str] | None = None, **more: object) -> str:
    full = {"SLURMD_NODENAME": "dgx004"} | (env or {})
    arguments = ("from=slurm", "verify=1", *settings, "--", "--", "echo", "ran")
    result = on_node(*arguments, env=full, **more)
    assert (result.returncode, result.stdout) == (0, b"ran\n"), result.stderr.decode()
    *others, last = result.stderr.decode().splitlines()
    assert not [other for other in others if other.startswith("hpclaunch-verify")]
    return last


def fields(text: str) -> dict[str, str]:
    word, version, *pairs = text.split(" ")
    assert (word, version) == ("hpclaunch-verify", "1")
    return dict(pair.split("=", 1) for pair in pairs)


def test_the_whole_line(on_node: Runner, dgx: Node) -> None:
    assert line(on_node, HCAS, "near=;;;2:0,1") == (
        "hpclaunch-verify 1 rank=11 local=3 node=dgx004 cpus=48-55,176-183 online=0-255 numa=3 memory=bind:3 "
        "siblings=48,176 gpus=0000:07:00.0@3,0000:0f:00.0@3 "
        "hcas=mlx5_0/0000:0c:00.0/1/ACTIVE/InfiniBand@3,mlx5_7/0000:12:00.0/1/ACTIVE/InfiniBand@-1 "
        "memlock=unlimited"
    )


def test_it_is_written_for_every_rank_and_only_if_asked(on_node: Runner, dgx: Node) -> None:
    for local in ("0", "1"):
        assert fields(line(on_node, env={"SLURM_LOCALID": local}))["local"] == local
    assert on_node("from=slurm", "--", "--", "echo", "ran").stderr == b""


def test_what_cannot_be_looked_up(on_node: Runner) -> None:
    """Neither /sys nor /proc has anything."""
    got = fields(line(on_node, HCAS, "near=;;;1:0"))
    unknown = {name for name, value in got.items() if value == "?"}
    assert unknown == {"cpus", "online", "numa", "memory", "siblings", "gpus"}
    assert got["hcas"] == "mlx5_0/0000:0c:00.0/1/?/?@?"


def test_gpus_that_do_not_open_are_not_the_jobs(on_node: Runner, dgx: Node) -> None:
    dgx.gpu("0000:47:00.0", 2, opens=False)
    (dgx.root / "dev/nvidia0").unlink()
    assert fields(line(on_node))["gpus"] == "0000:0f:00.0@3"
    (dgx.root / "dev/nvidia1").unlink()
    assert fields(line(on_node))["gpus"] == "-"


def test_every_numa_node_that_has_a_cpu_of_the_rank(on_node: Runner, dgx: Node) -> None:
    dgx.allowed("0-1,63,160")
    got = fields(line(on_node))
    assert (set(got["numa"].split(",")), got["siblings"]) == ({"0", "3", "10"}, "0,128")
    dgx.allowed("100")
    assert fields(line(on_node))["numa"] == "?"
    assert fields(line(on_node))["siblings"] == "?"


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("default", "default"),
        ("bind:0-1,3", "bind:0-1,3"),
        ("bind=static:3", "bind:3"),
        ("prefer:3", "prefer:3"),
        ("prefer (many):3", "prefer:3"),
        ("interleave:0-7", "interleave:0-7"),
        ("weighted interleave:0-7", "interleave:0-7"),
        ("local", "local"),
    ],
)
def test_the_kernels_words_for_a_memory_policy(on_node: Runner, dgx: Node, policy: str, told: str) -> None:
    dgx.write("proc/self/numa_maps", f"55d0c000 {policy} file=/bin/dash mapped=2 N3=2 kernelpagesize_kB=4")
    assert fields(line(on_node))["memory"] == told


def test_memory_bound_by_numactl_is_read_through_it(on_node: Runner, dgx: Node) -> None:
    maps = dgx.root / "proc/self/numa_maps"
    dgx.stand_in("numactl", f'echo "55d0c000 bind:${{1#--membind=}} file=x" >{maps}; shift 2; exec "$@"')
    assert fields(line(on_node, "membind=0;1;2;5"))["memory"] == "bind:5"


def test_on_a_part_of_a_node_the_rank_names_its_own_gpus(on_node: Runner, dgx: Node) -> None:
    part = ("gpus=0000:07:00.0|3|1 0000:0f:00.0|3|0", "cores=3.3:48-63/176-191", "seats=;;;1", "part=cpus")
    got = fields(line(on_node, HCAS, *part))
    assert got["own"] == "0000:0f:00.0"
    assert got["hcas"].startswith("mlx5_0/")
    assert got["gpus"].count("@") == 2
    assert "own" not in fields(line(on_node, HCAS))


def test_a_line_stays_under_a_thousand_bytes(on_node: Runner, node: Node) -> None:
    """16 GPUs, 12 HCAs with long names, and a CPU list without any range."""
    odd = ",".join(map(str, range(1, 192, 2)))
    node.cpus("0-191", {0: ",".join(map(str, range(0, 192, 2))), 1: odd}, {1: "1,97"})
    node.allowed(odd)
    for minor in range(16):
        node.gpu(f"0000:{minor + 16:x}:00.0", minor)
    entries = []
    for number in range(12):
        pci = f"0000:{number + 64:x}:00.0"
        node.hca(f"rocep{number + 64}s0f0", pci, number)
        entries.append(f"mlx5_{number}/{pci}/1/InfiniBand")
    text = line(on_node, f"hcas={' '.join(entries)}", "near=;;;12:0,1,2,3,4,5,6,7,8,9,10,11")
    assert len(text) < 1000
    got = fields(text)
    assert (got["cpus"], got["numa"], got["gpus"], got["hcas"]) == (odd, "1", "?", "?")


def test_the_real_machine(run: Runner) -> None:
    """Also where the wrapper itself has bound the rank just before."""
    cpu = max(os.sched_getaffinity(0))
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    got = fields(line(run))
    assert set(parse(got["cpus"])) == os.sched_getaffinity(0)
    assert got["online"] == Path("/sys/devices/system/cpu/online").read_text().strip()
    assert got["memlock"] == ("unlimited" if soft == resource.RLIM_INFINITY else str(soft // 1024))
    assert got["memory"] in ("default", "?")
    got = fields(line(run, f"cpus=;;;{cpu}"))
    assert got["cpus"] == format_list([cpu])
    assert str(cpu) in got["siblings"]


def test_real_numactl_is_seen_by_the_kernel(run: Runner) -> None:
    shown = Path("/proc/self/numa_maps").exists()
    assert fields(line(run, "membind=;;;0"))["memory"] == ("bind:0" if shown else "?")
    assert fields(line(run, "preferred=;;;0"))["memory"] == ("prefer:0" if shown else "?")


def test_gpus_whose_addresses_nothing_tells_are_not_named(on_node: Runner, node: Node) -> None:
    """Neither the table nor a driver has them; all else is reported."""
    node.cpus("0-3", {0: "0-3"}, {0: "0"})
    node.allowed("0-3")
    table = ("cores=0.0:0-3", "gpus=|0| |0|", "seats=0-1", "part=cpus")
    seen = fields(line(on_node, *table, env={"SLURM_STEP_GPUS": "0,1", "SLURM_CPUS_ON_NODE": "4"}))
    assert "own" not in seen
    assert seen["gpus"] == "?"
