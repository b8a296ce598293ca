"""What a dry run says beside the script: commands of a few lines stand in for sbatch."""

import os
import subprocess
from pathlib import Path

import pytest
from command import hpclaunch

JOB = """\
version: 1
name: dry
command: [train]
nodes: 2
time: 30m
"""
START = "sbatch: Job 9 to start at 2026-01-02T03:04:05 using 512 processors on nodes a[1-2] in partition gpu"


def dry_run(
    folder: Path, sbatch: str | None, *words: str, job: str = JOB, site: str | Path = "superpod-a100"
) -> "subprocess.CompletedProcess[str]":
    (folder / "job.yaml").write_text(job)
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    if sbatch is not None:
        (programs / "sbatch").write_text(f"#!/bin/sh\n{sbatch}\n")
        (programs / "sbatch").chmod(0o700)
    env = {**os.environ, "HPCLAUNCH_HOME": str(folder / "home"), "TZ": "UTC"}
    env["PATH"] = f"{programs}:/bin" if sbatch is not None else str(programs)
    where = ("--site", site, "--dry-run")
    done = hpclaunch("submit", "job.yaml", *where, *words, cwd=folder, env=env)
    assert not (folder / "home").exists()
    return done


def test_the_script_alone_is_on_standard_output(tmp_path: Path) -> None:
    done = dry_run(tmp_path, f'[ "$1" = --test-only ] && cp "$2" {tmp_path}/seen && echo "{START}" >&2')
    assert done.returncode == 0, done.stderr
    rendered = hpclaunch("render", "job.yaml", "--site", "superpod-a100", cwd=tmp_path)
    assert done.stdout == rendered.stdout == (tmp_path / "seen").read_text()
    assert "2 nodes with 8 GPUs each, for at most 00:30:00: 8.0 GPU-hours" in done.stderr
    assert "would start it at 2026-01-02 03:04:05 on a[1-2] in partition gpu" in done.stderr


@pytest.mark.parametrize(
    ("sbatch", "said"),
    [
        (None, "sbatch is not on the PATH"),
        ("echo 'sbatch: error: Unable to contact slurm controller' >&2; exit 1", "Unable to contact"),
        ("echo 'sbatch: error: Unable to open file' >&2; exit 1", "Unable to open file"),
        ("kill -9 $$", "Slurm was not asked"),
        ("echo 'something new'", "something new"),
    ],
)
def test_where_no_slurm_answers_the_script_is_printed_all_the_same(
    tmp_path: Path, sbatch: str | None, said: str
) -> None:
    done = dry_run(tmp_path, sbatch)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("#!/bin/bash")
    assert said in done.stderr


def test_what_slurm_refuses_is_an_error(tmp_path: Path) -> None:
    said = "allocation failure: Requested node configuration is not available"
    done = dry_run(tmp_path, f"echo '{said}' >&2; exit 1")
    assert done.returncode == 3
    assert done.stdout.startswith("#!/bin/bash")
    assert said in done.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "sweep: {grid: {env.LR: [1, 2, 3]}}\n",
            "3 runs, 2 nodes with 8 GPUs each, for at most 00:30:00: 24.0",
        ),
        ("sweep: {grid: {nodes: [1, 2]}}\n", "2 runs, of unlike size, for at most 00:30:00: 12.0"),
        ("chain: 5\n", "5 runs, 2 nodes with 8 GPUs each, for at most 00:30:00: 40.0"),
        ("gpus_per_node: 0\n", "2 nodes without GPUs, for at most 00:30:00: 0.0 GPU-hours"),
    ],
)
def test_hours_of_several_runs(tmp_path: Path, more: str, said: str) -> None:
    done = dry_run(tmp_path, f"echo '{START}' >&2", job=JOB + more)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr


def test_without_a_time_limit_nobody_knows_the_hours(tmp_path: Path) -> None:
    done = dry_run(tmp_path, None, job=JOB.replace("time: 30m\n", ""))
    assert "its GPU-hours are not known" in done.stderr


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (
            "{gpu_hours: 5000, nodes: 64, time: 1-12:00:00}",
            "8.0 GPU-hours (the site lets a run have at most 64 nodes, 1-12:00:00, 5,000 GPU-hours)",
        ),
        ("{nodes: 2}", "8.0 GPU-hours (the site lets a run have at most 2 nodes)"),
        ("{}", "8.0 GPU-hours\n"),
    ],
)
def test_the_site_s_ceiling_stands_beside_what_is_asked_for(tmp_path: Path, limits: str, said: str) -> None:
    site = tmp_path / "limited.yaml"
    site.write_text(f"version: 1\nname: s\nextends: superpod-a100\nlimits: {limits}\n")
    done = dry_run(tmp_path, f"echo '{START}' >&2", site=site)
    assert done.returncode == 0, done.stderr
    assert said in done.stderr
