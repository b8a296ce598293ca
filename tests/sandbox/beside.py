"""A sandbox for jobs with steps: containers that they share, a stand-in for enroot, notes of what ran."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from command import hpclaunch
from msgspec import Struct
from realslurm import Slurm

# Stands in for enroot. Its containers are the folders that the stand-in for Pyxis makes; an import takes a
# second.
ENROOT = """\
#!/bin/bash
here={folder}/containers/$SLURMD_NODENAME
case $1 in
  list) ls "$here" ;;
  remove) [[ $2 == --force && $3 == -- ]] && rm -r "$here/$4" ;;
  import)
    [[ $2 == --output && $4 == -- && ! -e $3 ]] || exit 64
    echo "$5" >>{folder}/imported
    sleep 1
    [[ $5 != *refused* ]] || exit 9
    echo "$5" >"$3"
    ;;
  *) exit 64 ;;
esac
"""

# What each process of a step notes of itself: one line, of less than a page, so that no two mix.
NOTE = """\
import json, os, sys
names = {names}
line = [sys.argv[1], os.environ.get("SLURMD_NODENAME", ""), os.environ.get("SLURM_PROCID", ""), os.getcwd(),
        {{name: value for name, value in os.environ.items() if name in names}}]
with open({log!r}, "ab", 0) as log:
    log.write((json.dumps(line) + "\\n").encode())
"""


class Note(Struct, frozen=True):
    """A process that ran: what it is called, where, and those of its variables that were asked for."""

    what: str
    node: str
    rank: str
    cwd: str
    env: dict[str, str]


class Done(Struct, frozen=True):
    """A job that ended."""

    job: int
    status: int
    said: str
    notes: list[Note]
    log: str

    def order(self) -> list[str]:
        """What ran, each name once for those that ran at the same time."""
        names = [note.what for note in self.notes]
        return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


class Place:
    """The sandbox and a folder that its nodes see."""

    def __init__(self, slurm: Slurm, folder: Path):
        self.slurm = slurm
        self.folder = folder
        hosts = slurm.run("sinfo", "--Node", "--noheader", "--format=%n").stdout.split()
        for name in ("bin", *(f"containers/{host}" for host in hosts)):
            (folder / name).mkdir(parents=True)
        for each in [folder, *folder.rglob("*")]:
            each.chmod(0o777)
        enroot = folder / "bin" / "enroot"
        enroot.write_text(ENROOT.format(folder=folder))
        enroot.chmod(0o755)
        plugins = slurm.folder / "etc" / "plugstack.conf"
        text = plugins.read_text(encoding="utf-8").rstrip("\n")
        plugins.write_text(f"{text} containers={folder}/containers\n", encoding="utf-8")
        here = yaml.safe_load(slurm.site.read_text(encoding="utf-8"))
        here["slurm"]["image_folder"] = str(folder / "images")
        here["volumes"] = {
            "data": {"path": str(folder / "data")},
            "scratch": {"path": str(folder / "scratch")},
        }
        self.site = folder / "site.yaml"
        self.site.write_text(yaml.safe_dump(here))
        self.env = {
            **slurm.env,
            "HPCLAUNCH_HOME": str(slurm.folder / "home"),
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
        }

    def containers(self) -> list[str]:
        """NODE/NAME of the containers that are left."""
        return sorted(f"{path.parent.name}/{path.name}" for path in (self.folder / "containers").glob("*/*"))

    def submit(self, folder: Path, job: dict[str, Any], env: dict[str, str] | None = None) -> str:
        """Submits a job, and gives its number. `env` is the environment of who does it."""
        path = folder / "job.yaml"
        full = {"version": 1, "name": "steps", "nodes": 2, "ranks_per_node": 2, "time": 10} | job
        path.write_text(yaml.safe_dump(full), encoding="utf-8")
        done = hpclaunch("submit", path, "--site", self.site, env=env or self.env)
        assert done.stdout.strip().isdigit(), done.stderr
        return done.stdout.strip()

    def wait(self, number: str, log: Path) -> Done:
        """Waits for a job whose processes note themselves in `log`."""
        name = self.slurm.name
        done = hpclaunch("wait", f"{name}/{number}", env=self.env)
        text = hpclaunch("logs", f"{name}/{number}", env=self.env).stdout
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return Done(
            int(number), done.returncode, done.stderr, [Note(*json.loads(line)) for line in lines], text
        )


def noting(folder: Path, *names: str) -> Callable[..., list[str]]:
    """A command that notes itself under a name, with these of its variables; `fails` is its exit status."""
    program = folder / "note.py"
    program.write_text(NOTE.format(log=str(folder / "notes"), names=set(names) or {""}))

    def command(what: str, then: str = "") -> list[str]:
        return ["/bin/sh", "-c", f'python3 {program} "$0"; {then or "exit 0"}', what]

    folder.chmod(0o777)
    return command
