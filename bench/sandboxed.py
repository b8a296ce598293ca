"""A real Slurm for benchmarks: `hpclaunch sandbox` with 16 fake nodes, by the commands of the wheel."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import measure

NODES = 16


class Slurm:
    """A sandbox in `folder`, and how long commands against it take."""

    def __init__(self, programs: Path, folder: Path):
        self.hpclaunch = str(programs / "hpclaunch")
        self.folder = folder
        self.site = folder / "slurm" / "site.yaml"
        self.env = {
            **measure.ENVIRONMENT,
            "SLURM_CONF": str(folder / "slurm" / "etc" / "slurm.conf"),
            "HPCLAUNCH_HOME": str(folder / "home"),
        }

    def run(self, *argv: str | Path) -> str:
        """The standard output of a command. Raises SystemExit where it fails."""
        done = subprocess.run(argv, env=self.env, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{argv[0]}: {done.stderr}")
        return done.stdout

    def seconds(self, *argv: str | Path) -> float:
        """Wall time of a command that must succeed, its start-up included."""
        start = time.perf_counter()
        self.run(*argv)
        return time.perf_counter() - start

    def render(self, job: str, script: str) -> None:
        """The job's script as a file. Raises SystemExit."""
        self.run(self.hpclaunch, "render", job, "--site", self.site, "-o", script)

    def settle(self) -> None:
        """Returns when no job is there."""
        while self.run("squeue", "--noheader"):
            time.sleep(0.2)

    def clear(self) -> None:
        """Ends jobs that wait."""
        self.run("scancel", f"--user={os.getuid()}", "--state=PENDING")
        self.settle()


@contextmanager
def sandboxed() -> Iterator[Slurm]:
    """A sandbox that is up, in a temporary folder, with hpclaunch installed from its wheel."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = measure.new_environment(folder / "venv", str(measure.wheel(folder)))
        slurm = Slurm(programs, folder)
        place = ("--name", "bench", "--dir", folder / "slurm")
        slurm.run(slurm.hpclaunch, "sandbox", "up", *place, "--nodes", str(NODES))
        try:
            yield slurm
        finally:
            slurm.run(slurm.hpclaunch, "sandbox", "down", *place)
