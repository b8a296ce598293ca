"""What `hpclaunch convert` costs: CPU time of the whole process, as typed.

A launcher with its configuration, as people have them, and one of 1 MB, in three kinds: settings, commands,
and comments with here-documents. Against `hpclaunch render` of a job. The aim for 1 MB is three seconds.
"""

import argparse
import tempfile
from pathlib import Path

import measure

LARGE = 1 << 20
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
    """As many of these lines as 1 MB has, each with its number."""
    count = (LARGE - len(LAUNCHER)) // len(line % 0)
    return "".join(line % number for number in range(count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    kinds = {
        "usual": "",
        "settings": _large('export SETTING_%06d="${HOME}/some/folder"\n'),
        "commands": _large('[[ -z "${A:-}" ]] || echo "line %06d" >> "$LOGDIR/log.txt"\n'),
        "documents": "cat > notes.txt <<'EOF'\n" + _large("# a line of text, number %06d\n") + "EOF\n",
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = measure.new_environment(folder / "venv", str(measure.wheel(folder)))
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
        measure.show(measure.alternate(rounds, **commands), "render")


if __name__ == "__main__":
    main()
