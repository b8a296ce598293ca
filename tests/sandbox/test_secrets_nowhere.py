"""A secret's value is with the ranks, and nowhere else where anybody, or Slurm, could read it."""

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import yaml
from command import hpclaunch
from realslurm import Slurm

VALUE = "s3cret-of-all-places"
MARK = "600.25"  # what the rank's own process has on its command line
TELLING = ("hpclaunch-webhook", "curl --silent")  # who tells of the start has the token in its environment


def test_a_value_is_in_no_file_process_or_answer_but_the_ranks(slurm_a100: Slurm, tmp_path: Path) -> None:
    hook = socket.create_server(("127.0.0.1", 0))  # it never answers, so who tells it can be looked at
    home = tmp_path / "home"
    env = {**slurm_a100.env, "HPCLAUNCH_HOME": str(home), "TOKEN": VALUE}
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
    done = hpclaunch("submit", path, "--site", slurm_a100.site, env=env)
    assert done.returncode == 0, done.stderr
    number = done.stdout.strip()
    end = time.monotonic() + 60
    while not ((home / "up").exists() and len(ranks := list(holders())) >= 2):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert hook.accept()[0].recv(65536).find(VALUE.encode()) > 0
    assert not any(VALUE in words for words in ranks)
    assert [words for words in ranks if not any(mark in words for mark in (MARK, *TELLING))] == []

    asked = [
        slurm_a100.run(*words).stdout
        for words in (
            ("scontrol", "--details", "--details", "show", "job", number),
            ("scontrol", "write", "batch_script", number, "-"),
            ("squeue", "--Format=ALL"),
        )
    ]
    assert all(asked[:2])
    assert VALUE not in "".join(asked)
    config = slurm_a100.run("scontrol", "show", "config").stdout
    state = Path(re.findall(r"StateSaveLocation\s*= (.*)", config)[0])
    spool = Path(re.findall(r"SlurmdSpoolDir\s*= (.*)", config)[0].partition("%")[0])
    assert list(state.glob("hash.*/job.*/environment"))
    (kept,) = (home / "secrets").iterdir()  # points may start again, so it stays until the last has ended
    assert kept.stat().st_mode & 0o077 == 0
    assert set(files_with_it(state, spool, slurm_a100.folder, home)) == {kept}

    assert hpclaunch("cancel", f"a100/{number}", env=env).returncode == 0
    hpclaunch("wait", f"a100/{number}", env=env)
    for words in (("list",), ("status", number), ("results", number), ("logs", f"{number}_1")):
        done = hpclaunch(*words, env={**env, "TOKEN": ""})
        assert VALUE not in done.stdout + done.stderr
    assert (slurm_a100.folder / "log" / "jobcomp.txt").exists()  # its accounting
    assert list(files_with_it(state, spool, slurm_a100.folder, home)) == []


def holders() -> Iterator[str]:
    """The words of the processes in whose words or environment the value is."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, variables = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:  # it has ended since
            continue
        if VALUE.encode() in words + variables:
            yield words.replace(b"\0", b" ").decode("utf-8", "replace")


def files_with_it(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        for path in folder.rglob("*"):
            try:
                found = path.is_file() and VALUE.encode() in path.read_bytes()
            except OSError:  # a device, or it is gone
                continue
            if found:
                yield path
