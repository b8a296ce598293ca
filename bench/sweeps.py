"""Many jobs at once, on the real Slurm of `hpclaunch sandbox` with 16 fake nodes: what a user waits for.

A sweep of 1,000 points against 1,000 calls of sbatch in a shell's loop; 200 jobs that differ in their time
limit, as a sweep and as 200 files, against 200 calls; and `status` of an array of 10,000 that waits. All jobs
are held, so that nothing but submissions keeps the machine busy. Wall time, in turns.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import measure

HEAD = """\
version: 1
name: many
command: [./train, --config, large.toml]
gpus_per_node: 8
image: nvcr.io/nvidia/pytorch:24.07-py3
time: 60
env: {NCCL_DEBUG: INFO}
sites: {bench: {sbatch: [--hold]}}
"""
LOOP = 'for ((i = 0; i < $1; i++)); do sbatch --parsable --hold "$2"; done'


class Slurm:
    """A sandbox, and how long commands against it take."""

    def __init__(self, programs: Path, folder: Path):
        self.hpclaunch = str(programs / "hpclaunch")
        self.folder = folder
        self.site = folder / "slurm" / "site.yaml"
        self.env = {
            **measure.ENVIRONMENT,
            "SLURM_CONF": str(folder / "slurm" / "etc" / "slurm.conf"),
            "HPCLAUNCH_HOME": str(folder / "home"),
        }

    def seconds(self, *argv: str | Path) -> float:
        """Wall time of a command that must succeed."""
        start = time.perf_counter()
        done = subprocess.run(argv, env=self.env, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{argv[0]}: {done.stderr}")
        self.said = done.stdout
        return time.perf_counter() - start

    def submit(self, *files: str) -> float:
        """As typed: start-up included."""
        return self.seconds(self.hpclaunch, "submit", *files, "--site", self.site)

    def calls(self, count: int) -> float:
        """So many calls of sbatch, by bash."""
        return self.seconds("bash", "-c", LOOP, "-", str(count), "one.sh")

    def clear(self) -> None:
        """No job is left."""
        self.seconds("scancel", f"--user={os.getuid()}", "--state=PENDING")
        while subprocess.check_output(["squeue", "--noheader"], env=self.env):
            time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = measure.new_environment(folder / "venv", str(measure.wheel(folder)))
        slurm = Slurm(programs, folder)
        up = ("sandbox", "up", "--name", "bench", "--dir", folder / "slurm", "--nodes", "16")
        slurm.seconds(slurm.hpclaunch, *up)
        try:
            compare(slurm, rounds)
        finally:
            slurm.seconds(slurm.hpclaunch, "sandbox", "down", "--dir", folder / "slurm")


def compare(slurm: Slurm, rounds: int) -> None:
    """All of it, with the aims."""
    files = write(slurm.folder)
    slurm.seconds(slurm.hpclaunch, "render", files[0], "--site", slurm.site, "-o", "one.sh")
    slurm.submit("points.yaml")  # once unmeasured, for the page cache
    slurm.clear()
    show(slurm, rounds, "1,000 points (aim: 20 times as fast)", 1000, [lambda: slurm.submit("points.yaml")])
    ways: list[Callable[[], float]] = [lambda: slurm.submit("unlike.yaml"), lambda: slurm.submit(*files)]
    show(slurm, rounds, "200 unlike jobs, as a sweep and as files (aim: 1.3 times)", 200, ways)
    slurm.submit("large.yaml")
    job_id = slurm.said.strip()
    times = [slurm.seconds(slurm.hpclaunch, "status", job_id) for _ in range(rounds)]
    print(f"status of an array of 10,000 that waits (aim: 2 s): {statistics.median(times):.2f} s")
    slurm.clear()


def write(folder: Path) -> list[str]:
    """The job files; the names of the 200."""
    draw = "draw: {env.LR: {loguniform: [1e-5, 1e-1]}, env.SEED: {int: [0, 99999]}}"
    for name, count in (("points", 1000), ("large", 10_000)):
        (folder / f"{name}.yaml").write_text(f"{HEAD}sweep: {{random: {{count: {count}, {draw}}}}}\n")
    limits = ", ".join(str(61 + number) for number in range(200))
    (folder / "unlike.yaml").write_text(f"{HEAD}sweep: {{grid: {{time: [{limits}]}}}}\n")
    names = [f"job{number}.yaml" for number in range(200)]
    for number, name in enumerate(names):
        (folder / name).write_text(HEAD.replace("time: 60", f"time: {61 + number}"))
    return names


def show(slurm: Slurm, rounds: int, what: str, count: int, ways: Sequence[Callable[[], float]]) -> None:
    """Each way in turns with as many calls of sbatch, and the medians of the ratios."""
    ratios: list[list[float]] = [[] for _ in ways]
    times: list[list[float]] = [[] for _ in (*ways, None)]
    for _ in range(rounds):
        calls = slurm.calls(count)
        slurm.clear()
        times[-1].append(calls)
        for index, way in enumerate(ways):
            times[index].append(way())
            slurm.clear()
            ratios[index].append(times[index][-1] / calls)
    print(f"{what}: {count:,} calls of sbatch {statistics.median(times[-1]):.2f} s")
    for own, each in zip(times, ratios, strict=False):
        ratio = statistics.median(each)
        print(f"  {statistics.median(own):.2f} s, ratio {ratio:.3f} (1/{1 / ratio:.1f})", flush=True)


if __name__ == "__main__":
    main()
