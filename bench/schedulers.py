"""Whether rendering an MPIJob costs no more than the sbatch script: the CPU time of the whole process, as
typed, for bench/job.yaml and for each example that both shipped sites of the same machines can render.

The two are measured in turns, and compared turn by turn. Status 1 where an MPIJob costs more by the median.
With `--instructions` they are counted instead (valgrind's cachegrind), once: other work does not touch them.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import measure

SITES = {"script": "superpod-a100", "MPIJob": "k8s-superpod-a100"}
JOBS = (measure.ROOT / "bench" / "job.yaml", *sorted((measure.ROOT / "examples").glob("*.yaml")))
_CACHEGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--instructions", action="store_true")
    options = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        hpclaunch = measure.new_environment(folder / "venv", str(measure.wheel(folder))) / "hpclaunch"
        for job in JOBS:
            commands = {name: [hpclaunch, "render", job, "--site", site] for name, site in SITES.items()}
            if not all(map(renders, commands.values())):
                continue
            if options.instructions:
                costs = {name: [instructions(command)] for name, command in commands.items()}
            else:
                costs = measure.alternate(options.rounds, **commands)
            rows[job.stem] = compared(costs["script"], costs["MPIJob"])
    unit, scale = ("million instructions", 1e6) if options.instructions else ("ms", 1e-3)
    print(f"{'job':<40} script  MPIJob  ratio   ({unit})")
    for name, (script, mpijob, ratio) in rows.items():
        print(f"{name:<40} {script / scale:6.1f}  {mpijob / scale:6.1f}  {ratio:5.3f}")
    more = [name for name, (_, _, ratio) in rows.items() if ratio > 1]
    if more:
        sys.exit(f"the MPIJob costs more than the script: {', '.join(more)}")


def renders(command: measure.Command) -> bool:
    """Whether the site can run the job at all."""
    return subprocess.run(command, capture_output=True, env=measure.ENVIRONMENT).returncode == 0


def instructions(command: measure.Command) -> float:
    """How many the whole process takes. Hashes are alike in all, as the order of a set costs some too."""
    env = measure.ENVIRONMENT | {"PYTHONHASHSEED": "0"}
    said = subprocess.run(
        [*_CACHEGRIND, *command], check=True, capture_output=True, text=True, env=env
    ).stderr
    found = re.search(r"I\s+refs:\s+([\d,]+)", said)
    assert found is not None, said
    return float(found[1].replace(",", ""))


def compared(script: list[float], mpijob: list[float]) -> tuple[float, float, float]:
    """The medians, and the median of the ratios turn by turn."""
    ratios = [other / one for one, other in zip(script, mpijob, strict=True)]
    return statistics.median(script), statistics.median(mpijob), statistics.median(ratios)


if __name__ == "__main__":
    main()
