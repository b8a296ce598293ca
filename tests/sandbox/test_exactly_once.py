"""One submission is one run, under a real Slurm: whatever arrives twice starts its ranks once."""

import json
from pathlib import Path

import pytest
import yaml
from command import hpclaunch
from realslurm import Slurm
from waiting import until

from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def job_file(folder: Path, command: str, **more: object) -> Path:
    path = folder / "job.yaml"
    job = {"version": 1, "name": "once", "time": 5, "nodes": 1, "ranks_per_node": 2, "command": command}
    path.write_text(yaml.safe_dump(job | more))
    return path


def submitted(slurm: Slurm, home: Path, path: Path) -> Record:
    env = {**slurm.env, "HPCLAUNCH_HOME": str(home)}
    done = hpclaunch("submit", path, "--site", slurm.site, env=env)
    assert done.returncode == 0, done.stderr
    return find(done.stdout.strip())


def sent_again(slurm: Slurm, record: Record, *options: str) -> int:
    """What a second sbatch of the same submission would be: its job."""
    again = ("--parsable", f"--comment=hpclaunch:{record.tag}", f"--chdir={record.work}")
    done = slurm.run("sbatch", *again, f"--output={record.log}", *options, record.script, record.claim)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_second_job_of_a_submission_ends_before_its_ranks(
    slurm_a100: Slurm, home: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    record = submitted(slurm_a100, home, job_file(tmp_path, f"echo $SLURM_JOB_ID >>{ran}"))
    first = int(str(record.state().job_id))
    second = sent_again(slurm_a100, record)
    assert (slurm_a100.wait(first), slurm_a100.wait(second)) == (0, 0)
    owner = record.claimed_by()
    assert ran.read_text().split() == [owner, owner]
    (other,) = {first, second} - {int(str(owner))}
    said = f"hpclaunch: job {owner} of this submission came first, so job {other} starts no rank\n"
    assert said in record.log.read_text()


def test_a_job_that_slurm_starts_again_goes_on_and_so_do_the_tasks_of_an_array(
    slurm_a100: Slurm, home: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    command = f"echo $SLURM_JOB_ID >>{ran}; [ $(wc -l <{ran}) -gt 1 ] || sleep 600"
    path = job_file(tmp_path, command, ranks_per_node=1, sites={"a100": {"sbatch": ["--hold"]}})
    record = submitted(slurm_a100, home, path)
    job = str(record.state().job_id)
    slurm_a100.run("scontrol", "update", f"JobId={job}", "Requeue=1")
    slurm_a100.run("scontrol", "release", job)
    until(lambda: lines_of(ran) == 1)
    assert slurm_a100.run("scontrol", "requeue", job).returncode == 0
    slurm_a100.start_again(job)
    assert slurm_a100.wait(int(job)) == 0
    assert ran.read_text().split() == [job, job]

    record.claim.unlink()
    array = sent_again(slurm_a100, record, "--array=1-3", "--time=1")
    slurm_a100.run("scontrol", "release", str(array))
    until(lambda: lines_of(ran) == 5)
    assert record.claimed_by() == str(array)
    slurm_a100.run("scancel", str(array))


def test_what_was_sent_bears_its_tag_in_all_places(slurm_a100: Slurm, home: Path, tmp_path: Path) -> None:
    record = submitted(slurm_a100, home, job_file(tmp_path, "true"))
    shown = slurm_a100.run("scontrol", "show", "job", str(record.state().job_id)).stdout
    for key in ("Comment", "WorkDir", "Command"):
        (line,) = [line for line in shown.splitlines() if line.strip().startswith(f"{key}=")]
        assert record.tag in line
    script = slurm_a100.run("scontrol", "write", "batch_script", str(record.state().job_id), "-").stdout
    assert record.tag not in script
    assert json.loads((record.folder / "intent.json").read_text())["tag"] == record.tag
    slurm_a100.wait(int(str(record.state().job_id)))
