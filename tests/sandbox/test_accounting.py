"""What a real slurmdbd keeps of a job, and what it tells of one that slurmctld has forgotten."""

import json
import re
from pathlib import Path

import pytest
import yaml
from accounts import dump
from command import hpclaunch
from msgspec import Struct, structs
from realslurm import Slurm
from waiting import until
from waysto import slurmrestd

from hpclaunch.records import sending
from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record
from hpclaunch.schedulers import slurm as by_slurm
from hpclaunch.schedulers.arrays import numbers
from hpclaunch.schedulers.resume import resume
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.ways.commands import ByCommands
from hpclaunch.schedulers.ways.contract import Row
from hpclaunch.schedulers.ways.rest import ByRest
from hpclaunch.values.job import Submission
from hpclaunch.values.slurmaccess import RestServer, SlurmAccess


class Forgotten(Struct, frozen=True):
    """Jobs that slurmctld does not know any more. Nobody noted the ids of those that were cancelled by hand:
    a held one, an array that was to begin later."""

    env: dict[str, str]
    failed: str
    held: str
    later: str


def submitted(slurm: Slurm, env: dict[str, str], folder: Path, name: str, **more: object) -> str:
    path = folder / f"{name}.yaml"
    job = {"version": 1, "name": name, "time": 5, "nodes": 1, "ranks_per_node": 1, "command": "exit 7"}
    path.write_text(yaml.safe_dump(job | more))
    done = hpclaunch("submit", path, "--site", slurm.site, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def knows(slurm: Slurm, job_id: str) -> bool:
    return slurm.run("scontrol", "show", "job", job_id).returncode == 0


def sacct(slurm: Slurm, job_id: str, *names: str) -> list[list[str]]:
    """These fields of the lines about a job, without its steps."""
    words = ("sacct", "--allocations", "--noheader", "--parsable2", f"--format={','.join(names)}")
    done = slurm.run(*words, f"--jobs={job_id}")
    assert done.returncode == 0, done.stderr
    return [line.split("|") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def forgotten(slurm_accounted: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Forgotten:
    slurm, folder = slurm_accounted, tmp_path_factory.mktemp("forgotten")
    env = {**slurm.env, "HPCLAUNCH_HOME": str(folder / "home")}
    failed = submitted(slurm, env, folder, "failed")
    held = submitted(slurm, env, folder, "held", sites={slurm.name: {"sbatch": ["--hold"]}})
    sweep = {"sweep": {"grid": {"env.LR": ["1", "2"]}}}
    later = submitted(
        slurm, env, folder, "later", sites={slurm.name: {"sbatch": ["--begin=now+1day"]}}, **sweep
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HPCLAUNCH_HOME", env["HPCLAUNCH_HOME"])
        for job_id in (held, later):
            (find(job_id).folder / "state.json").unlink()  # as if hpclaunch had been killed
            assert slurm.run("scancel", job_id).returncode == 0
    text = slurm.slurm_conf.read_text()
    slurm.slurm_conf.write_text(re.sub(r"(?m)^MinJobAge=.*$", "MinJobAge=2", text))
    assert slurm.run("scontrol", "reconfigure").returncode == 0
    until(lambda: not any(knows(slurm, job_id) for job_id in (failed, held, later)))
    return Forgotten(env, failed, held, later)


@pytest.fixture(autouse=True)
def home(forgotten: Forgotten, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCLAUNCH_HOME", forgotten.env["HPCLAUNCH_HOME"])


def test_the_tag_is_in_the_comment_the_command_line_and_the_working_folder(
    slurm_accounted: Slurm, forgotten: Forgotten
) -> None:
    tag = find(forgotten.failed).tag
    ((comment, line, folder),) = sacct(slurm_accounted, forgotten.failed, "Comment", "SubmitLine", "WorkDir")
    assert comment == f"hpclaunch:{tag}"
    assert f"--comment=hpclaunch:{tag}" in line
    assert tag in folder


def test_the_end_of_a_job_that_slurmctld_forgot_is_that_of_the_accounts(
    slurm_accounted: Slurm, forgotten: Forgotten
) -> None:
    assert hpclaunch("wait", forgotten.failed, env=forgotten.env).returncode == 7
    seen = json.loads(hpclaunch("status", forgotten.failed, "--json", env=forgotten.env).stdout)
    assert (seen["state"], seen["exit_code"]) == ("FAILED", 7)
    ((code, nodes),) = sacct(slurm_accounted, forgotten.failed, "ExitCode", "NodeList")
    assert (code, nodes) == ("7:0", seen["nodes"])


def test_a_job_that_was_cancelled_and_forgotten_is_found_and_not_sent_again(
    slurm_accounted: Slurm, forgotten: Forgotten
) -> None:
    before = dump(slurm_accounted)
    done = hpclaunch("submit", "--resume", env=forgotten.env)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted((forgotten.held, forgotten.later))
    assert done.stderr.count("it is there: it has ended: CANCELLED") == 2
    assert dump(slurm_accounted).count("hpclaunch:") == before.count("hpclaunch:")  # no job came of it
    listed = json.loads(hpclaunch("list", "--json", env=forgotten.env).stdout)
    assert {row["job_id"]: row["state"] for row in listed} == {
        forgotten.failed: "FAILED",
        forgotten.held: "CANCELLED",
        forgotten.later: "CANCELLED",
    }
    assert hpclaunch("submit", "--resume", env=forgotten.env).stderr == "hpclaunch: no submission is open\n"


def test_what_the_accounts_do_not_know_is_sent(slurm_accounted: Slurm, forgotten: Forgotten) -> None:
    known = find(forgotten.failed)
    made = Record.create(
        site=slurm_accounted.name,
        scheduler="slurm",
        name="never sent",
        script="#!/bin/bash\n#SBATCH --time=5\nln -s $SLURM_JOB_ID $1\n",
        plan=b"{}",
        job_yaml="",
        site_yaml="",
        directory="/",
        argv=("submit",),
        scheduler_version="",
        slurm_conf=known.intent.slurm_conf,
        slurm=known.intent.slurm,
    )
    until(lambda: sending.age_s(made) > 3)  # when slurmctld might have forgotten it
    (outcome,) = resume([made], lambda _: Submission(), pytest.fail, lambda _: None)
    assert outcome.found == "sent", outcome.why
    until(lambda: made.claimed_by() == outcome.job_id)


def test_slurmrestd_tells_of_the_accounts_what_sacct_does(
    slurm_accounted: Slurm, forgotten: Forgotten, tmp_path: Path
) -> None:
    ids = [forgotten.failed, forgotten.held, forgotten.later]
    since = find(forgotten.failed).intent.created[:10] + "T00:00:00"
    conf, url = slurm_accounted.slurm_conf, f"unix:{tmp_path}/rest"
    commands = ByCommands(Commands(str(conf)))
    rest = ByRest(RestServer(url, "v0.0.38"), str(conf))
    with slurmrestd(tmp_path / "log", conf, url, "rest_auth/local", {}, accounts=True):
        # slurmctld tells slurmdbd of a job bit by bit.
        until(lambda: known(rest.accounts(ids), ids) == known(commands.accounts(ids), ids))
        until(lambda: known(rest.history(since), ids) == known(commands.history(since), ids))
        for told in (rest.accounts(ids), rest.history(since)):
            assert len(known(told, ids)) == len(ids)
        assert rest.accounts(["4000000"]) == []
        assert rest.history("2036-01-01T00:00:00") == []
        record = find(forgotten.held)
        by_rest = structs.replace(record.intent, slurm=SlurmAccess("rest", RestServer(url, "v0.0.38")))
        assert by_slurm.Slurm(None).locate([Record(record.folder, by_rest)]) == {record.tag: forgotten.held}
    Path(url.removeprefix("unix:")).unlink()
    with slurmrestd(tmp_path / "log", conf, url, "rest_auth/local", {}):
        assert rest.history(since) is None
        assert rest.accounts(ids) == []


def known(rows: "list[Row] | None", ids: list[str]) -> "dict[str, tuple[object, ...]]":
    """What both tell of these jobs; slurmrestd 22.05 tells no exit code."""
    found = {}
    for job_id, status, marks in rows or ():
        job, _, task = job_id.partition("_")
        if job in ids:
            times = (status.submitted, status.ended)
            found[job] = (status.state, sorted(numbers(task)), status.nodes, *times, marks)
    return found
