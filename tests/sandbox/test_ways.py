"""Every way to Slurm sends the same job, and tells the same of it: against a real Slurm and slurmrestd.

The package pyslurm is a stand-in with the real one's signatures and faults; where the real one imports, the
same tests run with it too.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from importlib import util
from pathlib import Path

import pytest
import waysto
from realslurm import Slurm
from waysto import facts, record_of

from hpclaunch.records.record import Record
from hpclaunch.sandbox.packages import slurm_version
from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.ways import choose
from hpclaunch.values.job import JobStatus, Submission
from hpclaunch.values.slurmaccess import RestServer, SlurmAccess

Send = Callable[..., Record]

REAL = "pyslurm itself"
HERE = (REAL,) if util.find_spec("pyslurm") else ()
WAYS = ("commands", "pyslurm", "v0.0.38", *HERE)

# A job on whole nodes, and one on a part of one, with all that a plan asks for.
WHOLE = (
    "--job-name=one-of_each",
    "--nodes=2",
    "--ntasks-per-node=8",
    "--gres=gpu:a100:8",
    "--exclusive",
    "--mem=0",
    "--time=UNLIMITED",
    "--account=adas",
    "--partition=batch",
    "--nodelist=dgx[1-2]",
    "--mail-user=who@example.org",
    "--mail-type=END,FAIL",
    "--no-requeue",
    "--open-mode=append",
    "--propagate=NONE",
)
PART = (
    "--job-name=part",
    "--nodes=1",
    "--ntasks-per-node=2",
    "--gres=gpu:2",
    "--cpus-per-task=32",
    "--mem=2000M",
    "--time=1-02:30:00",
    "--exclude=dgx1",
    "--dependency=singleton",
    "--kill-on-invalid-dep=yes",
    "--requeue",
    "--open-mode=append",
    "--propagate=NONE",
)
SCRIPT = """\
printf '%s\\n' "$@"
pwd
umask
ulimit -Sn
env -0 >env
"""
# What differs from job to job, and what only srun would read, which the script does not let pass.
OF_EACH_JOB = {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_TASK_PID"}
FOR_SRUN = {"SLURM_NTASKS_PER_NODE", "SLURM_OPEN_MODE", "SLURM_CPUS_PER_TASK"}


@pytest.fixture
def send(slurm_a100: Slurm, restd: str, record_home: Path, request: pytest.FixtureRequest) -> Iterator[Send]:
    """send(WAY, options, script): submits that way."""
    sent: list[Record] = []

    def submit(way: str, options: tuple[str, ...], script: str, **submission: object) -> Record:
        if way == "pyslurm":
            request.getfixturevalue("pyslurm_standin")
        name = way if way in ("commands", "pyslurm") else "pyslurm" if way == REAL else "rest"
        server = RestServer(restd, way) if name == "rest" else None
        access = SlurmAccess(name, server)  # type: ignore[arg-type]
        record = record_of(str(slurm_a100.slurm_conf), options, script, access)
        lifecycle.submit(record, Submission(**submission), pytest.fail)  # type: ignore[arg-type]
        sent.append(record)
        return record

    yield submit
    for record in sent:
        slurm_a100.run("scancel", str(record.state().job_id))


def ended(record: Record) -> JobStatus:
    return lifecycle.wait(record, pytest.fail, lambda _: time.sleep(0.1))


def of_job(record: Record) -> dict[str, str]:
    """The environment that its script had."""
    text = os.fsdecode((record.work / "env").read_bytes()).replace(str(record.folder), "RECORD")
    found = dict(pair.split("=", 1) for pair in text.split("\0")[:-1])
    return {name: value for name, value in found.items() if name not in OF_EACH_JOB | FOR_SRUN}


@pytest.mark.parametrize("way", [*WAYS[1:], "v0.0.36", "v0.0.37"])
@pytest.mark.parametrize("options", [WHOLE, PART], ids=["whole nodes", "a part of one"])
def test_every_way_sends_the_same_job(
    send: Send, slurm_a100: Slurm, options: tuple[str, ...], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = {
        "SLURM_CPU_BIND": "map_cpu:999",
        "SLURM_EXPORT_ENV": "NONE",
        "SBATCH_TIMELIMIT": "77",
        "LD_PRELOAD": "/nowhere/stray.so",
        "PYXIS_CONTAINER_IMAGE": "stray",
        "STRAY": "x",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SLURM_CONF", str(slurm_a100.slurm_conf))
    before = dict(os.environ)
    more = {"environment": {"PROXY": "a b,c\n$x 'q' grün"}, "secrets": {"TOKEN": "x"}}
    mask = os.umask(0o027)
    try:
        records = []
        for each in ("commands", way):  # one after the other: both get the same GPUs
            records.append(send(each, options, SCRIPT, **more))
            assert ended(records[-1]).state == "COMPLETED", records[-1].log.read_text()
    finally:
        os.umask(mask)
    assert dict(os.environ) == before
    theirs, own = (facts(slurm_a100, record) for record in records)
    assert own == theirs
    assert own["Comment"].strip() == "hpclaunch:TAG"
    theirs, own = (of_job(record) for record in records)
    assert own == theirs
    assert own["PROXY"] == more["environment"]["PROXY"]
    assert not set(hostile) & set(own)
    written = [record.log.read_text().replace(str(record.folder), "RECORD").replace(record.tag, "TAG")
               for record in records]  # fmt: skip
    assert written[0] == written[1]
    assert written[0].splitlines()[0] == "RECORD/claim"
    assert "0027" in written[0].splitlines()


@pytest.mark.parametrize("way", WAYS)
def test_every_way_tells_how_a_job_lives(send: Send, way: str, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    simple = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1", "--time=00:05:00", "--propagate=NONE")
    fails = send(way, simple, f"until [ -e '{gate}' ]; do sleep 0.1; done; exit 7\n")
    killed = send(way, simple, "kill -9 $$\n")
    waits = send(way, (*simple, "--hold"), "true\n")
    runs = send(way, simple, "sleep 600\n")
    states = lifecycle.ask([waits], pytest.fail)
    assert (states[waits.tag].state, states[waits.tag].started) == ("PENDING", None)
    assert "held" in states[waits.tag].reason
    while lifecycle.ask([runs], pytest.fail)[runs.tag].state != "RUNNING":
        time.sleep(0.1)
    running = lifecycle.ask([runs], pytest.fail)[runs.tag]
    assert re.fullmatch("dgx[12]", running.nodes)
    assert running.started
    assert running.started >= str(running.submitted)
    assert running.ended is None
    gate.touch()
    done = ended(fails)
    assert (done.state, done.exit_code, done.exit_status) == ("FAILED", 7, 7)
    assert ended(killed).exit_status == 137
    for record in (waits, runs):
        lifecycle.cancel(record, pytest.fail)
        assert ended(record).state == "CANCELLED"
        lifecycle.scheduler_of(record).cancel(record)  # once more, of a job that has ended
    (runs.folder / "state.json").unlink()  # as after a crash before the id was noted
    assert lifecycle.scheduler_of(runs).locate([runs]).keys() == {runs.tag}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_tells_the_tasks_of_an_array_apart(send: Send, slurm_a100: Slurm, way: str) -> None:
    options = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1", "--array=0,2-4%2", "--hold")
    record = send(way, options, "exit $SLURM_ARRAY_TASK_ID\n")
    job_id = str(record.state().job_id)
    asked = choose.way(record.intent.slurm_conf, record.intent.slurm or SlurmAccess())
    waiting = asked.jobs([job_id])
    assert [row_id for row_id, _, _ in waiting] == [f"{job_id}_[0,2-4%2]"]
    assert waiting[0][1].state == "PENDING"
    slurm_a100.run("scontrol", "release", job_id)
    while not all(status.has_ended for _, status, _ in asked.jobs([job_id])):
        time.sleep(0.1)
    codes = {row_id: status.exit_code for row_id, status, _ in asked.jobs([job_id])}
    assert codes == {f"{job_id}_{task}": task for task in (0, 2, 3, 4)}


@pytest.mark.parametrize("way", WAYS)
def test_a_refusal_has_slurm_s_words_and_what_to_do(send: Send, way: str) -> None:
    options = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1", "--partition=nowhere")
    with pytest.raises(Refused) as caught:
        send(way, options, "true\n")
    assert "invalid partition" in str(caught.value).lower()
    assert "sinfo -s" in caught.value.advice


def test_auto_takes_what_fits(slurm_a100: Slurm, restd: str, tmp_path: Path) -> None:
    conf = str(slurm_a100.slurm_conf)
    year, _, month = slurm_version().partition(".")
    fits, other = f"{year}.{int(month)}.9", f"{int(year) + 1}.{int(month)}.0"
    with waysto.importable(waysto.install_standin(tmp_path / "fits", fits)):
        assert choose.choice(conf, SlurmAccess()).name == "pyslurm"
    with waysto.importable(waysto.install_standin(tmp_path / "other", other)):
        taken = choose.choice(conf, SlurmAccess())
        assert taken.name == "commands"
        assert f"{int(year) + 1}.{month}, and the controller is {slurm_version()}" in taken.why
        with pytest.raises(Refused, match="via: pyslurm, and pyslurm is for Slurm"):
            choose.choice(conf, SlurmAccess("pyslurm"))
    rest = RestServer(restd, "v0.0.38")
    with waysto.importable(None), pytest.MonkeyPatch.context() as patch:
        assert choose.choice(conf, SlurmAccess(rest=rest)).name == "commands"
        choose.choice.cache_clear()
        patch.setenv("PATH", str(tmp_path))
        assert choose.choice(conf, SlurmAccess(rest=rest)).name == "rest"
