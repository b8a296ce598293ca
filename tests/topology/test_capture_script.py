"""capture.sh run by three shells on a made-up machine: what it prints is read as that machine is."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from command import hpclaunch
from sysfs_tree import SysfsTree

from hpclaunch.topology import captures, discover
from hpclaunch.topology.merge.machine import merge
from hpclaunch.topology.readers import sysfs
from hpclaunch.values.errors import InputError

SHELLS = {"dash": ["dash"], "bash": ["bash", "--posix"], "busybox": ["busybox", "sh"]}


@pytest.fixture
def machine(tmp_path: Path) -> SysfsTree:
    """Two sockets of two cores with SMT; two GPUs and two HCAs behind switches, a card for storage."""
    tree = SysfsTree(tmp_path / "a made-up (machine)", "0-7")
    for first in range(4):
        tree.core(f"{first},{first + 4}", first // 2, first, first + 4)
        for cpu in (first, first + 4):
            cache = f"sys/devices/system/cpu/cpu{cpu}/cache/index3"
            tree.write(f"{cache}/level", "3")
            tree.write(f"{cache}/type", "Unified")
            tree.write(f"{cache}/shared_cpu_list", "0-1,4-5" if first < 2 else "2-3,6-7")
    tree.node(0, "0-1,4-5", "10 21")
    tree.node(1, "2-3,6-7", "21 10")
    tree.write("proc/meminfo", "MemTotal:       67108864 kB\nMemFree: 1 kB")
    for bus, numa in (("17", 0), ("97", 1)):
        above = (f"0000:{bus}:01.0", f"0000:{int(bus, 16) + 1:02x}:00.0")
        port = f"0000:{int(bus, 16) + 2:02x}"
        tree.gpu(*above, f"{port}:00.0", f"0000:{int(bus, 16) + 3:02x}:00.0", numa=numa)
        tree.hca(f"mlx5_{numa}", *above, f"{port}:01.0", f"0000:{int(bus, 16) + 4:02x}:00.0", numa=numa)
    tree.hca("mlx5_2", "0000:60:01.0", "0000:61:00.0", numa=0, link_layer="Ethernet", state="1: DOWN")
    return tree


def printed(shell: list[str], tree: SysfsTree) -> str:
    assert shutil.which(shell[0]), f"{shell[0]} is not installed"
    done = subprocess.run(
        [*shell, "-c", discover.script()],
        env={"PATH": "/usr/bin:/bin", "HPCLAUNCH_ROOT": str(tree.root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_the_machine_itself_and_its_capture_are_the_same(shell: list[str], machine: SysfsTree) -> None:
    live = merge([sysfs.read_live(str(machine.root))], "made")
    used = captures.read(printed(shell, machine), "dgx001")
    assert not used.unused
    captured = merge(used.seen, "made")
    for name in ("numa", "distances", "gpus", "hcas", "variants", "memory_gib"):
        assert getattr(captured.node_type, name) == getattr(live.node_type, name)
    assert captured.reasons == live.reasons
    assert [hca.switch for hca in captured.node_type.hcas] == ["pex0", "", "pex1"]
    assert captured.node_type.numa[1].l3 == ("2-3,6-7",)
    assert all("dgx001 (sysfs capture)" in source.source for source in captured.node_type.sources)


def test_the_folder_of_a_machine_is_a_capture_too(machine: SysfsTree) -> None:
    done = hpclaunch("topo", "discover", machine.root, "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["node_type"]["gpus"]) == 2


def test_what_topo_discover_prints_is_the_script() -> None:
    assert hpclaunch("topo", "discover", "--script").stdout == discover.script()


@pytest.mark.parametrize(
    "entry",
    [
        "F\t/sys/../../../tmp/hpclaunch-escaped\tx",
        "L\t/sys/class/infiniband/mlx5_0\t/tmp",
        "L\t/sys/class\t/sys/../../tmp\nF\t/sys/class/hpclaunch-escaped\tx",
        "F\t/etc/hpclaunch-escaped\tx",
        "L\t/sys/a/b\t/sys/a/b/c\nL\t/sys/a/b/c\t/sys/a/b\nF\t/sys/a/b/c/d\tx",
        "F\t/sys/a\tx\nF\t/sys/a/b\tx",
        f"F\t/sys/{'a' * 300}\tx",
    ],
)
def test_a_capture_leads_nowhere_out_of_its_folder(entry: str, machine: SysfsTree, tmp_path: Path) -> None:
    text = printed(SHELLS["dash"], machine) + entry + "\n"
    try:
        assert len(captures.read(text, "evil").seen[0].gpus) == 2
    except InputError as error:
        assert "the paths in it cannot be those of one machine" in str(error)  # noqa: PT017
    for place in (Path("/tmp"), Path("/etc"), tmp_path):
        assert not list(place.glob("hpclaunch-escaped"))


def test_a_capture_by_another_version_is_refused(machine: SysfsTree) -> None:
    text = printed(SHELLS["dash"], machine).replace("# hpclaunch capture 1", "# hpclaunch capture 2")
    with pytest.raises(InputError, match="made by another version of hpclaunch"):
        captures.read(text, "f")
