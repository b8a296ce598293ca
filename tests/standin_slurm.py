"""What stands in for Slurm where submissions are broken off hundreds of times: commands of a few lines that
keep jobs in a folder. It takes a job in one step, as the controller does, and runs it when it is told to."""

import subprocess
from pathlib import Path

_TAKES = """\
#!/bin/sh
[ "$1" != --version ] || { echo "slurm-wlm 22.05.8"; exit; }
here=${0%/*/*}
[ ! -e "$here/dies-before" ] || kill -9 $$
new=$(mktemp -d "$here/.new-XXXXXX") || exit
printf '%s\\0' "$@" >"$new/argv"
kills() { [ ! -e "$here/$1" ] || [ "$(cat "$here/$1")" != "$2" ] || kill -9 $PPID; }
if [ -e "$here/kills-before" ]; then
  for turn in 1 2 3 4 5 6 7 8 9; do mkdir "$here/turn-$turn" 2>/dev/null && break; done
  kills kills-before "$turn"
  until [ "$turn" = 1 ] || [ ! -e "$here/gate" ]; do sleep 0.02; done
fi
for number in 1 2 3 4 5 6 7 8 9; do
  ln -sn "$new" "$here/jobs/$number" 2>/dev/null && break
done
[ ! -e "$here/dies-after" ] || kill -9 $$
kills kills-after "$number"
echo "$number"
"""
_TELLS = """\
#!/bin/sh
for job in "${0%/*/*}"/jobs/*; do
  [ -e "$job" ] || continue
  echo "${job##*/}|PENDING|0||N/A|N/A|N/A|None|$(tr '\\0' ' ' <"$job/argv")|"
done
"""
_COUNTS = '#!/bin/sh\necho $SLURM_JOB_ID >>"${0%/*/*}/ran"\n'
_NO_ACCOUNTS = "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n"
_FORGETS = "#!/bin/sh\necho 'MinJobAge               = 300 sec'\n"


class StandIn:
    """A cluster in `folder`. `environ` is what its users have around them. Where a file `dies-before` or
    `dies-after` is in the folder, sbatch is killed before or after it took the job; and what started it where
    `kills-before` or `kills-after` has the number of its turn. With `kills-before` all turns but the first
    wait while there is a file `gate`."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("jobs", "bin"):
            (folder / name).mkdir(parents=True)
        texts = {
            "sbatch": _TAKES,
            "squeue": _TELLS,
            "srun": _COUNTS,
            "sacct": _NO_ACCOUNTS,
            "scontrol": _FORGETS,
        }
        for name, text in texts.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o700)
        self.environ = {"PATH": f"{folder}/bin:/usr/bin:/bin"}

    def kills_its_parent(self, when: str, number: int) -> None:
        """Call `number` of sbatch kills what started it, before or after it takes the job."""
        (self.folder / f"kills-{when}").write_text(str(number))

    def jobs(self) -> dict[int, list[str]]:
        """The words of sbatch by the numbers of the jobs."""
        found = sorted((self.folder / "jobs").iterdir(), key=lambda path: int(path.name))
        return {int(job.name): (job / "argv").read_text().split("\0")[:-1] for job in found}

    def run_all(self) -> list[int]:
        """Runs every job to its end; the numbers of those whose ranks started, once for each start."""
        for number, words in self.jobs().items():
            script = next(index for index, word in enumerate(words) if word.endswith("/script.sh"))
            env = {**self.environ, "SLURM_JOB_ID": str(number), "HOME": "/"}
            subprocess.run(["/bin/bash", "-p", *words[script:]], env=env, check=True, capture_output=True)
        ran = self.folder / "ran"
        return [int(line) for line in ran.read_text().split()] if ran.exists() else []
