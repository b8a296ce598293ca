"""Commands within a job that runs, under the real Slurm: beside which rank, with what, and how they end."""

import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from msgspec import Struct
from realslurm import Slurm
from waiting import until

STRANGE = "a $b `c`\n\t'\"\\ é $(d) \\n"
WORDS = ["a b", "$c", ":", "", "=", "--", "it's\n", "é"]
# What a container of Enroot is to the kernel: a user and file systems that no other process has.
BOXED = (
    "exec unshare --user --map-root-user --mount sh -c "
    "'mount -t tmpfs none /mnt && echo $SLURM_PROCID >/mnt/rank; touch {up}; exec sleep 300'"
)


class Running(Struct, frozen=True):
    """A job that runs. Each of its ranks has left its environment in `folder`."""

    number: str
    folder: Path
    env: dict[str, str]

    def exec(self, *words: str, **more: Any) -> Any:
        return hpclaunch("exec", self.number, *words, env=self.env, **more)


@pytest.fixture(scope="module")
def job(slurm_a100: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("exec")
    folder.chmod(0o777)
    command = f"cat /proc/self/environ >{folder}/env.$SLURM_PROCID; " + BOXED.format(
        up=f"{folder}/up.$SLURM_PROCID"
    )
    with_job = {
        "name": "inner",
        "nodes": 2,
        "ranks_per_node": 2,
        "gpus_per_node": 2,
        "time": 10,
        "mpi": "pmix",
        "workdir": str(folder),
        "env": {"STRANGE": STRANGE, "EMPTY": ""},
        "secrets": ["TOKEN"],
        "command": command,
    }
    (folder / "job.yaml").write_text(yaml.safe_dump(with_job))
    env = {**slurm_a100.env, "HPCLAUNCH_HOME": str(slurm_a100.folder / "home"), "TOKEN": "geheim"}
    done = hpclaunch("submit", folder / "job.yaml", "--site", slurm_a100.site, env=env)
    number = f"a100/{done.stdout.strip()}"
    try:
        until(lambda: len(list(folder.glob("up.*"))) == 4)
        yield Running(number, folder, env)
    finally:
        hpclaunch("cancel", number, env=env)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_command_is_where_the_rank_is_and_has_what_it_has(job: Running, rank: int) -> None:
    words = 'shift; for word; do printf "%s\\0" "$word"; done'
    script = f'cat /mnt/rank; pwd; echo "$SLURMD_NODENAME"; {words}; cat /proc/$$/environ'
    done = job.exec("--rank", str(rank), "--", "sh", "-c", script, "x", "y", *WORDS, text=False)
    assert done.returncode == 0, done.stderr
    where, rest = done.stdout.split(b"\n", 3)[:3], done.stdout.split(b"\n", 3)[3]
    assert where == [str(rank).encode(), os.fsencode(job.folder), f"dgx{rank // 2 + 1}".encode()]
    *found, _ = rest.split(b"\0")
    assert [os.fsdecode(word) for word in found[: len(WORDS)]] == WORDS
    own = {line.partition(b"=")[0]: line for line in found[len(WORDS) :]}
    ranks = (job.folder / f"env.{rank}").read_bytes().split(b"\0")[:-1]
    shells = {b"PWD", b"OLDPWD", b"SHLVL", b"_"}
    expected = {line.partition(b"=")[0]: line for line in ranks if not line.startswith((b"PMIX_", b"PMI_"))}
    assert {name: line for name, line in own.items() if name not in shells} == {
        name: line for name, line in expected.items() if name not in shells
    }
    assert own[b"STRANGE"] == b"STRANGE=" + STRANGE.encode()
    assert own[b"TOKEN"] == b"TOKEN=geheim"


def test_input_goes_in_and_the_exit_status_comes_back(job: Running) -> None:
    done = job.exec("--", "sh", "-c", "cat; exit 7", input="from here\n")
    assert (done.returncode, done.stdout) == (7, "from here\n")
    assert job.exec("--", "sh", "-c", "kill -9 $$").returncode == 137
    assert job.exec("--", "no-such-command").returncode == 127


def test_no_process_shows_a_secret(job: Running) -> None:
    look = "for each in /proc/[0-9]*; do tr '\\0' ' ' <$each/cmdline; echo; done"
    done = job.exec("--", "sh", "-c", look)
    assert "hpclaunch-inside" in done.stdout or "sh -c" in done.stdout
    assert "geheim" not in done.stdout


def test_on_a_terminal_the_command_has_one(job: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in job.env.items():
        monkeypatch.setenv(name, value)
    seen = b""

    def read(descriptor: int) -> bytes:
        nonlocal seen
        data = os.read(descriptor, 1024)
        seen += data
        return data

    script = "tty; test -t 0 && test -t 1; exit $((7 + $?))"
    command = [sys.executable, "-m", "hpclaunch", "exec", job.number, "--", "sh", "-c", script]
    status = pty.spawn(command, read, lambda descriptor: b"")
    assert os.waitstatus_to_exitcode(status) == 7, seen
    assert b"/dev/pts/" in seen


def test_what_cannot_be_is_said(job: Running, slurm_a100: Slurm, tmp_path: Path) -> None:
    done = job.exec("--rank", "4", "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert "has the ranks 0 to 3, and no 4" in done.stderr
    (tmp_path / "job.yaml").write_text(
        "name: short\ncommand: 'true'\nnodes: 1\nranks_per_node: 1\ngpus_per_node: 1\n"
    )
    sent = hpclaunch("submit", tmp_path / "job.yaml", "--site", slurm_a100.site, "--wait", env=job.env)
    done = hpclaunch("exec", f"a100/{sent.stdout.strip()}", "--", "true", env=job.env)
    assert done.returncode == 2
    assert "does not run" in done.stderr
