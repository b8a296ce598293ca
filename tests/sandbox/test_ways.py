"""Every way to Slurm sends the same job, and tells the same of it: against a real Slurm and slurmrestd.

The package pyslurm is a stand-in with the real one's signatures and faults; where the real one imports, the
same tests run with it too.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from importlib import util
from pathlib import Path

import pytest
import waysto
from command import hpclaunch
from controller import controller
from realslurm import Slurm

from hpclaunch.records.record import Record
from hpclaunch.sandbox.packages import slurm_version
from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.ways import choose
from hpclaunch.values.errors import SchedulerError
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


def record_of(slurm_conf: str | None, options: tuple[str, ...], script: str, access: SlurmAccess) -> Record:
    lines = "".join(f"#SBATCH {option}\n" for option in options)
    plan = {"target": {"sbatch": [{"text": option} for option in options]}}
    return Record.create(
        site="lab",
        scheduler="slurm",
        name="a job",
        script=f"#!/bin/bash -p\n{lines}{script}",
        plan=json.dumps(plan).encode(),
        job_yaml="",
        site_yaml="",
        directory="/",
        argv=("submit",),
        scheduler_version="",
        slurm_conf=slurm_conf,
        slurm=access,
    )


@pytest.fixture(scope="module")
def socket_url(slurm_a100: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A slurmrestd on a socket."""
    folder = tmp_path_factory.mktemp("restd")
    url = f"unix:{folder}/socket"
    with waysto.slurmrestd(folder / "log", slurm_a100.slurm_conf, url, "rest_auth/local", {}):
        yield url


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home 5%j %% x"
    monkeypatch.setenv("HPCLAUNCH_HOME", str(folder))
    return folder


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[Path]:
    """The stand-in, of Slurm's own release; the folder that it was installed in."""
    year, _, month = slurm_version().partition(".")
    folder = waysto.install_standin(tmp_path / "packages", f"{year}.{int(month)}.3")
    with waysto.importable(folder):
        yield folder


@pytest.fixture
def send(slurm_a100: Slurm, socket_url: str, home: Path, request: pytest.FixtureRequest) -> Iterator[Send]:
    """send(WAY, options, script): submits that way."""
    sent: list[Record] = []

    def submit(way: str, options: tuple[str, ...], script: str, **submission: object) -> Record:
        if way == "pyslurm":
            request.getfixturevalue("standin")
        name = way if way in ("commands", "pyslurm") else "pyslurm" if way == REAL else "rest"
        access = SlurmAccess(name, RestServer(socket_url, way) if name == "rest" else None)  # type: ignore[arg-type]
        record = record_of(str(slurm_a100.slurm_conf), options, script, access)
        lifecycle.submit(record, Submission(**submission), pytest.fail)  # type: ignore[arg-type]
        sent.append(record)
        return record

    yield submit
    for record in sent:
        slurm_a100.run("scancel", str(record.state().job_id))


def ended(record: Record) -> JobStatus:
    return lifecycle.wait(record, pytest.fail, lambda _: time.sleep(0.1))


def facts(slurm: Slurm, record: Record) -> dict[str, str]:
    """What the controller knows of a job, but for its number, its moments and its own folder."""
    text = slurm.run("scontrol", "--oneliner", "show", "job", str(record.state().job_id)).stdout
    text = text.replace(str(record.folder), "RECORD").replace(record.tag, "TAG")
    found = dict(re.findall(r"(\S+?)=(.*?)(?= \S+?=|$)", text.strip()))
    moments = {name for name in found if name.endswith("Time") or name in ("LastSchedEval", "Scheduler")}
    # Who sent it; a line for people, since slurmrestd has no script's path; and names with the job's number
    # in them, which are where its log is.
    other = {"JobId", "Priority", "Command", "AllocNode:Sid", "StdOut", "StdErr"}
    return {name: value for name, value in found.items() if name not in moments | other}


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


def test_what_slurmrestd_has_no_field_for_is_refused_by_name(send: Send, slurm_a100: Slurm) -> None:
    options = ("--job-name=unsaid", "--nodes=1", "--ntasks-per-node=1", "--switches=1")
    with pytest.raises(Refused, match=r"v0\.0\.38 has no field .*--switches=1"):
        send("v0.0.38", options, "true\n")
    assert slurm_a100.run("squeue", "--noheader", "--states=all", "--name=unsaid").stdout == ""


@pytest.mark.parametrize("option", ["--signal=B:USR1@60", "--nice=7", "--mem-per-gpu=2G", "--gpu-bind=none"])
def test_what_pyslurm_cannot_say_is_sent_by_sbatch(
    slurm_a100: Slurm, standin: Path, home: Path, option: str
) -> None:
    options = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1", "--gres=gpu:1", "--hold", option)
    record = record_of(str(slurm_a100.slurm_conf), options, "true\n", SlurmAccess())
    said: list[str] = []
    lifecycle.submit(record, Submission(), said.append)
    assert len(said) == 1
    assert option in said[0]
    plain = record_of(str(slurm_a100.slurm_conf), options, "true\n", SlurmAccess("commands"))
    lifecycle.submit(plain, Submission(), pytest.fail)
    assert facts(slurm_a100, record) == facts(slurm_a100, plain)
    for each in (record, plain):
        lifecycle.cancel(each, pytest.fail)


def test_a_script_that_is_not_its_plan_s_is_sent_by_sbatch(
    slurm_a100: Slurm, standin: Path, home: Path
) -> None:
    """Else a line that a plan does not know of would be lost without a word."""
    options = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1")
    record = record_of(str(slurm_a100.slurm_conf), options, "true\n", SlurmAccess())
    record.script.write_text(record.script.read_text().replace("true", "#SBATCH --comment=more\ntrue"))
    said: list[str] = []
    lifecycle.submit(record, Submission(), said.append)
    assert "not those of its plan" in said[0]


def test_a_pyslurm_that_cannot_be_loaded_is_no_obstacle(slurm_a100: Slurm, standin: Path, home: Path) -> None:
    (standin / "pyslurm" / "__init__.py").write_text("raise RuntimeError('Slurm version mismatch')\n")
    options = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1", "--hold")
    record = record_of(str(slurm_a100.slurm_conf), options, "true\n", SlurmAccess())
    said: list[str] = []
    job_id = lifecycle.submit(record, Submission(), said.append)
    assert "Slurm version mismatch" in said[0]
    slurm_a100.run("scancel", job_id)


def test_a_call_of_the_controller_that_broke_off_leaves_the_submission_open(
    slurm_a100: Slurm, standin: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not be sent again, by sbatch either."""
    said = "Batch job submission failed: Unable to contact slurm controller (receive failure)"
    (tmp_path / "sbatch").write_text(f"#!/bin/sh\necho 1 >>'{tmp_path}/calls'\necho '{said}' >&2\nexit 1\n")
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    options = ("--job-name=x", "--nodes=1", "--ntasks-per-node=1")
    record = record_of(str(slurm_a100.slurm_conf), options, "true\n", SlurmAccess("pyslurm"))
    with pytest.raises(SchedulerError, match="receive failure") as caught:
        lifecycle.scheduler_of(record).submit(record, Submission(), pytest.fail)
    assert not isinstance(caught.value, Refused)
    assert (tmp_path / "calls").read_text() == "1\n"


def test_pyslurm_sees_the_closed_environment_alone(
    send: Send, standin: Path, slurm_a100: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its library reads it as Slurm's commands read theirs."""
    for name in ("SLURM_CPU_BIND", "LD_PRELOAD", "STRAY"):
        monkeypatch.setenv(name, "")
    send("pyslurm", ("--job-name=x", "--nodes=1", "--ntasks-per-node=1"), "true\n")
    seen = json.loads((standin / "pyslurm" / "environ.json").read_text())
    assert set(seen) <= {"PATH", "HOME", "USER", "LOGNAME", "LANG", "SLURM_CONF"}
    assert seen["SLURM_CONF"] == str(slurm_a100.slurm_conf)


def test_auto_takes_what_fits(slurm_a100: Slurm, socket_url: str, tmp_path: Path) -> None:
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
    rest = RestServer(socket_url, "v0.0.38")
    with waysto.importable(None), pytest.MonkeyPatch.context() as patch:
        assert choose.choice(conf, SlurmAccess(rest=rest)).name == "commands"
        choose.choice.cache_clear()
        patch.setenv("PATH", str(tmp_path))
        assert choose.choice(conf, SlurmAccess(rest=rest)).name == "rest"


def test_a_job_file_goes_through_slurmrestd_and_status_says_so(
    slurm_a100: Slurm, socket_url: str, tmp_path: Path
) -> None:
    """With commands of Slurm that do nothing."""
    site = tmp_path / "site.yaml"
    keys = f"slurm:\n  via: rest\n  rest: {{url: {socket_url}}}\n"
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


def test_a_token_over_http(
    tmp_path: Path, slurm_possible: None, home: Path, monkeypatch: pytest.MonkeyPatch
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
        port = waysto.free_port()
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
        kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
        assert token.encode() not in kept
        assert token not in log.read_text()


def release(made: object) -> str:
    """As the controller says it."""
    shown = made.run("scontrol", "show", "config")  # type: ignore[attr-defined]
    return re.findall(r"SLURM_VERSION\s*= (\S+)", shown)[0]


def refusal(access: SlurmAccess) -> str:
    """What a submission is refused with; nothing was sent."""
    record = record_of(None, ("--job-name=x", "--nodes=1", "--ntasks-per-node=1"), "true\n", access)
    with pytest.raises(Refused) as caught:
        lifecycle.submit(record, Submission(), pytest.fail)
    assert record.state().status is not None
    return str(caught.value)


def test_a_job_whose_answer_was_lost_is_found(
    slurm_a100: Slurm, socket_url: str, home: Path, tmp_path: Path
) -> None:
    with waysto.losing_answers(tmp_path / "socket", Path(socket_url.removeprefix("unix:"))) as url:
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
