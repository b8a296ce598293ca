"""A sandbox as a test holds it, and the command that makes one."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import hpclaunch

SAID_LINES = 25


@dataclass(frozen=True)
class Slurm:
    """A sandbox that is up. `env` is this process's environment with SLURM_CONF set."""

    folder: Path
    site: Path
    slurm_conf: Path
    env: dict[str, str]

    @property
    def name(self) -> str:
        """The site's name."""
        return re.findall(r"^name: (.*)$", self.site.read_text(encoding="utf-8"), re.MULTILINE)[0]

    def run(self, *argv: str | Path, **more: Any) -> "subprocess.CompletedProcess[str]":
        """A command against this Slurm, with its output as text; `more` goes to subprocess.run."""
        options: dict[str, Any] = {"env": self.env, "capture_output": True, "text": True, "timeout": 120}
        return subprocess.run(list(map(str, argv)), **{**options, **more})

    def batch(self, script: str, *options: str, under: tuple[str, ...] = ()) -> tuple[int, int, str]:
        """Runs a script as a job on whole nodes: its id, exit status, output. `under` comes before sbatch."""
        out = self.folder / "log" / "test-%j.out"
        whole = ("--exclusive", "--mem=0", f"--output={out}")
        submitted = self.run(
            *under, "sbatch", "--parsable", *whole, *options, input=f"#!/bin/bash\n{script}\n"
        )
        assert submitted.stdout, submitted.stderr
        job = int(submitted.stdout)
        status = self.wait(job)
        return job, status, Path(str(out).replace("%j", str(job))).read_text(encoding="utf-8")

    def wait(self, job: int) -> int:
        """The exit status of a job, once it has ended. `sbatch --wait` would look every two seconds alone."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            shown = self.run("scontrol", "--oneliner", "show", "job", str(job)).stdout
            state = re.search(r"JobState=(\w+)", shown)
            if state and state[1] not in ("PENDING", "RUNNING", "COMPLETING"):
                code, _, signal = re.search(r" ExitCode=(\d+):(\d+)", shown).expand(r"\1 \2").partition(" ")
                return int(code) or (128 + int(signal) if int(signal) else 0)
            time.sleep(0.05)
        raise AssertionError(f"job {job} did not end: {shown}")

    def start_again(self, job: str | int) -> None:
        """Starts a job that was put back, which else waits for two minutes from when all of it has ended.

        A node takes a job's credential only if it is of a later second than the end of the job's last run
        (slurm_cred.c, `_credential_revoked`); what starts sooner has failed with exit status 1.
        """
        asked = ("scontrol", "--oneliner", "show", "job", str(job))
        end = time.monotonic() + 120
        while True:
            shown = self.run(*asked).stdout
            if "Reason=BeginTime" in shown and shown.count("JobState=") == shown.count("JobState=PENDING"):
                break
            assert time.monotonic() < end, shown
            time.sleep(0.1)
        done = self.run("scontrol", "update", f"JobId={job}", "StartTime=now+2")
        assert done.returncode == 0, done.stderr

    def said(self) -> str:
        """What its nodes and its daemons' logs say, shortly: for a test that failed."""
        asked = ("scontrol", "--oneliner", "show", "nodes")
        shown = self.run(*asked, timeout=20).stdout.splitlines()
        nodes = [" ".join(re.findall(r"(?:NodeName|State|Reason)=.*?(?= \w+=|$)", line)) for line in shown]
        tails = [
            f"{path.name}: {line}"
            for path in sorted((self.folder / "log").glob("slurm*.log"))
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[-SAID_LINES:]
        ]
        return "\n".join([*nodes, *tails])


def sandbox(*words: str | Path, **more: Any) -> "subprocess.CompletedProcess[str]":
    """`hpclaunch sandbox WORDS` as a user calls it."""
    return hpclaunch("sandbox", *words, **more)
