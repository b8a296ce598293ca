"""A machine from which the sandbox's Slurm is reached by SSH alone, and a job whose files are on it."""

import subprocess
import sys
from pathlib import Path

from command import hpclaunch
from realslurm import Slurm
from realsshd import Sshd

# It writes as long as it is let, and says where it is and what it was given.
SCRIPT = """\
#!/bin/sh
echo "in ${PWD##*/}, with $(cat data/words) and ${#TOKEN}"
i=0
until [ -e "$1" ]; do i=$((i + 1)); printf 'line %d\\n' "$i"; sleep 0.05; done
printf 'the end without a newline'
exit 3
"""
JOB = """\
version: 1
name: far
command: [./run.sh, {gate}]
nodes: 1
gpus_per_node: 8
ranks_per_node: 1
secrets: [TOKEN]
time: 10m
"""


class Laptop:
    """A machine that knows the cluster by SSH alone: its own home, and commands with nothing of Slurm's."""

    def __init__(self, folder: Path, sshd: Sshd, slurm: Slurm, transport: str):
        self.folder, self.sshd = folder, sshd
        self.cluster, self.gate = folder / "cluster", folder / "gate"
        self.site = folder / "far.yaml"
        self.work = folder / "work"
        (self.work / "data").mkdir(parents=True)
        self.tools = folder / "tools"
        self.tools.mkdir()
        self.site.write_text(
            f"version: 1\nname: far\nextends: {slurm.site}\nslurm: {{path: {self.tools}}}\n"
            f"ssh: {{host: node, home: {self.cluster}, transport: {transport}, config: {sshd.config}}}\n"
        )
        self.job = self.work / "job.yaml"
        self.job.write_text(JOB.format(gate=self.gate))
        script = self.work / "run.sh"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        (self.work / "data" / "words").write_text("words\n")
        # On the laptop there is no Slurm.
        tools = folder / "bin"
        tools.mkdir()
        (tools / "ssh").symlink_to("/usr/bin/ssh")
        own = {
            "HOME": str(folder),
            "HPCLAUNCH_HOME": str(folder / "home"),
            "TOKEN": "geheim",
            "PATH": str(tools),
        }
        self.env = own

    def run(self, *words: str | Path) -> "subprocess.CompletedProcess[str]":
        return hpclaunch(*words, env=self.env, cwd=self.folder)

    def start(self, *words: str | Path, out: Path) -> "subprocess.Popen[bytes]":
        with out.open("wb") as file, out.with_suffix(".err").open("wb") as errors:
            argv = [sys.executable, "-m", "hpclaunch", *map(str, words)]
            return subprocess.Popen(argv, env=self.env, cwd=self.folder, stdout=file, stderr=errors)


def twin(laptop: Laptop) -> Path:
    (found,) = (laptop.cluster / "jobs" / "far").iterdir()
    return found
