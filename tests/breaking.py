"""Commands of hpclaunch that are broken off at a system call, in processes forked off one that has all
modules, so that hundreds take a minute. HPCLAUNCH_TEST_FAULTS=all: at every call, and not at some of them; of
kills, at every call that leaves something."""

import errno
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import stepping

from hpclaunch.cli import main as cli
from hpclaunch.schedulers.slurm import Slurm

ALL = os.environ.get("HPCLAUNCH_TEST_FAULTS") == "all"
ERRORS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
# Calls of which nothing is left when their process is killed (asm/unistd_64.h): they read, wait, or change
# its own memory and descriptors, which it loses then. With fsync the machine itself would have to stop.
_LEAVES_NOTHING = frozenset(
    (
        *(0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 24, 25, 28),
        *(32, 33, 35, 39, 60, 61, 72, 74, 75, 79, 89, 96, 97, 98, 99, 102, 104, 107, 108, 110, 111),
        *(131, 157, 158, 186, 201, 202, 203, 204, 217, 218, 221, 228, 229, 230, 232, 233, 262, 267, 269, 270),
        *(271, 273, 281, 290, 291, 292, 293, 302, 309, 318, 332, 334, 439, 441),
    )
)
_CHANGES = ("open", "mkdir", "rename", "link", "unlink", "write", "close", "sync", "flock", "getdents")


@dataclass(frozen=True)
class Command:
    """`hpclaunch WORDS`, whose output goes to files in `folder`."""

    words: Sequence[str | Path]
    folder: Path
    environ: Mapping[str, str]
    threads: bool = False  # whether calls of its threads count too

    def broken(
        self,
        kill_at: int | None = None,
        fail_at: int | None = None,
        error: int = 0,
        counts: Callable[[stepping.Call], bool] = stepping.every,
        begins: Callable[[stepping.Call], bool] | None = None,
    ) -> stepping.Steps:
        """Runs it, up to a call of its window, or with a call that fails; `counts` says which are calls, and
        `begins` where the window does, if not with what a submission writes first."""
        return stepping.run(self._work, begins or _begins, kill_at, fail_at, error, self.threads, counts)

    def done(self) -> tuple[int, str, str]:
        """Runs it to its end: exit status, output and errors."""
        child = os.fork()
        if child == 0:
            os._exit(self._work())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return status, self.read("out"), self.read("err")

    def read(self, name: str) -> str:
        """What was written to `out` or `err`."""
        return (self.folder / name).read_text()

    def _work(self) -> int:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        os.environ.update(self.environ)
        if "SLURM_CONF" not in self.environ:
            os.environ.pop("SLURM_CONF", None)
        Slurm.settled_after_s = 0.0  # nothing comes late: sbatch is dead, or holds the lock
        sys.argv = ["hpclaunch", *map(str, self.words)]
        try:
            cli.main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0


def sampled(count: int, most: int) -> list[int]:
    """All of range(count), or `most` of them at equal distances, the first and the last among them."""
    if ALL or count <= most:
        return list(range(count))
    return sorted({round(index * (count - 1) / (most - 1)) for index in range(most)})


def on_records(steps: stepping.Steps, home: Path) -> list[int]:
    """The calls of the window that change files of the records, or wait for the disk."""
    return [number for number, call in enumerate(steps.calls) if is_on_records(call, home)]


def is_on_records(call: stepping.Call, home: Path) -> bool:
    """Whether it is one of those."""
    return call.path.startswith(str(home)) and any(part in call.name for part in _CHANGES)


def leaves_something(call: stepping.Call) -> bool:
    """Whether a process that is killed after it may leave something else than one that is killed before it. A
    kill before each of these, and one after all, stands for a kill at any call."""
    return call.number not in _LEAVES_NOTHING and call.name != stepping.OPEN_TO_READ


def _begins(call: stepping.Call) -> bool:
    """A submission's intent begins with its folder, and a resumption with the lock of one."""
    return "/.new-" in call.path or call.path.endswith("/sending")
