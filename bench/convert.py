"""What `hpclaunch convert` costs: CPU time of the whole process, as typed.

A launcher with its configuration, as people have them, and one of 1 MB, in three kinds: settings, commands,
and comments with here-documents. Against `hpclaunch render` of a job. The aim for 1 MB is three seconds.

With --large: each text of 1 MB of `large.py` whose name the pattern is found in, once, the slowest last.
Whatever it is, five seconds are the aim.
"""

import argparse
import re
import tempfile
from pathlib import Path

import large
import measure

SIZE = 1_000_000
LAUNCHER = """\
#!/bin/bash
#SBATCH --job-name resnet --nodes=2 --time=30
set -euo pipefail
srun --ntasks=2 --container-image="$CONT" --container-name=c true
for trial in $(seq 1 "${NEXP:-5}"); do
  ( srun --mpi=pmix --ntasks=16 --ntasks-per-node=8 --container-name=c \\
      --container-mounts="$DATADIR:/data" ./run_and_time.sh ) |& tee "log_$trial.txt"
done
"""
CONFIG = """\
export CONT=nvcr.io/nvidia/mxnet:21.09-py3
export DATADIR=/raid/data
export DGXNGPU=8
"""


def _large(line: str) -> str:
    return large.repeated(line, SIZE - len(LAUNCHER))


def every(programs: Path, folder: Path, pattern: str, size: int) -> None:
    """One line for each kind of large text: CPU seconds, and what it is."""
    rows = []
    for name, (file, made) in large.kinds(size).items():
        if re.search(pattern, name):
            (folder / file).write_text(made())
            seconds = measure.cpu_seconds([programs / "hpclaunch", "convert", folder / file], None, (0, 1, 2))
            rows.append((seconds, name))
    for seconds, name in sorted(rows):
        print(f"{seconds:6.2f} s  {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--large", metavar="PATTERN", help="measure these kinds of large texts, once")
    parser.add_argument("--size", type=int, default=SIZE, help="bytes of each of them")
    arguments = parser.parse_args()
    kinds = {
        "usual": "",
        "settings": _large('export SETTING_%06d="${HOME}/some/folder"\n'),
        "commands": _large('[[ -z "${A:-}" ]] || echo "line %06d" >> "$LOGDIR/log.txt"\n'),
        "documents": "cat > notes.txt <<'EOF'\n" + _large("# a line of text, number %06d\n") + "EOF\n",
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = measure.new_environment(folder / "venv", str(measure.wheel(folder)))
        if arguments.large is not None:
            every(programs, folder, arguments.large, arguments.size)
            return
        config = folder / "config.sh"
        config.write_text(CONFIG)
        site = measure.ROOT / "site-configs" / "superpod-a100.yaml"
        commands: dict[str, list[str | Path]] = {
            "render": [programs / "hpclaunch", "render", measure.ROOT / "bench" / "job.yaml", "--site", site]
        }
        for name, text in kinds.items():
            script = folder / f"{name}.sub"
            script.write_text(LAUNCHER.replace("for trial", f"{text}for trial"))
            commands[name] = [programs / "hpclaunch", "convert", script, config]
        measure.show(measure.alternate(arguments.rounds, **commands), "render")


if __name__ == "__main__":
    main()
