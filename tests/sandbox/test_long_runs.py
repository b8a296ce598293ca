"""Long runs under the real Slurm: signals before the limit, further starts, and who is told of an end."""

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from command import hpclaunch
from realslurm import Slurm
from waiting import until

TOKEN = 'geheim "a\\b$c'


class Place:
    """The sandbox, and jobs on it."""

    def __init__(self, slurm: Slurm):
        self.slurm = slurm
        self.env = {**slurm.env, "HPCLAUNCH_HOME": str(slurm.folder / "home"), "TOKEN": TOKEN}

    def submit(self, folder: Path, command: str | list[str], **job: Any) -> str:
        path = folder / "job.yaml"
        full = {"name": "long", "nodes": 1, "ranks_per_node": 2, "time": 5, "command": command, **job}
        path.write_text(yaml.safe_dump(full))
        done = hpclaunch("submit", path, "--site", self.slurm.site, env=self.env)
        assert done.stdout.strip().isdigit(), done.stderr
        return done.stdout.strip()

    def ask(self, *words: str) -> Any:
        return json.loads(hpclaunch(*words, "--json", env=self.env).stdout)

    def wait(self, job: str) -> int:
        return hpclaunch("wait", job, env=self.env).returncode

    def log(self, job: str) -> list[str]:
        return hpclaunch("logs", job, env=self.env).stdout.splitlines()


class Told:
    """A server for webhooks. While it is told something it looks whether any process shows the token."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.tokens: list[str | None] = []
        self.shown: list[str] = []
        told = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                told.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                told.tokens.append(self.headers["Authorization"])
                told.shown += [line for line in command_lines() if "geheim" in line]
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?x=1"
        Thread(target=self.server.serve_forever, daemon=True).start()


def command_lines() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            yield (process / "cmdline").read_text(errors="replace")
        except OSError:
            continue


@pytest.fixture
def told() -> Iterator[Told]:
    made = Told()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def place(start_slurm: Callable[..., Slurm]) -> Place:
    return Place(start_slurm("--nodes", "2", "--node-type", "dgx-a100", "--name", "long"))


@pytest.fixture(scope="module", autouse=True)
def overdue(place: Place, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A job that saves its state on the signal and outlives its limit of a minute, during the other tests."""
    folder = tmp_path_factory.mktemp("overdue")
    folder.chmod(0o777)
    command = "trap 'echo saved.$SLURM_PROCID' USR1; echo up; while :; do sleep 0.2; done"
    tell = ["/bin/sh", "-c", 'cat >>"$0"', str(folder / "told")]
    more = {"signal": {"name": "USR1", "before": "20s"}, "notify": {"command": tell, "start": True}}
    return place.submit(folder, command, time=1, gpus_per_node=4, **more), folder


def test_a_requeued_job_starts_again_with_its_secrets_and_its_log(
    place: Place, told: Told, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    tmp_path.chmod(0o777)
    job = place.submit(
        tmp_path,
        f'echo "start $HPCLAUNCH_RESTARTS ${{#TOKEN}}"; until [ -e {gate} ]; do sleep 0.1; done; exit 7',
        gpus_per_node=4,
        ranks_per_node=1,
        requeue=True,
        secrets=["TOKEN"],
        notify={"webhook": told.url, "token": "TOKEN", "start": True},
    )
    kept = Path(place.env["HPCLAUNCH_HOME"], "secrets", place.ask("status", job)["tag"])
    until(lambda: place.log(job))
    assert kept.exists()
    place.slurm.run("scontrol", "requeue", job)
    place.slurm.start_again(job)
    until(lambda: f"start 1 {len(TOKEN)}" in place.log(job))
    assert kept.exists()
    gate.touch()
    assert place.wait(job) == 7
    status = place.ask("status", job)
    assert (status["cause"], status["rank"], status["exit_code"]) == ("user_error", 0, 7)
    said = [line for line in place.log(job) if line.startswith("start")]
    assert said == [f"start 0 {len(TOKEN)}", f"start 1 {len(TOKEN)}"]
    assert not kept.exists()
    events = [(each["event"], each["state"], each["exit_status"], each["restarts"]) for each in told.bodies]
    assert events == [
        ("start", "RUNNING", None, 0),
        ("end", "REQUEUED", 143, 0),
        ("start", "RUNNING", None, 1),
        ("end", "FAILED", 7, 1),
    ]
    assert set(told.tokens) == {f"Bearer {TOKEN}"}
    assert not told.shown
    assert {(each["job_id"], each["tag"], each["hosts"]) for each in told.bodies} == {
        (job, kept.name, "dgx1")
    }
    assert "geheim" not in json.dumps(told.bodies)


def test_who_is_told_late_or_never_changes_nothing(place: Place, tmp_path: Path) -> None:
    job = place.submit(tmp_path, "true", gpus_per_node=4, notify={"command": "sleep 300"})
    assert place.wait(job) == 0
    assert any(
        "nobody was told of the job's end: status 137 (137: it took too long)" in line
        for line in place.log(job)
    )


def test_a_cancelled_job_still_tells(place: Place, told: Told, tmp_path: Path) -> None:
    job = place.submit(
        tmp_path,
        "echo up; exec sleep 300",
        gpus_per_node=4,
        setup=[{"run": "true", "where": "host"}],
        notify={"webhook": told.url},
    )
    until(lambda: place.log(job))
    assert hpclaunch("cancel", job, env=place.env).returncode == 0
    assert place.wait(job) == 1
    until(lambda: told.bodies)
    assert [(each["event"], each["state"]) for each in told.bodies] == [("end", "CANCELLED")]
    status = place.ask("status", job)
    assert (status["cause"], status["reason"]) == ("cancelled", "by hpclaunch cancel")


def test_a_chain_goes_on_until_a_link_is_done(place: Place, tmp_path: Path) -> None:
    command = 'echo "link $HPCLAUNCH_LINK ${#TOKEN}"; [ "$HPCLAUNCH_LINK" = 1 ] || exit 75'
    more = {"chain": 4, "secrets": ["TOKEN"], "ranks_per_node": 1, "gpus_per_node": 2}
    job = place.submit(tmp_path, command, **more)
    kept = Path(place.env["HPCLAUNCH_HOME"], "secrets", place.ask("status", job)["tag"])
    assert place.wait(job) == 0
    status = place.ask("status", job)
    assert (status["state"], status["reason"]) == ("COMPLETED", "link 1 of 4 was done")
    said = [line for line in place.log(job) if line.startswith("link")]
    assert said == [f"link 0 {len(TOKEN)}", f"link 1 {len(TOKEN)}"]
    assert not kept.exists()
    assert sorted(set(states_of(place, job))) == ["CANCELLED", "COMPLETED", "FAILED"]


def test_a_link_that_fails_ends_the_chain_and_one_that_was_ended_does_not(
    place: Place, tmp_path: Path
) -> None:
    command = 'echo "link $HPCLAUNCH_LINK"; [ "$HPCLAUNCH_LINK" = 1 ] || exec sleep 300; exit 3'
    job = place.submit(tmp_path, command, chain=3, ranks_per_node=1, gpus_per_node=2)
    until(lambda: place.log(job))
    shown = place.ask("status", job)
    assert (shown["state"], shown["reason"]) == ("RUNNING", "link 0 of 3 runs")
    place.slurm.run("scancel", f"{job}_0")
    assert place.wait(job) == 3
    status = place.ask("status", job)
    assert (status["state"], status["cause"], status["rank"]) == ("FAILED", "user_error", 0)
    assert [line for line in place.log(job) if line.startswith("link")] == ["link 0", "link 1"]
    assert states_of(place, job) == ["CANCELLED", "FAILED", "CANCELLED"]


def states_of(place: Place, job: str) -> list[str]:
    shown = place.slurm.run("squeue", "-h", "--states=all", "-r", "-j", job, "-o", "%K %T").stdout
    return [line.split()[1] for line in sorted(shown.splitlines())]


def test_the_signal_reaches_every_rank_before_the_limit(place: Place, overdue: tuple[str, Path]) -> None:
    job, folder = overdue
    assert place.wait(job) == 1
    lines = place.log(job)
    assert sorted(line for line in lines if line.startswith("saved")) == ["saved.0", "saved.1"]
    status = place.ask("status", job)
    assert (status["state"], status["cause"]) == ("TIMEOUT", "time_limit")
    told = [json.loads(line) for line in (folder / "told").read_text().splitlines()]
    assert [(each["event"], each["state"]) for each in told] == [("start", "RUNNING"), ("end", "TIMEOUT")]


URGENT = """
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=urgent Nodes=ALL PriorityTier=10 MaxTime=INFINITE State=UP
"""


def test_a_job_that_gives_way_to_another_says_so_or_starts_again(place: Place, tmp_path: Path) -> None:
    slurm = place.slurm
    with slurm.slurm_conf.open("a", encoding="utf-8") as file:
        file.write(URGENT)
    assert slurm.run("scontrol", "reconfigure").returncode == 0
    command = 'echo "up $HPCLAUNCH_RESTARTS"; exec sleep 300'
    told = tmp_path / "told"
    tmp_path.chmod(0o777)
    tell = {"command": ["/bin/sh", "-c", 'cat >>"$0"', str(told)]}
    ends, stays = (
        place.submit(tmp_path, command, ranks_per_node=1, gpus_per_node=2, requeue=requeue, notify=tell)
        for requeue in (False, True)
    )
    until(lambda: "up " in place.log(ends) and "up 0" in place.log(stays))
    gate = tmp_path / "gate"
    script = f"#!/bin/sh\nuntil [ -e {gate} ]; do sleep 0.1; done\n"
    options = ("--parsable", "--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null")
    urgent = int(slurm.run("sbatch", *options, input=script).stdout)
    assert place.wait(ends) == 1
    status = place.ask("status", ends)
    assert (status["state"], status["cause"]) == ("PREEMPTED", "preemption"), status
    gate.touch()
    slurm.wait(urgent)
    slurm.start_again(stays)
    until(lambda: "up 1" in place.log(stays))
    hpclaunch("cancel", stays, env=place.env)
    events = [json.loads(line) for line in told.read_text().splitlines()]
    assert {(each["job_id"], each["state"]) for each in events} >= {(ends, "PREEMPTED"), (stays, "REQUEUED")}


def test_a_lost_node_ends_a_job_or_starts_it_again_elsewhere(place: Place, tmp_path: Path) -> None:
    """The last test here: dgx1 is gone after it."""
    command = 'echo "up $SLURMD_NODENAME"; exec sleep 300'
    stays, goes = (
        place.submit(tmp_path, command, ranks_per_node=1, gpus_per_node=2, requeue=requeue)
        for requeue in (True, False)
    )
    for job in (stays, goes):
        until(lambda job=job: "up dgx1" in place.log(job))
    lose_node(place.slurm, "dgx1")
    assert place.wait(goes) == 1
    status = place.ask("status", goes)
    assert (status["state"], status["cause"]) == ("NODE_FAIL", "node_failure")
    place.slurm.start_again(stays)
    until(lambda: "up dgx2" in place.log(stays))
    assert place.ask("status", stays)["state"] == "RUNNING"
    hpclaunch("cancel", stays, env=place.env)


def lose_node(slurm: Slurm, host: str) -> None:
    """Ends all processes of a node at once, and tells Slurm, which would find out after SlurmdTimeout."""
    daemon = f"slurmd -D -N {host} -f {slurm.slurm_conf}"
    spaces = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_text(errors="replace").split("\0")
            if " ".join(words).strip().endswith(daemon):
                spaces.append(os.readlink(process / "ns" / "mnt"))
    assert len(spaces) == 1
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended since
            if os.readlink(process / "ns" / "mnt") == spaces[0]:
                os.kill(int(process.name), signal.SIGKILL)
    slurm.run("scontrol", "update", f"NodeName={host}", "State=DOWN", "Reason=lost")
