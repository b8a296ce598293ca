"""A secret's value is with the ranks, and nowhere else where anybody, or Slurm, could read it."""

import contextlib
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import waysto
import yaml
from accounts import dump
from command import hpclaunch
from realslurm import Slurm
from realsshd import serving
from waiting import until

from hpclaunch.sandbox.accounting import socket_path
from hpclaunch.sandbox.layout import at
from hpclaunch.sandbox.packages import slurm_version

VALUE = "s3cret-of-all-places"
MARK = "600.25"  # what the rank's own process has on its command line
TELLING = ("hpclaunch-webhook", "curl --silent")  # who tells of the start has the token in its environment


def test_a_value_is_in_no_file_process_or_answer_but_the_ranks(
    slurm_accounted: Slurm, tmp_path: Path
) -> None:
    hook = socket.create_server(("127.0.0.1", 0))  # it never answers, so who tells it can be looked at
    home = tmp_path / "home"
    env = {**slurm_accounted.env, "HPCLAUNCH_HOME": str(home), "TOKEN": VALUE}
    path = tmp_path / "job.yaml"
    job = {
        "version": 1,
        "name": "hidden",
        "command": [
            "sh",
            "-c",
            f'[ "$TOKEN" = {VALUE[:3]}"${{TOKEN#???}}" ] && touch {home}/up; sleep {MARK}',
        ],
        "nodes": 1,
        "ranks_per_node": 1,
        "gpus_per_node": 1,
        "time": 5,
        "secrets": ["TOKEN"],
        "requeue": True,
        "notify": {"webhook": f"http://127.0.0.1:{hook.getsockname()[1]}/", "token": "TOKEN", "start": True},
        "setup": [{"run": "true"}],
        "sweep": {"grid": {"env.LR": ["1", "2"]}},
    }
    path.write_text(yaml.safe_dump(job))
    done = hpclaunch("submit", path, "--site", slurm_accounted.site, env=env)
    assert done.returncode == 0, done.stderr
    number = done.stdout.strip()
    end = time.monotonic() + 60
    while not ((home / "up").exists() and len(ranks := list(holders())) >= 2):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert hook.accept()[0].recv(65536).find(VALUE.encode()) > 0
    assert not any(VALUE in words for words in ranks)
    assert [words for words in ranks if not any(mark in words for mark in (MARK, *TELLING))] == []

    assert VALUE not in told(slurm_accounted, number)
    (kept,) = (home / "secrets").iterdir()  # points may start again, so it stays until the last has ended
    assert kept.stat().st_mode & 0o077 == 0
    database, *others = folders_of(slurm_accounted)
    places = (database, *others, home)
    (tag,) = {path.name for path in home.glob("jobs/*/*-*") if path.is_dir()}
    until(lambda: tag in dump(slurm_accounted) and set(files_with(tag, database)))
    assert set(files_with(VALUE, *places)) == {kept}
    assert VALUE not in dump(slurm_accounted)

    assert hpclaunch("cancel", f"{slurm_accounted.name}/{number}", env=env).returncode == 0
    hpclaunch("wait", f"{slurm_accounted.name}/{number}", env=env)
    for words in (("list",), ("status", number), ("results", number), ("logs", f"{number}_1")):
        done = hpclaunch(*words, env={**env, "TOKEN": ""})
        assert VALUE not in done.stdout + done.stderr
    until(lambda: re.search(rf"CANCELLED.*hpclaunch:{tag}", accounts_of(slurm_accounted, number)))
    kept_there = dump(slurm_accounted)  # the script, its environment, the comment: all that can be kept
    assert (slurm_accounted.folder / "log" / "jobcomp.txt").exists()  # among those folders
    assert "#SBATCH" in kept_there
    assert "SLURM_SUBMIT_DIR" in kept_there
    assert VALUE not in kept_there
    assert list(files_with(VALUE, *places)) == []


@pytest.mark.parametrize("way", ["pyslurm", "rest", "ssh"])
def test_nor_where_another_way_sent_the_job(
    slurm_accounted: Slurm, way: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """pyslurm is the stand-in."""
    home = tmp_path / "home"
    env = {**os.environ, "HPCLAUNCH_HOME": str(home), "TOKEN": VALUE}
    with contextlib.ExitStack() as stack:
        more: dict[str, object] = {"slurm": {"via": way}}
        if way == "pyslurm":
            year, _, month = slurm_version().partition(".")
            packages = waysto.install_standin(tmp_path / "packages", f"{year}.{int(month)}.3")
            env["PYTHONPATH"] = str(packages)
        elif way == "rest":
            url, conf = f"unix:{tmp_path}/rest", slurm_accounted.slurm_conf
            stack.enter_context(waysto.slurmrestd(tmp_path / "log", conf, url, "rest_auth/local", {}))
            more = {"slurm": {"via": way, "rest": {"url": url}}}
        else:
            (tmp_path / "sshd").mkdir()
            sshd = stack.enter_context(serving(tmp_path / "sshd"))
            there = {"host": "node", "home": f"{tmp_path}/cluster", "config": f"{sshd.config}"}
            more = {"ssh": there}
            env = {name: env[name] for name in ("HPCLAUNCH_HOME", "TOKEN", "PATH")} | {"HOME": str(tmp_path)}
        site, job, up = tmp_path / "site.yaml", tmp_path / "work" / "job.yaml", tmp_path / "up"
        site.write_text(
            yaml.safe_dump({"version": 1, "name": "lab", "extends": str(slurm_accounted.site), **more})
        )
        check = f'[ "$TOKEN" = {VALUE[:3]}"${{TOKEN#???}}" ] && touch {up}; sleep {MARK}'
        size = {"nodes": 1, "ranks_per_node": 1, "gpus_per_node": 1, "time": 5}
        asked = {"version": 1, "name": "hidden", "command": ["sh", "-c", check], "secrets": ["TOKEN"], **size}
        job.parent.mkdir()
        job.write_text(yaml.safe_dump(asked))
        done = hpclaunch("submit", job, "--site", site, env=env)
        assert done.returncode == 0, done.stderr
        number = done.stdout.strip()
        request.addfinalizer(lambda: slurm_accounted.run("scancel", number))
        sent = json.loads(hpclaunch("status", number, "--json", env=env).stdout)
        assert sent["via"] == ("commands" if way == "ssh" else way)
        until(lambda: up.exists() and list(holders()))
        assert [words for words in holders() if MARK not in words or VALUE in words] == []
        assert VALUE not in told(slurm_accounted, number)
        (tag,) = {path.name for path in home.glob("jobs/*/*-*") if path.is_dir()}
        database, *others = folders_of(slurm_accounted)
        until(lambda: tag in dump(slurm_accounted) and set(files_with(tag, database)))
        places = (database, *others, tmp_path)
        assert list(files_with(VALUE, *places)) == []  # the rank alone has read it, and nobody else will
        assert VALUE not in dump(slurm_accounted)
        assert hpclaunch("cancel", number, env=env).returncode == 0
        hpclaunch("wait", number, env=env)
        for words in (("list",), ("status", number), ("logs", number)):
            done = hpclaunch(*words, env={**env, "TOKEN": ""})
            assert VALUE not in done.stdout + done.stderr
        until(lambda: re.search(rf"CANCELLED.*hpclaunch:{tag}", accounts_of(slurm_accounted, number)))
        assert VALUE not in dump(slurm_accounted)
        assert list(files_with(VALUE, *places)) == []


def told(slurm: Slurm, number: str) -> str:
    """What Slurm's commands tell of a job."""
    asked = [
        slurm.run(*words).stdout
        for words in (
            ("scontrol", "--details", "--details", "show", "job", number),
            ("scontrol", "write", "batch_script", number, "-"),
            ("squeue", "--Format=ALL"),
        )
    ]
    assert all(asked[:2])
    return "".join(asked)


def folders_of(slurm: Slurm) -> tuple[Path, ...]:
    """Where a Slurm that has a job writes: the accounts, the state of the controller, the nodes, the rest."""
    config = slurm.run("scontrol", "show", "config").stdout
    state = Path(re.findall(r"StateSaveLocation\s*= (.*)", config)[0])
    spool = Path(re.findall(r"SlurmdSpoolDir\s*= (.*)", config)[0].partition("%")[0])
    assert list(state.glob("hash.*/job.*/environment"))
    return socket_path(at(slurm.folder)).parent, state, spool, slurm.folder


def holders() -> Iterator[str]:
    """The words of the processes in whose words or environment the value is."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:  # it has ended since
            continue
        if VALUE.encode() in words + variables:
            yield words.replace(b"\0", b" ").decode("utf-8", "replace")


def accounts_of(slurm: Slurm, job_id: str) -> str:
    fields = "--format=State,Comment"
    return slurm.run("sacct", "--allocations", "--parsable2", f"--jobs={job_id}", fields).stdout


def files_with(text: str, *folders: Path) -> Iterator[Path]:
    for folder in folders:
        for path in folder.rglob("*"):
            try:
                found = path.is_file() and text.encode() in path.read_bytes()
            except OSError:  # a device, or it is gone
                continue
            if found:
                yield path
