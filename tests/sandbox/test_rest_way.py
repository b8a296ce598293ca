"""What is slurmrestd's alone: against a real one, over a socket and over HTTP with a token."""

import json
import os
import re
from pathlib import Path

import pytest
import waysto
from command import hpclaunch
from controller import Controller, controller
from freeport import free_port
from realslurm import Slurm
from waiting import until
from waysto import record_of

from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.ways.rest import ByRest
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import Submission
from hpclaunch.values.slurmaccess import RestServer, SlurmAccess


def test_what_slurmrestd_has_no_field_for_is_refused_by_name(
    slurm_a100: Slurm, restd: str, record_home: Path
) -> None:
    options = ("--job-name=unsaid", "--nodes=1", "--ntasks-per-node=1", "--switches=1")
    access = SlurmAccess("rest", RestServer(restd, "v0.0.38"))
    record = record_of(str(slurm_a100.slurm_conf), options, "true\n", access)
    with pytest.raises(Refused, match=r"v0\.0\.38 has no field .*--switches=1"):
        lifecycle.submit(record, Submission(), pytest.fail)
    assert slurm_a100.run("squeue", "--noheader", "--states=all", "--name=unsaid").stdout == ""


def test_a_job_file_goes_through_slurmrestd_and_status_says_so(
    slurm_a100: Slurm, restd: str, tmp_path: Path
) -> None:
    """With commands of Slurm that do nothing."""
    site = tmp_path / "site.yaml"
    keys = f"slurm:\n  via: rest\n  rest: {{url: {restd}}}\n"
    site.write_text(slurm_a100.site.read_text().replace("slurm:\n", keys))
    for name in ("sbatch", "squeue", "sacct", "scancel", "scontrol"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 9\n")
        (tmp_path / name).chmod(0o755)
    job = tmp_path / "job.yaml"
    job.write_text("version: 1\nname: two\ncommand: [hostname]\nnodes: 2\nmpi: none\nranks_per_node: 1\n")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "HPCLAUNCH_HOME": str(tmp_path / "h")}
    done = hpclaunch("submit", "--site", site, "--wait", job, env=env)
    assert done.returncode == 0, done.stderr
    shown = json.loads(hpclaunch("status", done.stdout.strip(), "--json", env=env).stdout)
    assert (shown["state"], shown["via"]) == ("COMPLETED", "rest")
    assert shown["via_reason"] == "the site says so"
    assert sorted(Path(shown["log"]).read_text().split()) == ["dgx1", "dgx2"]


def test_groups_with_an_allocation_each_go_through_slurmrestd(
    slurm_a100: Slurm, restd: str, tmp_path: Path
) -> None:
    site = tmp_path / "site.yaml"
    keys = f"slurm:\n  via: rest\n  rest: {{url: {restd}}}\n"
    site.write_text(slurm_a100.site.read_text().replace("slurm:\n", keys))
    (tmp_path / "sbatch").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "sbatch").chmod(0o755)
    job = tmp_path / "job.yaml"
    groups = "{learn: {nodes: 1}, act: {nodes: 1, gpus_per_node: 4, ranks_per_node: 2}}"
    job.write_text(
        "version: 1\nname: two\nmpi: none\nranks_per_node: 1\nworld: separate\nverify: true\n"
        f"command: [hostname]\ngroups: {groups}\n"
    )
    home = str(tmp_path / "h")
    env = {**slurm_a100.env, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HPCLAUNCH_HOME": home}
    done = hpclaunch("submit", "--site", site, "--wait", job, env=env)
    assert done.returncode == 0, done.stderr
    job_id = done.stdout.strip()
    shown = json.loads(hpclaunch("status", job_id, "--json", env=env).stdout)
    assert (shown["state"], shown["via"], shown["nodes"]) == ("COMPLETED", "rest", "dgx1,dgx2")
    said = hpclaunch("logs", job_id, env=env).stdout.splitlines()
    ranks = sorted(line for line in said if "hpclaunch" not in line)
    assert ranks == ["act: dgx2", "act: dgx2", "learn: dgx1"]
    assert hpclaunch("verify", job_id, env=env).returncode == 0
    again = hpclaunch("rerun", job_id, "--wait", env=env)
    assert again.returncode == 0, again.stderr
    compared = hpclaunch("compare", job_id, again.stdout.strip(), "--json", env=env)
    different = {each["what"] for each in json.loads(compared.stdout)["differences"]}
    assert not {what for what in different if what.startswith(("job", "plan", "script"))}, different


def test_a_token_over_http(
    tmp_path: Path, slurm_possible: None, record_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "jwt.key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    conf = f"""\
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={key}
NodeName=n1 CPUs=2 RealMemory=1000
PartitionName=batch Nodes=ALL Default=YES
"""
    options = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1", "--hold")
    with controller(tmp_path / "slurm", {"slurm.conf": conf}) as made:
        line = made.run("scontrol", "token")
        token = line.strip().partition("=")[2]
        file = tmp_path / "token"
        file.write_text(line)
        file.chmod(0o600)
        port = free_port()
        server = RestServer(f"http://127.0.0.1:{port}", "v0.0.38", token_file=str(file))
        access = SlurmAccess("rest", server)
        address = f"127.0.0.1:{port}"
        slurm_conf = made.folder / "etc" / "slurm.conf"
        log = tmp_path / "log"
        with waysto.slurmrestd(log, slurm_conf, address, "rest_auth/jwt", {"SLURM_JWT": "daemon"}):
            record = record_of(None, options, "true\n", access)
            job_id = lifecycle.submit(record, Submission(), pytest.fail)
            assert f"JobId={job_id} " in made.run("scontrol", "show", "job", job_id)
            assert lifecycle.ask([record], pytest.fail)[record.tag].state == "PENDING"
            lifecycle.cancel(record, pytest.fail)
            assert lifecycle.ask([record], pytest.fail)[record.tag].state == "CANCELLED"
            # The file must be nobody else's, and what is in it is said to nobody.
            file.chmod(0o644)
            assert "others may read" in refusal(access)
            file.chmod(0o600)
            file.write_text(f"SLURM_JWT={token[:-4]}AAAA\n")
            said = refusal(access)
            assert token[:-4] not in said
            file.unlink()
            assert "cannot be read" in refusal(access)
            assert "does not know this user" in refusal(
                SlurmAccess("rest", RestServer(server.url, "v0.0.38"))
            )
            monkeypatch.setenv("SLURM_JWT", token)
            served = SlurmAccess("rest", RestServer(server.url, "v0.0.44"))
            assert "does not serve the API v0.0.44" in refusal(served)
            assert lifecycle.scheduler("slurm", None, None, access).version() == f"slurm {release(made)}"
        kept = b"".join(path.read_bytes() for path in record_home.rglob("*") if path.is_file())
        assert token.encode() not in kept
        assert token not in log.read_text()


def release(made: Controller) -> str:
    """As the controller says it."""
    shown = made.run("scontrol", "show", "config")
    return re.findall(r"SLURM_VERSION\s*= (\S+)", shown)[0]


def refusal(access: SlurmAccess) -> str:
    """What a submission is refused with; nothing was sent."""
    record = record_of(None, ("--job-name=x", "--nodes=1", "--ntasks-per-node=1"), "true\n", access)
    with pytest.raises(Refused) as caught:
        lifecycle.submit(record, Submission(), pytest.fail)
    assert record.state().status is not None
    return str(caught.value)


def test_a_job_whose_answer_was_lost_is_found(
    slurm_a100: Slurm, restd: str, record_home: Path, tmp_path: Path
) -> None:
    with waysto.losing_answers(tmp_path / "socket", Path(restd.removeprefix("unix:"))) as url:
        access = SlurmAccess("rest", RestServer(url, "v0.0.38"))
        options = ("--job-name=lost", "--nodes=1", "--ntasks-per-node=1", "--hold")
        record = record_of(str(slurm_a100.slurm_conf), options, "true\n", access)
        with pytest.raises(SchedulerError) as caught:
            lifecycle.scheduler_of(record).submit(record, Submission(), pytest.fail)
        assert not isinstance(caught.value, Refused)
        assert lifecycle.ask([record], pytest.fail)[record.tag].state == "PENDING"
        lifecycle.cancel(record, pytest.fail)
    shown = slurm_a100.run("squeue", "--noheader", "--states=all", "--name=lost", "--format=%A").stdout
    assert shown.split() == [record.state().job_id]


def test_one_task_of_an_array_is_cancelled_and_the_others_stay(slurm_a100: Slurm, restd: str) -> None:
    """v0.0.36 takes numbers alone, and this Slurm knows no task by its own; v0.0.38 takes tasks."""
    by_number, by_task = (ByRest(RestServer(restd, api), None) for api in ("v0.0.36", "v0.0.38"))
    array = slurm_a100.run(
        *("sbatch", "--parsable", "--array=0-3%1", "--nodes=1", "--output=/dev/null", "--wrap", "sleep 600")
    ).stdout.strip()

    def states() -> dict[str, str]:
        asked = ("squeue", "--noheader", "--array", "--states=all", f"--jobs={array}", "--format=%i %t")
        return dict(line.split() for line in slurm_a100.run(*asked).stdout.splitlines())

    try:
        until(lambda: states().get(f"{array}_0") == "R")
        for task in (0, 2):
            with pytest.raises(Refused, match=f"cannot end task {task} alone: all of {array} would end"):
                by_number.cancel(f"{array}_{task}")
        for task in (2, 0):
            by_task.cancel(f"{array}_{task}")
        until(lambda: states().get(f"{array}_1") == "R")
        assert {states().get(f"{array}_{task}", "CA") for task in (0, 2)} <= {"CA", "CG"}
        assert states()[f"{array}_3"] == "PD"
    finally:
        slurm_a100.run("scancel", array)
