"""What is put on the cluster, and what is brought from there, over connections that break."""

import io
import os
import random
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import structs
from realsshd import Sshd
from waiting import until

from hpclaunch.records import secrets
from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.follow import LogReader, copy
from hpclaunch.schedulers.ssh import connection as connections
from hpclaunch.schedulers.ssh import logs, staging, trees, twin
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.job import Submission
from hpclaunch.values.login import Login
from hpclaunch.values.slurmaccess import SlurmAccess
from hpclaunch.values.staged import Staged

Make = Callable[..., Record]


@pytest.fixture
def login(login: Login) -> Iterator[Login]:
    yield login
    connections.close()


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A record with these files staged, and more files beside its script."""
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))

    def record(
        *files: Staged, scheduler: str = "slurm", slurm: SlurmAccess | None = None, **more: bytes
    ) -> Record:
        return Record.create(
            site="far",
            scheduler=scheduler,
            slurm=slurm,
            name="a job",
            script="#!/bin/bash\n",
            plan=b"{}",
            job_yaml="",
            site_yaml="",
            directory="/",
            argv=(),
            scheduler_version="",
            more={**staging.kept(list(files)), **more},
        )

    return record


@pytest.fixture
def data(tmp_path: Path, login: Login) -> Staged:
    folder = tmp_path / "data '$x"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file").write_bytes(random.Random(1).randbytes(2_000_000))
    return Staged(str(folder), f"{login.home}/staged/{trees.name_of(str(folder))}")


def logged(record: Record) -> int:
    return record.log.stat().st_size if record.log.exists() else 0


def left_over(login: Login) -> list[Path]:
    return list(Path(login.home).rglob(".*"))


def test_files_go_once_and_nobody_writes_to_them(make: Make, login: Login, data: Staged) -> None:
    staging.send(make(data), login)
    target = Path(data.target)
    assert (target / "sub" / "file").read_bytes() == (Path(data.source) / "sub" / "file").read_bytes()
    for path in (target, target / "sub", target / "sub" / "file"):
        assert not path.stat().st_mode & 0o222
    before = (target / "sub" / "file").stat()
    staging.send(make(data), login)
    assert (target / "sub" / "file").stat() == before
    assert not left_over(login)


def test_several_at_once_make_one(make: Make, login: Login, data: Staged) -> None:
    records = [make(data) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda record: staging.send(record, login), records))
    assert [path.name for path in Path(data.target).parent.iterdir()] == [Path(data.target).name]


def test_a_connection_that_breaks_leaves_nothing_half(
    make: Make, login: Login, data: Staged, sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trees.archive

    def breaking(path: str, name: str) -> Iterator[bytes]:
        for index, part in enumerate(whole(path, name)):
            if index == 4:
                sshd.cut()
            yield part

    monkeypatch.setattr(trees, "archive", breaking)
    with pytest.raises(Refused, match="broke"):
        staging.send(make(data), login)
    assert not Path(data.target).exists()
    monkeypatch.setattr(trees, "archive", whole)
    staging.send(make(data), login)
    assert (Path(data.target) / "sub" / "file").stat().st_size == 2_000_000


def test_what_changed_since_it_was_planned_is_not_sent(make: Make, login: Login, data: Staged) -> None:
    record = make(data)
    (Path(data.source) / "sub" / "file").write_bytes(b"other")
    with pytest.raises(Refused, match="was changed while"):
        staging.send(record, login)
    assert not Path(data.target).exists()
    until(lambda: not left_over(login))


def test_a_home_that_cannot_be_is_said(make: Make, login: Login, data: Staged) -> None:
    Path(login.home).write_text("a file")
    for change in (
        lambda: staging.send(make(data), login),
        lambda: twin.prepare(make(), login, Submission()),
    ):
        with pytest.raises(Refused) as caught:
            change()
        assert "ssh.home" in str(caught.value)


def test_a_twin_has_what_the_script_reads_and_is_made_once(make: Make, login: Login) -> None:
    record = make(points=b"a\0b", **{"points.json": b"{}"})
    made = twin.prepare(record, login, Submission(secrets={"TOKEN": "x'\n"}))
    assert made.folder == Path(login.home) / "jobs" / "far" / record.tag
    names = {path.name for path in made.folder.iterdir()}
    assert names == {"script.sh", "points", "points.json", "logs", "work"}
    assert (made.folder / "points").read_bytes() == b"a\0b"
    assert made.folder.stat().st_mode & 0o777 == 0o700
    kept = secrets.path_of(made)
    assert kept.read_bytes() == b"TOKEN=x'\n\0"
    assert kept.stat().st_mode & 0o777 == 0o600
    (made.folder / "claim").symlink_to("17")
    twin.prepare(record, login, Submission(secrets={"TOKEN": "new"}))
    assert kept.read_bytes() == b"TOKEN=new\0"
    (made.folder / "chain").write_text("done 3 0\n")
    other = make()
    assert twin.bring_marks([record, other], login) == {
        record.tag: twin.Marks("17", "done 3 0", False),
        other.tag: twin.Marks("", "", False),
    }
    assert record.claimed_by() == "17"
    assert (record.folder / "chain").read_text() == "done 3 0\n"
    assert other.claimed_by() is None
    twin.forget_secrets([record], login)
    assert not kept.exists()
    assert not left_over(login)


def test_nobody_can_tell_while_an_earlier_sbatch_lives(make: Make, login: Login) -> None:
    record = make()
    made = twin.prepare(record, login, Submission())
    lock = made.folder / "sending"
    holder = subprocess.Popen(
        ["flock", str(lock), "sh", "-c", "echo; exec sleep 600"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert twin.bring_marks([record], login)[record.tag].is_sent
    finally:
        os.killpg(holder.pid, signal.SIGKILL)
        holder.communicate()
    assert not twin.bring_marks([record], login)[record.tag].is_sent


def test_a_log_is_brought_byte_for_byte_while_it_grows_and_connections_break(
    make: Make, login: Login, sshd: Sshd
) -> None:
    record = make()
    made = twin.prepare(record, login, Submission())
    content = random.Random(2).randbytes(6_000_000)
    done = threading.Event()

    def write() -> None:
        chance = random.Random(3)
        with made.log.open("ab") as log:
            start = 0
            while start < len(content):
                size = chance.randrange(1, 200_000)
                log.write(content[start : start + size])
                log.flush()
                start += size
                done.wait(0.02)
        done.set()

    def bring() -> None:
        while True:
            last = done.is_set()
            try:
                logs.bring(record, login)
            except SchedulerError:
                continue
            if last:
                return

    shown = io.BytesIO()

    def follow() -> None:
        reader = LogReader(record.log)
        while not done.wait(0.01):
            copy(reader, shown)
        while shown.tell() < len(content) and logged(record) <= len(content):
            copy(reader, shown)

    threads = [threading.Thread(target=target, daemon=True) for target in (write, bring, bring, follow)]
    for thread in threads:
        thread.start()
    for size in (1_000_000, 3_000_000):
        until(lambda least=size: logged(record) > least or done.is_set())
        sshd.cut()
    for thread in threads:
        thread.join(120)
    assert record.log.read_bytes() == content
    assert shown.getvalue() == content


def test_a_log_that_seems_shorter_is_left_and_others_beside_it_come_too(make: Make, login: Login) -> None:
    record = make()
    made = twin.prepare(record, login, Submission())
    logs.bring(record, login)
    assert not record.log.exists()
    for task in range(3):
        made.log_of(task).write_bytes(b"%d" % task * (task + 1))
    made.log.write_bytes(b"first\nsecond\n")
    logs.bring(record, login)
    assert record.log.read_bytes() == b"first\nsecond\n"
    assert [record.log_of(task).read_bytes() for task in range(3)] == [b"0", b"11", b"222"]
    made.log.write_bytes(b"first\n")
    logs.bring(record, login)
    assert record.log.read_bytes() == b"first\nsecond\n"
    made.log.write_bytes(b"first\nsecond\nthird")
    logs.bring(record, login)
    assert record.log.read_bytes() == b"first\nsecond\nthird"
    os.mkfifo(made.log_of(3))
    with pytest.raises(SchedulerError, match=r"the log output-3\.log on node is no regular file"):
        logs.bring(record, login)
    shutil.rmtree(made.folder)
    logs.bring(record, login)
    assert record.log.read_bytes() == b"first\nsecond\nthird"


def test_a_cluster_that_is_away_keeps_no_other_from_being_asked(make: Make, login: Login, sshd: Sshd) -> None:
    away, here = make(slurm=SlurmAccess(login=login)), make(scheduler="local")
    sshd.stop()
    heard: list[str] = []
    for order in ([away, here], [here, away]):
        known = lifecycle.refresh(order, heard.append)
        assert set(known) == {away.tag, here.tag}
    assert len(heard) == 2
    assert all("cannot be reached over SSH" in each for each in heard)
    sshd.start()


def test_a_node_that_is_away_is_said(make: Make, login: Login, sshd: Sshd) -> None:
    sshd.stop()
    away = structs.replace(login, home="/nowhere")
    for ask in (lambda: logs.bring(make(), away), lambda: twin.bring_marks([make()], away)):
        with pytest.raises(SchedulerError, match="cannot be reached over SSH"):
            ask()
    sshd.start()
