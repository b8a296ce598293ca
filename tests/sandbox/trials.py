"""Submissions that are broken off, and what Slurm says became of them."""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import yaml
from breaking import Command
from realslurm import Slurm

from hpclaunch.records.lookup import all_records


class Trials:
    """Submissions of one file, whose rank writes the number of its job."""

    def __init__(self, slurm: Slurm, folder: Path):
        self.slurm, self.folder, self.ran = slurm, folder, folder / "ran"
        self.home = folder / "home"
        self.environ = {"HPCLAUNCH_HOME": str(self.home), "SLURM_CONF": str(slurm.slurm_conf), "TOKEN": "x"}
        self.job = self.write("once")
        self.submit = Command(["submit", self.job, "--site", slurm.site], folder, self.environ)

    def write(self, name: str, **keys: object) -> Path:
        """The file of a job of that name with one rank."""
        path = self.folder / f"{name}.yaml"
        job = {"version": 1, "name": name, "nodes": 1, "ranks_per_node": 1, "time": 5, "secrets": ["TOKEN"]}
        path.write_text(yaml.safe_dump({**job, "command": f"echo $SLURM_JOB_ID >>{self.ran}", **keys}))
        return path

    def forget_abandoned(self) -> None:
        """Removes what a killed submission left of a record that it had not made, as a day later another one
        does: until then each looks at all of them, and has so many more calls."""
        for left in self.home.glob("jobs/*/.new-*"):
            shutil.rmtree(left)

    def begin(self, *words: str | Path) -> "subprocess.Popen[str]":
        """The command, as a process of its own."""
        argv = [sys.executable, "-m", "hpclaunch", *map(str, words)]
        env = {**os.environ, **self.environ}
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, env=env, stdout=pipe, stderr=pipe, text=True)

    def settle(self, *tags: str) -> str:
        """Resumes until everything is known; all that was said."""
        end = time.monotonic() + 150
        heard = ""
        while True:
            resumed = self.begin("submit", "--resume", *tags)
            said = resumed.communicate(timeout=150)[1]
            heard += said
            assert "Traceback" not in said
            if resumed.returncode == 0:
                return heard
            assert "nobody can tell" in said, said
            assert time.monotonic() < end, said
            time.sleep(0.5)

    def check(self, least: int, most: int, may_be_killed: bool = False) -> None:
        """One job of Slurm's for each record, and one run of its rank. `may_be_killed`: a controller that
        lost its state ends jobs that it does not know; such a one has begun, and is not sent again."""
        records, problems = all_records()
        assert not problems
        assert least <= len(records) <= most
        ids = [str(record.state().job_id) for record in records]
        for job_id in ids:
            assert self.slurm.wait(int(job_id)) == 0, job_id
        ran = Counter(self.ran.read_text().split())
        assert ran <= Counter(ids)
        listed = self.slurm.run("squeue", "--noheader", "--states=all", "--Format=JobID:0|,comment:0").stdout
        jobs = dict(line.split("|", 1) for line in listed.splitlines())
        for record in records:
            mine = [job_id for job_id, comment in jobs.items() if record.tag in comment]
            if may_be_killed and not mine:
                assert record.claimed_by() == record.state().job_id
            else:
                assert mine == [record.state().job_id]
                assert ran[mine[0]]
