"""Records on a real disk: found again, kept whole through a kill at any step, private."""

import json
import os
import resource
import shutil
import stat
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path

import pytest

from hpclaunch.records import index, secrets
from hpclaunch.records.lookup import all_records, find
from hpclaunch.records.record import Record
from hpclaunch.values.errors import HpclaunchError, InputError
from hpclaunch.values.job import JobStatus

FORK = get_context("fork")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def make(site: str = "alpha", directory: str = "/", argv: Sequence[str] = ("submit", "job.yaml")) -> Record:
    return Record.create(
        site=site,
        scheduler="slurm",
        name="train",
        script="#!/bin/bash\ntrue\n",
        plan=b'{"plan": 1}',
        job_yaml="name: train\n",
        site_yaml="name: alpha\n",
        directory=directory,
        argv=argv,
        scheduler_version="slurm 22.05.8",
    )


def test_a_record_is_found_by_job_id_by_site_and_id_and_by_tag() -> None:
    record = make()
    record.submitted("4711")
    for text in ("4711", "alpha/4711", record.tag, f"alpha/{record.tag}"):
        assert find(text) == record


def test_an_id_of_two_sites_is_an_error_that_lists_both() -> None:
    for site in ("alpha", "beta"):
        make(site).submitted("7")
    with pytest.raises(InputError, match="alpha/7 or beta/7"):
        find("7")
    assert find("beta/7").intent.site == "beta"


@pytest.mark.parametrize("text", ["8", "gamma/7", "../7", "alpha/../alpha/7", "", "/", "7\n", "%s", "ids"])
def test_an_unknown_id_is_wrong_input(text: str) -> None:
    make().submitted("7")
    with pytest.raises(InputError, match="no record of a job"):
        find(text)


def test_a_task_where_a_whole_job_is_wanted_is_said() -> None:
    make().submitted("7")
    with pytest.raises(InputError, match="7_1 is no task, since the job is no array: say 7"):
        find("7_1")
    array = make()
    intent = json.loads((array.folder / "intent.json").read_text())
    (array.folder / "intent.json").write_text(json.dumps({**intent, "tasks": 2}))
    array.submitted("8")
    with pytest.raises(InputError, match="8_1 is one task, and this is for whole jobs: say 8"):
        find("8_1")


def test_a_recycled_job_id_means_the_newest_job() -> None:
    make().submitted("7")
    newest = make()
    newest.submitted("7")
    assert find("7") == newest


@pytest.mark.parametrize("broken", ["missing", "dangling", "nonsense", "empty"])
def test_a_record_is_found_without_its_index(home: Path, broken: str) -> None:
    record = make()
    make()
    record.submitted("7")
    entry = home / "jobs/alpha/ids/7"
    texts = {"dangling": "00000000-0000-4000-8000-000000000000", "nonsense": "../../../etc", "empty": ""}
    if broken == "missing":
        entry.unlink()
    else:
        entry.write_text(texts[broken])
    assert find("7") == record


def test_records_are_listed_newest_first_and_a_damaged_one_hides_no_other(home: Path) -> None:
    older, damaged, newer = make(), make(), make("beta")
    (damaged.folder / "intent.json").write_text('{"tag": ')
    records, problems = all_records()
    assert records == [newer, older]
    assert len(problems) == 1
    assert str(damaged.folder) in problems[0]


@pytest.mark.parametrize("text", [b"", b"{", b'"\xff"', b'{"job_id": "\xff"}', b"[]", b'{"job_id": 7}'])
def test_a_damaged_state_is_said_by_the_name_of_its_file(text: bytes) -> None:
    record = make()
    file = record.folder / "state.json"
    file.write_bytes(text)
    with pytest.raises(HpclaunchError, match=r"state\.json cannot be read"):
        record.state()
    assert find(record.tag) == record
    file.unlink()
    assert record.state().job_id is None


@pytest.mark.parametrize("name", ["intent.json", "state.json"])
def test_a_fifo_in_a_record_keeps_nobody_waiting(name: str) -> None:
    record = make()
    file = record.folder / name
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    with pytest.raises(HpclaunchError, match=r"cannot be read: .* no regular file"):
        Record.read(record.folder).state()


def test_a_record_of_a_newer_form_is_refused_by_name() -> None:
    record = make()
    intent = json.loads((record.folder / "intent.json").read_text()) | {"schema": 99}
    (record.folder / "intent.json").write_text(json.dumps(intent))
    with pytest.raises(HpclaunchError, match="newer hpclaunch"):
        Record.read(record.folder)


def test_a_record_of_before_kubernetes_is_read(home: Path) -> None:
    made = make()
    made.submitted("17")
    for name, newer in (("intent.json", "cluster"), ("state.json", "cancelled")):
        content = json.loads((made.folder / name).read_text())
        content.pop(newer, None)
        (made.folder / name).write_text(json.dumps(content))
    read = find("alpha/17")
    assert (read.intent, read.script) == (made.intent, made.folder / "script.sh")
    assert not read.state().cancelled


def test_nobody_else_can_look_into_a_record(home: Path) -> None:
    record = make()
    record.submitted("7")
    secrets.write(record, {"TOKEN": "x"})
    for path in [home, *home.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_secrets_stay_outside_the_record_and_keep_every_byte(home: Path) -> None:
    record = make()
    values = {"A": "line\nline $x 'q' \"d\" `b` \\", "B": "", "C": "grün=ja"}
    path = secrets.write(record, values)
    pairs = [pair.split("=", 1) for pair in path.read_bytes().decode().split("\0")[:-1]]
    assert dict(pairs) == values
    assert record.folder not in path.parents
    secrets.remove(record)
    secrets.remove(record)
    assert not path.exists()


def test_a_disk_that_is_full_keeps_no_part_of_a_secret(home: Path) -> None:
    record = make()
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, kept[1]))
    try:
        with pytest.raises(HpclaunchError, match="secrets cannot be written"):
            secrets.write(record, {"TOKEN": "0123456789"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)
    assert list((home / "secrets").iterdir()) == []


def test_an_intent_holds_the_folders_and_words_that_are_not_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record = make(directory="/jobs", argv=["submit", os.fsdecode(b"\xff.yaml")])
    intent = Record.read(record.folder).intent
    assert (intent.directory, intent.cwd) == ("/jobs", str(tmp_path))
    assert intent.argv == ("submit", "\\xff.yaml")


def test_a_status_asked_for_earlier_does_not_replace_a_later_one() -> None:
    record = make()
    record.submitted("7")
    record.update(JobStatus("COMPLETED", exit_code=0), checked=200.0)
    record.update(JobStatus("RUNNING"), checked=100.0)
    state = Record.read(record.folder).state()
    assert state.status == JobStatus("COMPLETED", exit_code=0)
    assert state.job_id == "7"


def test_a_status_in_place_of_one_that_has_changed_meanwhile_is_dropped() -> None:
    """A supervisor takes the time of its note before it can write it."""
    record = make()
    record.update(JobStatus("RUNNING"), checked=100.0)
    seen = record.state()
    record.update(JobStatus("FAILED", exit_code=7), checked=101.0)
    record.update(JobStatus("RUNNING", nodes="n1"), checked=102.0, instead_of=seen)
    assert record.state().status == JobStatus("FAILED", exit_code=7)
    record.update(JobStatus("COMPLETED"), checked=103.0, instead_of=record.state())
    assert record.state().status == JobStatus("COMPLETED")


@pytest.mark.parametrize("site", ["a/b", "..", ".hidden", "", "a b"])
def test_a_site_name_that_is_no_folder_name_is_refused(site: str, home: Path) -> None:
    with pytest.raises(HpclaunchError, match="cannot be the name of a site"):
        make(site)
    assert not home.exists()


def test_a_home_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "file"))
    with pytest.raises(HpclaunchError, match="HPCLAUNCH_HOME"):
        make()


def test_what_a_killed_submission_left_is_cleared_away_after_a_day(home: Path) -> None:
    old, fresh = home / "jobs/alpha/.new-old", home / "jobs/alpha/.new-fresh"
    for left in (old, fresh):
        (left / "logs").mkdir(parents=True)
        (left / "intent.json").write_text("{}")
    os.utime(old, (0, 0))
    make()
    assert not old.exists()
    assert fresh.exists()


def allocate_many(site_folder: Path, count: int) -> None:
    for _ in range(count):
        index.allocate(site_folder, "tag")


def test_numbers_given_out_at_the_same_time_differ(tmp_path: Path) -> None:
    workers = [FORK.Process(target=allocate_many, args=(tmp_path, 20)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(int(path.name) for path in (tmp_path / "ids").iterdir()) == list(range(1, 81))


STEPS = ("mkdir", "open", "write", "fsync", "rename", "replace")


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """Runs `work` in a process that dies, as by kill -9, just before its `step`-th change to the disk.
    False where it got to the end first."""
    child = os.fork()
    if child == 0:
        left = step
        for name in STEPS:
            real = getattr(os, name)

            def counted(*arguments: object, real: Callable[..., object] = real, **named: object) -> object:
                nonlocal left
                left -= 1
                if left == 0:
                    os._exit(9)
                return real(*arguments, **named)

            setattr(os, name, counted)
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_a_kill_at_any_step_leaves_records_that_can_be_read(home: Path) -> None:
    def whole_life() -> None:
        record = make()
        record.submitted("7")
        record.update(JobStatus("RUNNING"))

    seen = set()
    step = 1
    while killed_at(step, whole_life):
        records, problems = all_records()
        assert not problems
        assert len(records) <= 1
        for record in records:
            state = record.state()
            seen.add((state.job_id, state.status and state.status.state))
            assert find(record.tag) == record
            assert (record.folder / "script.sh").read_text() == "#!/bin/bash\ntrue\n"
            if state.job_id:
                assert find("7") == record
        if not records:
            seen.add("no record")
        shutil.rmtree(home, ignore_errors=True)
        step += 1
    assert seen == {"no record", (None, None), ("7", None), ("7", "RUNNING")}


def test_after_a_power_cut_the_first_record_has_all_its_folders(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk keeps a name in a folder when the folder was synced since."""
    lost: set[Path] = set()
    mkdir, fsync, replace = os.mkdir, os.fsync, os.replace

    def made(path: Path, *more: int) -> None:
        mkdir(path, *more)
        lost.add(Path(path))

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        folder = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        lost.difference_update([path for path in lost if path.parent == folder])

    def moved(source: Path, target: Path) -> None:
        replace(source, target)
        lost.discard(Path(source))
        lost.add(Path(target))

    for name, instead in (("mkdir", made), ("fsync", synced), ("replace", moved)):
        monkeypatch.setattr(os, name, instead)
    record = make()
    assert not lost & {record.folder, *record.folder.parents}
