"""From the start of a job's script to its ranks: the rendered script against a bare `srun` of the same ranks.

16 fake nodes on the real Slurm of `hpclaunch sandbox`, with one rank on each, and with eight. The bare script
has the same lines for sbatch, and one srun with the very options that the rendered script gives it; its ranks
are the command alone. A third is the least that anything beside a rank can cost: a shell that does nothing
but become the command. All note when bash has read their header, and each rank when it begins. Wall time, in
turns.

Ends with status 1 where the first of 16 ranks comes later than promised. Of 128 it is shown: all of them
share the cores of this machine, where each node of a cluster has its own.
"""

import argparse
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

from sandboxed import NODES, Slurm, sandboxed

MOST_RATIO, MOST_S = 1.05, 0.100  # either is enough
JUDGED, SHOWN = 1, 8  # ranks on each node
JOB = """\
version: 1
name: begin
command: [/bin/bash, -p, {folder}/rank.sh, {folder}/times]
nodes: {nodes}
gpus_per_node: 8
ranks_per_node: {ranks}
mpi: pmix
rendezvous: torch
image: nvcr.io/nvidia/pytorch:24.07-py3
time: 5
env: {{NCCL_DEBUG: INFO, OMP_NUM_THREADS: "8"}}
"""
# In bash, which tells the time without starting a program.
RANK = 'now=$EPOCHREALTIME\nprintf "%s\\n" "$now" >"$1/$SLURM_PROCID"\n'
RECORDS = '#!/bin/sh\nprintf "%s\\0" "$@" >"$0.argv"\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    with sandboxed() as slurm:
        kept = compare(slurm, JUDGED, rounds)
        compare(slurm, SHOWN, rounds)
    sys.exit(0 if kept else 1)


def compare(slurm: Slurm, ranks_per_node: int, rounds: int) -> bool:
    """All three in turns; whether the first rank comes as promised."""
    folder = slurm.folder / f"of-{ranks_per_node}"
    folder.mkdir()
    (folder / "rank.sh").write_text(RANK)
    (folder / "job.yaml").write_text(JOB.format(folder=folder, nodes=NODES, ranks=ranks_per_node))
    slurm.render(str(folder / "job.yaml"), str(folder / "rendered.sh"))
    rendered = (folder / "rendered.sh").read_text()
    command = ["/bin/bash", "-p", str(folder / "rank.sh"), str(folder / "times")]
    texts = {
        "bare srun": bare(folder, rendered, command),
        "empty shell": bare(folder, rendered, ["/bin/sh", "-c", 'exec "$@"', "sh", *command]),
        "rendered": rendered,
    }
    scripts = {name: timed(folder, f"{number}.sh", text) for number, (name, text) in enumerate(texts.items())}
    count = NODES * ranks_per_node
    for script in scripts.values():
        once(slurm, folder, script, count)  # unmeasured, for the page cache
    first: dict[str, list[float]] = {name: [] for name in scripts}
    last: dict[str, list[float]] = {name: [] for name in scripts}
    for number in range(rounds):
        for name in list(scripts) if number % 2 else reversed(scripts):
            times = once(slurm, folder, scripts[name], count)
            first[name].append(min(times))
            last[name].append(max(times))
    kept = show(f"the first of {count} ranks", first)
    show(f"the last of {count} ranks", last)
    return kept


def timed(folder: Path, name: str, text: str) -> Path:
    """The script with a line after its header that notes the time."""
    lines = text.splitlines(keepends=True)
    begin = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    lines.insert(begin, f"printf '%s\\n' \"$EPOCHREALTIME\" >{shlex.quote(str(folder / 'begun'))}\n")
    path = folder / name
    path.write_text("".join(lines))
    return path


def bare(folder: Path, rendered: str, command: list[str]) -> str:
    """The header of the rendered script, and its srun without all that surrounds the ranks."""
    programs = folder / "stand-in"
    programs.mkdir(exist_ok=True)
    (programs / "srun").write_text(RECORDS)
    (programs / "srun").chmod(0o755)
    subprocess.run(
        ["/bin/bash", "-p", "-c", rendered],
        env={"PATH": f"{programs}:{os.environ['PATH']}", "SLURM_JOB_ID": "1", "HOME": "/"},
        check=True,
        capture_output=True,
    )
    argv = (programs / "srun.argv").read_text().split("\0")[:-1]
    options = [word for word in argv[: argv.index("/bin/sh")] if not word.startswith("--error=")]
    header = [line for line in rendered.splitlines() if line.startswith(("#!", "#SBATCH"))]
    return "\n".join([*header, "", shlex.join(["srun", *options, *command]), ""])


def once(slurm: Slurm, folder: Path, script: Path, count: int) -> list[float]:
    """Seconds from the script's beginning to that of each rank, in a job of its own."""
    times, claim = folder / "times", folder / "claim"
    times.mkdir()
    slurm.run("sbatch", "--wait", "--output=job.log", script, claim)
    slurm.settle()
    begun = float((folder / "begun").read_text())
    found = [float(path.read_text()) - begun for path in times.iterdir()]
    if len(found) != count:
        raise SystemExit(f"{len(found)} ranks began:\n{(slurm.folder / 'job.log').read_text()}")
    for path in times.iterdir():
        path.unlink()
    times.rmdir()
    claim.unlink(missing_ok=True)
    return found


def show(what: str, seconds: dict[str, list[float]]) -> bool:
    """Medians, and whether the last of them keeps to what is promised, beside the first."""
    floor = next(iter(seconds.values()))
    ratio = more = 0.0
    print(f"{what}: {next(iter(seconds))} {statistics.median(floor):.3f} s")
    for name, values in list(seconds.items())[1:]:
        ratio = statistics.median(b / a for a, b in zip(floor, values, strict=True))
        more = statistics.median(b - a for a, b in zip(floor, values, strict=True))
        print(f"  {name} {statistics.median(values):.3f} s: {more * 1000:+.0f} ms, ratio {ratio:.2f}")
    return ratio <= MOST_RATIO or more <= MOST_S


if __name__ == "__main__":
    main()
