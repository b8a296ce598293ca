"""A shell on nodes as a job would get, under the real Slurm."""

import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from realslurm import Slurm
from waiting import until

from hpclaunch.sandbox.recorded import pyxis

STRANGE = "a $b `c`\n\t'\"\\ é $(d)"
WORDS = ["a b", "$c", ":", "", "it's"]


def shell(slurm: Slurm, folder: Path, *words: str, **job: Any) -> Any:
    full = {"name": "shell", "nodes": 2, "time": 5, "env": {"STRANGE": STRANGE}, "command": "never"} | job
    (folder / "job.yaml").write_text(yaml.safe_dump(full))
    env = {**slurm.env, "TOKEN": "geheim", "SLURM_CPU_BIND": "map_cpu:999", "SALLOC_PARTITION": "nowhere"}
    return hpclaunch("shell", folder / "job.yaml", "--site", slurm.site, *words, env=env)


def test_a_command_has_the_jobs_nodes_environment_and_secrets(slurm_a100: Slurm, tmp_path: Path) -> None:
    look = (
        "echo $TOKEN; echo $SLURM_JOB_NUM_NODES $SLURM_NTASKS; pwd; "
        'echo $MASTER_ADDR $WORLD_SIZE ${NCCL_IB_HCA#=} $UCX_NET_DEVICES; printf \'%s\\0\' "$STRANGE" "$@"; '
        "for each in /proc/[0-9]*; do tr '\\0' ' ' <$each/cmdline; done; "
        "scontrol show job $SLURM_JOB_ID; exit 7"
    )
    done = shell(
        *(slurm_a100, tmp_path, "--", "/bin/sh", "-c", look, "x", *WORDS),
        secrets=["TOKEN"],
        workdir="/usr",
        rendezvous="torch",
    )
    assert done.returncode == 7, done.stderr
    secret, size, where, launch, rest = done.stdout.split("\n", 4)
    assert (secret, size, where) == ("geheim", "2 1", "/usr")
    master, world, nccl, ucx = launch.split()
    assert (master, world, nccl) == ("dgx1", "1", ucx)
    assert len(ucx.split(",")) == 8
    *values, shown = rest.split("\0", len(WORDS) + 1)
    assert values == [STRANGE, *WORDS]
    assert "JobName=shell" in shown
    assert "geheim" not in shown


def test_it_is_in_the_jobs_container(slurm_a100: Slurm, tmp_path: Path) -> None:
    more = {
        "image": "nvcr.io/nvidia/mxnet:21.09-py3",
        "mounts": ["/tmp:/data:ro"],
        "container": {"save": "./x.sqsh"},
    }
    done = shell(slurm_a100, tmp_path, "--", "/bin/sh", "-c", "echo $SLURM_JOB_ID", **more)
    assert done.returncode == 0, done.stderr
    text = str(pyxis(slurm_a100.folder, int(done.stdout)))
    assert "nvcr.io#nvidia/mxnet:21.09-py3" in text
    assert "/tmp:/data:ro" in text
    assert "x.sqsh" not in text


def test_it_ends_when_nobody_reads_any_more(slurm_a100: Slurm, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump({"name": "unread", "nodes": 1, "command": "never"}))
    words = [sys.executable, "-m", "hpclaunch", "shell", tmp_path / "job.yaml", "--site", slurm_a100.site]
    told = ["--", "sh", "-c", "echo up; exec sleep 300"]
    done = slurm_a100.run("bash", "-c", '"$@" | head -n 1', "bash", *words, *told)  # in far less than 300 s
    assert done.stdout == "up\n", done.stderr
    until(lambda: not slurm_a100.run("squeue", "--noheader", "--name=unread").stdout)


def test_what_slurm_refuses_is_no_status_of_the_command(slurm_a100: Slurm, tmp_path: Path) -> None:
    site = yaml.safe_load(slurm_a100.site.read_text())["name"]
    refused = shell(slurm_a100, tmp_path, "--", "true", sites={site: {"partition": "nowhere"}})
    assert refused.returncode == 3, refused.stderr
    assert shell(slurm_a100, tmp_path, "--", "sh", "-c", "exit 1").returncode == 1


def test_without_a_command_it_is_a_shell(
    slurm_a100: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.yaml").write_text("name: shell\nnodes: 1\ntime: 5\ncommand: never\n")
    monkeypatch.setenv("SLURM_CONF", str(slurm_a100.slurm_conf))
    seen = b""

    def read(descriptor: int) -> bytes:
        nonlocal seen
        data = os.read(descriptor, 1024)
        if b"exit 9" not in seen and (b"#" in data or b"$ " in data):  # its prompt
            os.write(descriptor, b"test -t 0 && echo tty-$((40 + 2)); exit 9\n")
        seen += data
        return data

    command = [
        sys.executable,
        "-m",
        "hpclaunch",
        "shell",
        str(tmp_path / "job.yaml"),
        "--site",
        str(slurm_a100.site),
    ]
    status = pty.spawn(command, read, lambda descriptor: b"")
    assert os.waitstatus_to_exitcode(status) == 9, seen
    assert b"tty-42" in seen


def test_other_sites_refuse(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("name: a\nnodes: 1\ncommand: x\n")
    done = hpclaunch("shell", tmp_path / "job.yaml", "--site", "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert "local is of local" in done.stderr
