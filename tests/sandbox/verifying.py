"""Jobs whose ranks report where they are, and what `hpclaunch verify` says of them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml
from command import hpclaunch
from msgspec import Struct
from realslurm import Slurm

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import catalogue


class Verified(Struct, frozen=True):
    """A job that ended and what verify said: exit status, `--json`, and the job's output."""

    job_id: int
    status: int
    found: dict[str, Any]
    log: str

    @property
    def differences(self) -> list[dict[str, Any]]:
        return list(self.found["differences"])

    def whats(self) -> set[tuple[str, str]]:
        """(node, what) of all differences."""
        return {(one["node"], one["what"]) for one in self.differences}


def env_of(slurm: Slurm) -> dict[str, str]:
    return {**slurm.env, "HPCLAUNCH_HOME": str(slurm.folder / "home")}


def submit(slurm: Slurm, job: dict[str, Any], tmp_path: Path, *options: str, site: Path | None = None) -> str:
    """The id of a job that was submitted with --verify."""
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({"name": "verified", "time": 5, "command": ["true"], **job}))
    words = ("submit", path, "--site", site or slurm.site, "--verify", *options)
    done = hpclaunch(*words, env=env_of(slurm))
    assert done.stdout.strip().isdigit(), done.stderr
    return done.stdout.strip()


def verify(slurm: Slurm, job_id: str) -> Verified:
    done = ask(slurm, job_id, "--json")
    log = hpclaunch("logs", job_id, env=env_of(slurm)).stdout
    assert done.stdout, done.stderr
    return Verified(int(job_id), done.returncode, json.loads(done.stdout), log)


def ask(slurm: Slurm, job_id: str, *options: str) -> "subprocess.CompletedProcess[str]":
    return hpclaunch("verify", job_id, *options, env=env_of(slurm))


def run(slurm: Slurm, job: dict[str, Any], tmp_path: Path, site: Path | None = None) -> Verified:
    """Runs a job to its end, and verifies it."""
    return verify(slurm, submit(slurm, job, tmp_path, "--wait", site=site))


def site_with(slurm: Slurm, tmp_path: Path, *node_types: dict[str, Any]) -> Path:
    """The sandbox's site with other groups of nodes."""
    site = yaml.safe_load(slurm.site.read_text())
    path = tmp_path / "site.yaml"
    path.write_text(yaml.safe_dump({**site, "node_types": list(node_types)}))
    return path


def wrong_type(name: str, tmp_path: Path, **changed: Any) -> Path:
    """A file of the node type with other values, as somebody may have written it."""
    import msgspec

    raw = msgspec.to_builtins(catalogue.load(name).value)
    raw.update(changed, name="wrong")
    path = tmp_path / "wrong.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


def a100() -> NodeType:
    return catalogue.load("dgx-a100").value
