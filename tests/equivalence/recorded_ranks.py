"""What the recorder wrote of each rank, and what the ranks were bound to, alike for both schedulers."""

import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from hpclaunch.values import cpulist

HERE = Path(__file__).parent


class Process(Struct, frozen=True):
    """A process that was the recorder. `granted` is the kernel's list of the CPUs that a task of a sandbox
    may use, "" elsewhere."""

    pid: int
    parent: int
    cwd: bytes
    granted: str
    argv: tuple[bytes, ...]
    env: dict[bytes, bytes]


class Rank(Struct, frozen=True):
    """What reached a rank. `ran` are its processes that were the recorder: one, but where its command starts
    more. `cpus` is what it may run on, and `memory` the policy and NUMA nodes that were asked for, None for
    none. `node` counts the job's nodes, `local` the ranks on it."""

    node: int
    local: int
    ran: tuple[Process, ...]
    cpus: tuple[int, ...]
    memory: tuple[str, tuple[int, ...]] | None


def build(out: Path, image: Path) -> None:
    """Compile the recorder to bin/recorder in the image, and the stand-ins for taskset and numactl to
    stand-ins. All of them write to `out`."""
    _compile("recorder.c", out, image / "bin" / "recorder")
    _compile("stand_ins.c", out, image / "stand-ins" / "taskset")
    shutil.copy(image / "stand-ins" / "taskset", image / "stand-ins" / "numactl")


def _compile(source: str, out: Path, target: Path) -> None:
    argv = ["cc", "-O1", "-Wall", "-Wextra", "-Werror", f'-DOUT="{out}"', "-o", target, HERE / source]
    subprocess.run(argv, check=True)


def processes(out: Path) -> list[Process]:
    """All that the recorder wrote there."""
    return [_process(path.read_bytes()) for path in out.glob("rank-*")]


def _process(data: bytes) -> Process:
    pid, parent, cwd, granted, count, *words = data.removesuffix(b"\0").split(b"\0")
    argc = int(count)
    pairs = (entry.partition(b"=") for entry in words[argc:])
    env = {name: value for name, _, value in pairs}
    return Process(int(pid), int(parent), cwd, granted.decode(), tuple(words[:argc]), env)


def bound(out: Path, process: Process) -> tuple[tuple[int, ...] | None, tuple[str, tuple[int, ...]] | None]:
    """What the stand-ins for taskset and numactl were asked for by the process before it became the recorder,
    or by its parent."""
    cpus, policy = _asked(out, "cpus", process), _asked(out, "policy", process)
    kind, _, nodes = policy.removeprefix("--").partition("=")
    return (
        tuple(sorted(cpulist.parse(cpus))) if cpus else None,
        ({"membind": "bind"}.get(kind, kind), tuple(cpulist.parse(nodes))) if policy else None,
    )


def _asked(out: Path, what: str, process: Process) -> str:
    files = (out / f"{what}.{pid}" for pid in (process.pid, process.parent))
    return next((path.read_text(encoding="ascii") for path in files if path.exists()), "")
