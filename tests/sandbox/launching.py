"""Submitting jobs whose ranks write down, as bytes, what really reached them."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from command import hpclaunch
from msgspec import Struct
from realslurm import Slurm

# Runs as each rank. Hexadecimal, since argument and environment are bytes.
RECORDER = """\
import json, os, sys
hexed = lambda words: [os.fsencode(word).hex() for word in words]
found = {
    "argv": hexed(sys.argv[2:]),
    "env": {k.hex(): v.hex() for k, v in os.environb.items()},
    "cwd": os.fsencode(os.getcwd()).hex(),
    "node": os.environ.get("SLURMD_NODENAME", ""),
}
number = os.environ.get("SLURM_PROCID") or os.environ.get("RANK")
part = os.path.join(sys.argv[1], "part." + number)
with open(part, "w") as file:
    json.dump(found, file)
os.rename(part, os.path.join(sys.argv[1], "rank." + number))
"""


class Rank(Struct, frozen=True):
    """What one rank got."""

    argv: list[bytes]
    env: dict[str, bytes]
    cwd: bytes
    node: str


class Ran(Struct, frozen=True):
    """A job that ended: its id, the exit status of `submit --wait`, and each rank's record in rank order."""

    job_id: int
    status: int
    errors: str
    ranks: list[Rank]


def launch(
    slurm: Slurm,
    job: dict[str, Any],
    words: list[str],
    shell: dict[str, str] | None = None,
    folder: Path | None = None,
) -> Ran:
    """Submits `job` with the recorder as its command and `words` as its arguments, and waits.

    `shell` is added to the environment of the shell that submits; `folder` is where the job file lies.
    """
    with tempfile.TemporaryDirectory(prefix="ranks-") as temporary:
        top = Path(temporary)
        top.chmod(0o777)
        (top / "recorder.py").write_text(RECORDER)
        (top / "out").mkdir(mode=0o777)
        command = [sys.executable, str(top / "recorder.py"), str(top / "out"), *words]
        path = (folder or top) / "job.yaml"
        full = {"version": 1, "name": "recorder", "time": 5, "command": command} | job
        path.write_text(yaml.safe_dump(full, allow_unicode=False), encoding="utf-8")
        env = {**slurm.env, "HPCLAUNCH_HOME": str(slurm.folder / "home"), **(shell or {})}
        result = hpclaunch("submit", path, "--site", slurm.site, "--wait", env=env)
        number = result.stdout.strip()
        assert number.isdigit(), result.stderr
        files = sorted((top / "out").glob("rank.*"), key=lambda file: int(file.suffix[1:]))
        ranks = [_rank(json.loads(file.read_text())) for file in files]
        return Ran(int(number), result.returncode, result.stderr, ranks)


def _rank(found: dict[str, Any]) -> Rank:
    raw = bytes.fromhex
    return Rank(
        argv=[raw(word) for word in found["argv"]],
        env={os.fsdecode(raw(name)): raw(value) for name, value in found["env"].items()},
        cwd=raw(found["cwd"]),
        node=found["node"],
    )
