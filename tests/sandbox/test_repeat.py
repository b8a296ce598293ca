"""Records, repetition, estimates and profiles under a real Slurm."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest
import yaml
from command import hpclaunch
from realslurm import Slurm

Run = Callable[..., "subprocess.CompletedProcess[str]"]
# A stand-in for Nsight Systems, not the program.
NSYS = """\
#!/bin/sh
while :; do
  case $1 in
    --output=*) out=${1#--output=}; shift; break ;;
    *) shift ;;
  esac
done
echo "$SLURM_PROCID" >"$out.nsys-rep"
exec "$@"
"""


@pytest.fixture
def run(slurm_a100: Slurm, tmp_path: Path) -> Run:
    tmp_path.chmod(0o777)
    return lambda *words: hpclaunch(*words, env={**slurm_a100.env, "HPCLAUNCH_HOME": str(tmp_path / "home")})


def write(folder: Path, **keys: Any) -> Path:
    job = {"version": 1, "name": "again", "gpus_per_node": 0, "ranks_per_node": 1, "time": 5}
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump({**job, **keys}, sort_keys=False), encoding="utf-8")
    return path


def facts(run: Run, job_id: str) -> Any:
    return json.loads(run("status", job_id, "--json").stdout)


def test_of_a_sweep_the_points_that_failed_run_again(slurm_a100: Slurm, run: Run, tmp_path: Path) -> None:
    text = f'echo "$HPCLAUNCH_POINT of $HPCLAUNCH_SWEEP $LR" >>{tmp_path}/ran; test "$LR" != "$BAD"'
    sweep = {"grid": {"env.LR": ["0.1", "0.2", "0.3", "0.4"]}}
    job = write(tmp_path, command=text, env={"BAD": "0.3"}, sweep=sweep)
    done = run("submit", job, "--site", slurm_a100.site, "--wait")
    assert done.returncode == 1, done.stderr
    first = done.stdout.strip()
    (tmp_path / "ran").unlink()
    done = run("rerun", first, "--failed", "--wait")
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "ran").read_text() == "2 of 4 0.3\n"
    again = done.stdout.strip()
    (tmp_path / "ran").unlink()
    done = run("rerun", again, "--failed", "--set", "env.BAD=", "--wait")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ran").read_text() == "2 of 4 0.3\n"
    (tmp_path / "ran").unlink()
    done = run("rerun", f"{first}_1", "--wait")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ran").read_text() == "1 of 4 0.2\n"
    (tmp_path / "ran").unlink()
    done = run("rerun", first, "--exact", "--wait")
    assert done.returncode == 1, done.stderr
    assert len((tmp_path / "ran").read_text().splitlines()) == 4
    records = [Path(facts(run, job_id)["record"]) for job_id in (first, done.stdout.strip())]
    assert len({(record / "script.sh").read_text() for record in records}) == 1
    # The same four as test cases, of which one failed.
    run("wait", first, "--junit", tmp_path / "report.xml")
    suite = minidom.parse(str(tmp_path / "report.xml")).getElementsByTagName("testsuite")[0]
    assert (suite.getAttribute("tests"), suite.getAttribute("failures")) == ("4", "1")


def test_points_with_a_job_each_are_named_by_any_of_these(
    slurm_a100: Slurm, run: Run, tmp_path: Path
) -> None:
    text = f'echo "$HPCLAUNCH_POINT of $HPCLAUNCH_SWEEP on $SLURM_JOB_NUM_NODES" >>{tmp_path}/ran'
    job = write(tmp_path, command=f'test "$SLURM_PROCID" != 0 || {text}', sweep={"grid": {"nodes": [1, 2]}})
    done = run("submit", job, "--site", slurm_a100.site, "--wait")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split()
    for named in (f"{first}_1", f"{second}_1"):
        assert facts(run, named)["job_id"] == second
        (tmp_path / "ran").unlink()
        done = run("rerun", named, "--wait")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "ran").read_text() == "1 of 2 on 2\n"
    done = run("rerun", f"{first}_2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the points 0 to 1, and no 2" in done.stderr


def test_the_record_has_what_the_run_was_made_of(slurm_a100: Slurm, run: Run, tmp_path: Path) -> None:
    job = write(tmp_path, command=["sh", "-c", "exit $STATUS"], env={"STATUS": "3"}, nodes=2)
    done = run("submit", job, "--site", slurm_a100.site, "--wait")
    assert done.returncode == 3
    job_id = done.stdout.strip()
    record = Path(facts(run, job_id)["record"])
    rendered = run("render", record / "job.yaml", "--site", record / "site.yaml")
    assert rendered.stdout == (record / "script.sh").read_text()
    state = json.loads((record / "state.json").read_text())["status"]
    assert (state["state"], state["exit_code"], state["cause"]) == ("FAILED", 3, "user_error")
    assert state["nodes"]
    assert state["started"] <= state["ended"]
    lock = json.loads((record / "lock.json").read_text())
    assert lock["site_file"] == str(slurm_a100.site)
    assert lock["versions"]["slurm"]
    again = run("rerun", job_id, "--set", "env.STATUS=0", "--wait")
    assert again.returncode == 0, again.stderr
    compared = json.loads(run("compare", job_id, again.stdout.strip(), "--json").stdout)["differences"]
    told = {each["what"]: (each["a"], each["b"]) for each in compared}
    assert told["job.env.STATUS"] == ("3", "0")
    assert told["exit code"] == ("3", "0")
    assert told["state"] == ("FAILED", "COMPLETED")


def test_slurm_s_own_estimate(slurm_a100: Slurm, run: Run, tmp_path: Path) -> None:
    job = write(tmp_path, command=["true"], nodes=2, gpus_per_node=8)
    done = run("submit", job, "--site", slurm_a100.site, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout == run("render", job, "--site", slurm_a100.site).stdout
    assert "Slurm would start it at 20" in done.stderr
    assert "2 nodes with 8 GPUs each, for at most 00:05:00: 1.3 GPU-hours" in done.stderr
    job = write(tmp_path, command=["true"], sites={slurm_a100.name: {"partition": "nowhere"}})
    done = run("submit", job, "--site", slurm_a100.site, "--dry-run")
    assert done.returncode == 3, done.stderr
    assert "partition" in done.stderr
    assert done.stdout.startswith("#!/bin/bash")
    assert json.loads(run("list", "--json").stdout) == []


def test_chosen_ranks_run_under_a_profiler(slurm_a100: Slurm, run: Run, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "nsys").write_text(NSYS)
    (tools / "nsys").chmod(0o755)
    out = tmp_path / "out"
    out.mkdir(mode=0o777)
    job = write(
        tmp_path,
        command=["sh", "-c", 'echo "rank $RANK $1"', "sh", "a  'b'"],
        env={"PATH": f"{tools}:{os.environ['PATH']}"},
        rendezvous="torch",
        nodes=2,
        ranks_per_node=4,
        profile={"tool": "nsys", "ranks": [0, 6], "args": ["--trace=cuda"], "output": str(out)},
    )
    done = run("submit", job, "--site", slurm_a100.site, "--wait")
    job_id = done.stdout.strip()
    log = run("logs", job_id).stdout
    assert done.returncode == 0, log
    assert sorted(log.splitlines()) == [f"rank {rank} a  'b'" for rank in range(8)]
    written = {path.name: path.read_text() for path in out.iterdir()}
    assert written == {f"again-{job_id}-rank-{rank}.nsys-rep": f"{rank}\n" for rank in (0, 6)}
