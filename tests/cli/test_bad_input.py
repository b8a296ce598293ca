"""Whatever is wrong with the input ends with exit 2, says where and what, and leaves nothing behind."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command import hpclaunch

GOOD: dict[str, Any] = {
    "version": 1,
    "name": "good",
    "image": "nvcr.io/nvidia/pytorch:24.07-py3",
    "command": ["python", "train.py"],
    "nodes": 2,
    "mpi": "pmix",
}


def bare(*words: str | Path, home: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """hpclaunch with no Slurm to be found: nothing that is wrong may come as far as asking for one."""
    env = {"PATH": "/nonexistent", "HPCLAUNCH_HOME": str(home), "HOME": str(home)}
    return hpclaunch(*words, env=env, cwd=cwd)


def assert_refused(result: subprocess.CompletedProcess[str], home: Path, *words: str) -> None:
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert list(home.rglob("*")) == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def submit(tmp_path: Path, home: Path, change: dict[str, Any], site: str = "superpod-a100") -> Any:
    lines = [f"{key}: {json.dumps(value)}\n" for key, value in (GOOD | change).items()]
    (tmp_path / "job.yaml").write_text("".join(lines))
    return bare("submit", "job.yaml", "--site", site, home=home, cwd=tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nmae": "x"}, ["job.yaml:7:1", "nmae", "'name'"]),
        ({"nodes": "two"}, ["job.yaml:5:8", "nodes"]),
        ({"nodes": 0}, ["job.yaml:5:8"]),
        ({"nodes": 141}, ["job.yaml:5:8", "141", "140"]),
        ({"gpus_per_node": 9}, ["job.yaml:7:16", "9", "dgx-a100", "8"]),
        ({"command": []}, ["job.yaml:4:10", "empty"]),
        ({"command": ""}, ["job.yaml:4:10", "empty"]),
        ({"image": "podman://pytorch"}, ["job.yaml:3:8", "podman://", "docker://"]),
        ({"image": "NVCR.io/Upper case"}, ["job.yaml:3:8"]),
        ({"mounts": ["imagnet:/data"]}, ["job.yaml:7:10", "imagnet", "imagenet"]),
        ({"mounts": [{"source": "/a,b", "target": "/data"}]}, ["job.yaml:7:10", "/a,b", "symbolic link"]),
        ({"mounts": [{"source": "/a:b", "target": "/data"}]}, ["/a:b", "symbolic link"]),
        ({"mounts": ["/a:/data", "/b:/data"]}, ["two mounts", "/data"]),
        ({"mpi": "openmpi"}, ["job.yaml:6:6", "pmix", "pmi2", "none"]),
        ({"env": {"UID": "5"}}, ["UID"]),
        ({"env": {"A-B": "5"}}, ["A-B"]),
        ({"env": {"HUGE": "x" * 200_000}}, ["job.yaml:7:15", "HUGE", "131,071"]),
        ({"bind": {"cpus": ["0"] * 8, "memory": ["9"] * 8}}, ["NUMA nodes", "0-7"]),
        ({"bind": {"hcas": ["mlx5_4"] * 8}}, ["mlx5_4", "mlx5_9"]),
        ({"ranks_per_node": 300}, ["300", "256"]),
        ({"secrets": ["WANDB_API_KEY"]}, ["WANDB_API_KEY", "not set"]),
        ({"inherit": ["LD_PRELOAD"]}, ["LD_PRELOAD"]),
        ({"sites": {"superpod-a100": {"srun": ["--container-unshare=net"]}}}, ["0.24.0", "0.20.0"]),
        ({"sites": {"superpod-a100": {"sbatch": ["--segment=4"]}}}, ["24.05", "22.05"]),
        ({"sites": {"superpod-a100": {"sbatch": ["--container-image=x"]}}}, ["srun"]),
        ({"sites": {"superpod-a100": {"srun": ["-c16"]}}}, ["long form"]),
        ({"sites": {"superpod-a100": {"srun": ["exclusive"]}}}, ["no option"]),
        ({"sites": {"superpod-a100": {"sbatch": ["--switches 1"]}}}, ["one word"]),
        ({"sites": {"superpod-a100": {"sbatch": ["--comment=mine"]}}}, ["--comment", "hpclaunch's own"]),
        ({"sites": {"superpod-a100": {"srun": ["--container-image=x"]}}}, ["job's own keys"]),
        ({"sites": {"superpod-a100": {"srun": ["--exac"]}}}, ["mask"]),
        ({"sites": {"superpod-a100": {"srun": ["-vc4"]}}}, ["long form"]),
        ({"sites": {"superpod-a100": {"srun": ["--"]}}}, ["long form"]),
        ({"sites": {"superpod-a100": {"srun": ["-h"]}}}, ["starting"]),
        ({"sites": {"superpod-a100": {"srun": ["--ntasks=3"]}}}, ["job's own keys"]),
        ({"sites": {"superpod-a100": {"sbatch": ["--array=1-3"]}}}, ["--array"]),
        ({"secrets": ["LD_PRELOAD"]}, ["LD_PRELOAD", "secret"]),
        ({"env": {"hl_numactl": "x"}}, ["hl_numactl", "wrapper"]),
        ({"command": ["x", "y" * 200_000]}, ["job.yaml:4:10", "word 1", "131,071"]),
        ({"gpus_per_node": 4, "bind": {"cpus": ["0"] * 4}}, ["whole nodes"]),
        ({"image": "~/x.sqsh"}, ["~"]),
        ({"workdir": "~/x"}, ["~"]),
        ({"image": None, "mounts": ["/a:/b"]}, ["mounts", "image"]),
        ({"image": None, "workdir": "new\nline"}, ["job.yaml:7:10", "line break"]),
        ({"time": "99:99:99:99"}, ["job.yaml:7:7", "time"]),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_a_job_that_cannot_be(tmp_path: Path, home: Path, change: dict[str, Any], words: list[str]) -> None:
    assert_refused(submit(tmp_path, home, change), home, *words)


def test_all_problems_at_once(tmp_path: Path, home: Path) -> None:
    result = submit(
        tmp_path,
        home,
        {"nodes": 999, "mounts": ["nowhere:/x"], "inherit": ["LD_PRELOAD"], "mpi": "pmi2"},
        site="superpod-h100",
    )
    assert_refused(result, home, "999", "nowhere", "LD_PRELOAD", "pmi2")
    assert len(result.stderr.splitlines()) == 4


def test_an_option_newer_than_the_sites_pyxis(tmp_path: Path, home: Path) -> None:
    site = tmp_path / "old.yaml"
    site.write_text("extends: superpod-a100\nversion: 1\nname: old\nslurm: {pyxis: '0.11.1'}\n")
    result = submit(tmp_path, home, {"container": {"env": ["A"], "save": "/x.sqsh"}}, site=str(site))
    assert_refused(result, home, "--container-env", "0.15.0", "0.11.1")


# Each line stands for ten of the one before it, so the last for a billion.
LAUGHS = b"sites:\n  a0: &a0 {account: x}\n" + b"".join(
    b"  a%d: &a%d {<<: [%s]}\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00", ["UTF-"]),
        (b"name: \xe9\n", ["UTF-8"]),
        (b"", ["empty"]),
        (b"x: " + b"y" * 10_000_000, ["too large", "1,048,576"]),
        (LAUGHS, ["merges (<<) expand to more than 100,000 keys"]),
        (b"\tname: x\n", ["tab"]),
        (b"name: [1, 2\n", ["job.yaml:2:1", "not closed"]),
    ],
    ids=["utf-16", "latin-1", "empty", "10 MB", "a billion laughs", "tab", "unclosed"],
)
def test_a_file_that_is_no_job(tmp_path: Path, home: Path, content: bytes, words: list[str]) -> None:
    (tmp_path / "job.yaml").write_bytes(content)
    result = bare("submit", "job.yaml", "--site", "superpod-a100", home=home, cwd=tmp_path)
    assert_refused(result, home, "job.yaml", *words)
    assert len(result.stderr) < 4000


def test_files_that_cannot_be_read(tmp_path: Path, home: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing.yaml", "folder", "pipe"):
        result = bare("submit", name, "--site", "superpod-a100", home=home, cwd=tmp_path)
        assert_refused(result, home, name)


def test_a_site_that_is_not_known(tmp_path: Path, home: Path) -> None:
    assert_refused(submit(tmp_path, home, {}, site="superpod-a10"), home, "superpod-a10", "'superpod-a100'")


def test_where_it_goes_must_be_said(tmp_path: Path, home: Path) -> None:
    (tmp_path / "job.yaml").write_text(json.dumps(GOOD))
    assert_refused(bare("submit", "job.yaml", home=home, cwd=tmp_path), home, "--site")
    both = bare("submit", "job.yaml", "--local", "--site", "x", home=home, cwd=tmp_path)
    assert_refused(both, home, "--local")


def test_no_slurm_is_exit_3_with_advice(tmp_path: Path, home: Path) -> None:
    result = submit(tmp_path, home, {})
    assert result.returncode == 3
    assert "sbatch" in result.stderr
    assert result.stdout == ""
    assert list(home.rglob("*")) == []
