"""Waiting for a job whose record is lost: the exit status is none that the job could have had."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import waiting
from command import hpclaunch


@pytest.mark.parametrize("loss", ["removed", "state.json", "intent.json"])
def test_a_record_that_is_lost_while_one_waits(tmp_path: Path, loss: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HPCLAUNCH_HOME": str(tmp_path / "home")}
    job = tmp_path / "job.yaml"
    job.write_text("name: small\ncommand: 'touch begun; until [ -e over ]; do sleep 0.1; done'\n")
    argv = [sys.executable, "-m", "hpclaunch", "submit", job, "--local", "--wait"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, env=env, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"  # from here on it waits
        waiting.until((tmp_path / "begun").exists)
        (record,) = (tmp_path / "home" / "jobs" / "local").glob("*-*-*-*-*")
        if loss == "removed":
            shutil.rmtree(record)
        else:
            (record / loss).write_text("{")
        if loss == "intent.json":  # that was read before
            done = hpclaunch("wait", "1", env=env)
            status, said = done.returncode, done.stderr
        else:
            said = process.communicate(timeout=240)[1]
            status = process.returncode
    finally:
        (tmp_path / "over").touch()
        process.kill()
        process.wait()
    assert status == 125, said
    assert str(record) in said
    assert "Traceback" not in said
