"""What a check of one node says of it, under the shells that nodes have, on made-up nodes."""

import os
import subprocess
from pathlib import Path

import pytest
from made_up_node import Node
from running import SHELLS

from hpclaunch.rank import beside

PCIS = ("0000:4b:00.0", "0000:51:00.0")
HCAS = "hcas=" + " ".join(f"mlx5_{index}/{pci}/1/InfiniBand/200" for index, pci in enumerate(PCIS))
LIMITS = "Limit                     Soft Limit           Hard Limit           Units\n"
PORT = "sys/devices/pci0000:00/0000:00:01.0/{}/infiniband/{}/ports/1/{}"


class Fit(Node):
    """A node on which nothing is bad: two HCAs and two GPUs, on which nvidia-smi says what `smi` holds."""

    def __init__(self, root: Path):
        super().__init__(root)
        for index, pci in enumerate(PCIS):
            self.hca(f"mlx5_{index + 4}", pci, index)  # numbered as they are here: addresses count
            self.port(index, "rate", "200 Gb/sec (4X HDR)")
            self.gpu(f"0000:0{index}:00.0", index)
        self.locked("unlimited")
        self.stand_in("nvidia-smi", 'cat "${0%/*}/smi"; exit "$(cat "${0%/*}/status")"')
        self.smi("00000000:00:00.0, 0", "00000000:01:00.0, 0")

    def port(self, index: int, file: str, text: str) -> None:
        self.write(PORT.format(PCIS[index], f"mlx5_{index + 4}", file), text)

    def locked(self, amount: str) -> None:
        line = f"Max locked memory         {amount}            unlimited            bytes"
        self.write("proc/self/limits", LIMITS + line)

    def smi(self, *lines: str, status: int = 0) -> None:
        (self.tools / "smi").write_text("".join(f"{line}\n" for line in lines))
        (self.tools / "status").write_text(str(status))

    def check(self, shell: list[str], *words: str) -> list[str]:
        """What is said of it, without its name."""
        env = {
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "HPCLAUNCH_ROOT": str(self.root),
            "SLURMD_NODENAME": "dgx004",
        }
        done = subprocess.run(
            [*shell, "-c", beside.text("check"), "hpclaunch-check", *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert all(line.startswith("hpclaunch-check dgx004 ") for line in lines)
        return [line.removeprefix("hpclaunch-check dgx004 ") for line in lines]


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    return SHELLS[request.param]


@pytest.fixture
def node(tmp_path: Path) -> Fit:
    return Fit(tmp_path)


def test_a_fit_node_is_ok(node: Fit, shell: list[str]) -> None:
    assert node.check(shell, "gpus=2", HCAS, "memlock=1048576") == ["ok"]
    assert node.check(shell, "gpus=1") == ["ok"]  # more than a job on a part of it needs
    node.smi("00000000:00:00.0, [N/A]", "00000000:01:00.0, [Not Supported]")  # without ECC
    assert node.check(shell, "gpus=2") == ["ok"]


def test_what_is_bad_is_named(node: Fit, shell: list[str]) -> None:
    node.port(0, "state", "1: DOWN")
    node.port(1, "rate", "100 Gb/sec (4X EDR)")
    node.locked("65536")
    node.smi("00000000:00:00.0, 3")
    (said,) = node.check(shell, "gpus=2", HCAS, "memlock=1048576")
    assert said.removeprefix("bad ").split("; ") == [
        "GPU 00000000:00:00.0 has 3 uncorrected ECC errors",
        "it has 1 GPUs of 2",
        "HCA mlx5_0 (0000:4b:00.0): port 1 is DOWN",
        "HCA mlx5_1 (0000:51:00.0): port 1 has 100 Gb/s of 200",
        "the memlock limit is 64 KiB, too low for InfiniBand",
    ]
    absent = node.check(shell, "hcas=mlx5_9/0000:99:00.0/1/InfiniBand/0 mlx5_1/0000:51:00.0/2/InfiniBand/0")
    assert absent == ["bad HCA mlx5_9 (0000:99:00.0) is absent; HCA mlx5_1 (0000:51:00.0) has no port 2"]


@pytest.mark.parametrize("said", ["[GPU requires reset]", "[Unknown Error]", "ERR!"])
def test_a_gpu_that_cannot_say_its_errors_is_bad(node: Fit, shell: list[str], said: str) -> None:
    node.smi("00000000:00:00.0, 0", f"00000000:01:00.0, {said}")
    expected = f"bad GPU 00000000:01:00.0 says {said} when asked for its ECC errors"
    assert node.check(shell, "gpus=2") == [expected]


def test_an_nvidia_smi_that_fails_or_hangs_is_bad(node: Fit, shell: list[str]) -> None:
    node.smi("Unable to determine the device handle for GPU0", "more", status=15)
    said = "nvidia-smi failed with status 15 (Unable to determine the device handle for GPU0)"
    assert node.check(shell, "gpus=2") == [f"bad {said}"]
    node.stand_in("nvidia-smi", "exec sleep 60")
    assert node.check(shell, "gpus=2", "seconds=1") == ["bad nvidia-smi failed with status 124"]


def test_what_a_node_lacks_the_means_for_is_said(node: Fit, shell: list[str], tmp_path: Path) -> None:
    (node.tools / "nvidia-smi").unlink()
    assert node.check(shell, "gpus=3") == [
        "skip ECC errors: there is no nvidia-smi",
        "bad it has 2 GPUs of 3",
    ]
    bare = Node(tmp_path / "bare")
    bare.check = Fit.check.__get__(bare)  # type: ignore[attr-defined]
    assert bare.check(shell, "gpus=2", HCAS, "floor=9", "--", "no-such-program") == [  # type: ignore[attr-defined]
        "skip GPUs: there is neither nvidia-smi nor the NVIDIA driver in /proc",
        "skip HCAs: there is no /sys/class/infiniband",
        "skip all_reduce: there is no no-such-program",
        "ok",
    ]


@pytest.mark.parametrize(
    ("script", "floor", "said"),
    [
        ('echo "$*"; echo "# Avg bus bandwidth    : 234.56"', 234, "ok"),
        ('echo "# Avg bus bandwidth    : 99.9"', 100, "bad the all_reduce reached 99 GB/s of 100"),
        ("echo nothing", 0, 'bad the all_reduce said no "# Avg bus bandwidth"'),
        ("echo NCCL WARN; exit 3", 0, "bad the all_reduce failed with status 3 (NCCL WARN)"),
        ("exec sleep 60", 0, "bad the all_reduce failed with status 124"),
    ],
)
def test_the_bandwidth_is_held_against_the_floor(
    node: Fit, shell: list[str], script: str, floor: int, said: str
) -> None:
    node.stand_in("all_reduce", script)
    assert node.check(shell, "seconds=1", f"floor={floor}", "--", "all_reduce", "-g", "a b") == [said]
