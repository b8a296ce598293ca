"""Many jobs at once, on the real Slurm of `hpclaunch sandbox` with 16 fake nodes: what a user waits for.

A sweep of 1,000 points against 1,000 calls of sbatch in a shell's loop; 200 jobs that differ in their time
limit, as a sweep and as 200 files, against 200 calls; and `status` of an array of 10,000 that waits. All jobs
are held, so that nothing but submissions keeps the machine busy. Wall time, in turns; ends with status 1
where an aim is missed.
"""

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from sandboxed import Slurm, sandboxed

POINTS, LEAST_TIMES = 1000, 20
FILES, MOST_RATIO = 200, 1.3
TASKS, MOST_S = 10_000, 2.0
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["points", "unlike", "status"])
    options = parser.parse_args()
    with sandboxed() as slurm:
        files = write(slurm.folder)
        slurm.render(files[0], "one.sh")
        submit(slurm, "points.yaml")  # once unmeasured, for the page cache
        slurm.clear()
        parts: dict[str, Callable[[], bool]] = {
            "points": lambda: points(slurm, options.rounds),
            "unlike": lambda: unlike(slurm, options.rounds, files),
            "status": lambda: status(slurm, options.rounds),
        }
        kept = [part() for name, part in parts.items() if options.only in (None, name)]
    sys.exit(0 if all(kept) else 1)


def points(slurm: Slurm, rounds: int) -> bool:
    """A sweep of points that differ in their environment alone; whether the aim is met."""
    ways = {"a sweep": lambda: submit(slurm, "points.yaml")}
    return show(slurm, rounds, POINTS, 1 / LEAST_TIMES, ways)


def unlike(slurm: Slurm, rounds: int, files: list[str]) -> bool:
    """Jobs that differ in what sbatch is told."""
    ways = {
        "a sweep of unlike points": lambda: submit(slurm, "unlike.yaml"),
        "as many files": lambda: submit(slurm, *files),
    }
    return show(slurm, rounds, FILES, MOST_RATIO, ways)


def status(slurm: Slurm, rounds: int) -> bool:
    """An array that waits."""
    job_id = slurm.run(slurm.hpclaunch, "submit", "large.yaml", "--site", slurm.site).strip()
    took = statistics.median(slurm.seconds(slurm.hpclaunch, "status", job_id) for _ in range(rounds))
    print(f"status of an array of {TASKS:,} that waits: {took:.2f} s (aim: {MOST_S:.0f} s)")
    slurm.clear()
    return took <= MOST_S


def submit(slurm: Slurm, *files: str) -> float:
    """As typed: start-up included."""
    return slurm.seconds(slurm.hpclaunch, "submit", *files, "--site", slurm.site)


def write(folder: Path) -> list[str]:
    """The job files; the names of the 200."""
    draw = "draw: {env.LR: {loguniform: [1e-5, 1e-1]}, env.SEED: {int: [0, 99999]}}"
    for name, count in (("points", POINTS), ("large", TASKS)):
        (folder / f"{name}.yaml").write_text(f"{HEAD}sweep: {{random: {{count: {count}, {draw}}}}}\n")
    limits = ", ".join(str(61 + number) for number in range(FILES))
    (folder / "unlike.yaml").write_text(f"{HEAD}sweep: {{grid: {{time: [{limits}]}}}}\n")
    names = [f"job{number}.yaml" for number in range(FILES)]
    for number, name in enumerate(names):
        (folder / name).write_text(HEAD.replace("time: 60", f"time: {61 + number}"))
    return names


def show(slurm: Slurm, rounds: int, count: int, aim: float, ways: dict[str, Callable[[], float]]) -> bool:
    """Each way in turns with as many calls of sbatch by bash, and the medians of the ratios; whether none is
    above the aim."""
    calls: list[float] = []
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        calls.append(slurm.seconds("bash", "-c", LOOP, "-", str(count), "one.sh"))
        slurm.clear()
        for name, way in ways.items():
            times[name].append(way())
            slurm.clear()
    print(f"{count:,} calls of sbatch: {statistics.median(calls):.2f} s")
    kept = True
    for name, own in times.items():
        ratios = [each / floor for each, floor in zip(own, calls, strict=True)]
        ratio = statistics.median(ratios)
        span = f"{min(ratios):.3f} to {max(ratios):.3f}"
        print(f"  {name}: {statistics.median(own):.2f} s, ratio {ratio:.3f} ({span}; aim: {aim})", flush=True)
        kept = kept and ratio <= aim
    return kept


if __name__ == "__main__":
    main()
