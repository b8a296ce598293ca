"""The stand-in for Pyxis: which options exist, what it refuses, and what it records."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from realslurm import Slurm

from hpclaunch.sandbox.recorded import Given, pyxis

# As each release registers them (args.c at the git tags v0.11.1 and v0.24.0).
OF_0_11 = {
    "container-entrypoint",
    "container-image",
    "container-mount-home",
    "container-mounts",
    "container-name",
    "container-readonly",
    "container-remap-root",
    "container-save",
    "container-workdir",
    "container-writable",
    "no-container-entrypoint",
    "no-container-mount-home",
    "no-container-remap-root",
}
OF_0_20 = OF_0_11 | {"container-env", "container-entrypoint-log"}
OF_0_24 = OF_0_20 | {"container-unshare"}


@pytest.fixture(scope="module")
def old(start_slurm: Callable[..., Slurm]) -> Slurm:
    return start_slurm("--nodes", "1", "--pyxis", "0.11.1", "--name", "old")


@pytest.fixture(scope="module")
def new(start_slurm: Callable[..., Slurm]) -> Slurm:
    return start_slurm("--nodes", "1", "--pyxis", "0.24.0", "--name", "new")


def registered(slurm: Slurm, command: str) -> set[str]:
    said = slurm.run(command, "--help").stdout
    return set(re.findall(r"^ +--((?:no-)?container-[a-z-]+).*\[pyxis", said, re.MULTILINE)) | set(
        re.findall(r"^ +--((?:no-)?container-[a-z-]+)(?:=VALUE)?\s*\n\s+\[pyxis", said, re.MULTILINE)
    )


def test_each_release_has_its_options(old: Slurm, slurm_a100: Slurm, new: Slurm) -> None:
    assert registered(old, "srun") == OF_0_11
    assert registered(slurm_a100, "srun") == OF_0_20
    assert registered(new, "srun") == OF_0_24
    # sbatch_support came with 0.12.0.
    assert registered(old, "sbatch") == set()
    assert registered(slurm_a100, "sbatch") == OF_0_20


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--container-unshare=net"], "unrecognized option '--container-unshare=net'"),
        (["--container-image="], "--container-image: argument required"),
        (["--container-image=a", "--container-image=b"], "--container-image: specified multiple times"),
        (
            ["--container-writable", "--container-readonly"],
            "both --container-writable and --container-readonly",
        ),
        (["--container-mounts=/tmp:"], "--container-mounts: not SRC"),
        (["--container-mounts=imagenet:/data"], "--container-mounts: not SRC"),
        (["--container-save=/tmp/"], "--container-save: target is a directory"),
    ],
)
def test_srun_refuses_what_pyxis_refuses(slurm_a100: Slurm, options: list[str], why: str) -> None:
    done = slurm_a100.run("srun", *options, "true")
    assert done.returncode != 0
    assert why in done.stderr


def test_options_arrive_byte_for_byte_on_every_node(slurm_a100: Slurm) -> None:
    mounts = '/a "b\\c\t:/é$(x)`y`,/d:/e:ro+rprivate'
    argv = [
        "--container-image=nvcr.io#nvidia/mxnet:21.09-py3",
        f"--container-mounts={mounts}",
        "--no-container-mount-home",
        "--container-writable",
    ]
    job = int(slurm_a100.run("srun", "-N2", *argv, "sh", "-c", "echo $SLURM_JOB_ID").stdout.split()[0])
    given = (
        Given("container-image", "nvcr.io#nvidia/mxnet:21.09-py3", False),
        Given("container-mounts", mounts, False),
        Given("no-container-mount-home", None, False),
        Given("container-writable", None, False),
    )
    assert pyxis(slurm_a100.folder, job) == {("0", 0): given, ("0", 1): given}


def test_slurm_carries_only_the_last_use_of_an_option(slurm_a100: Slurm) -> None:
    mounts = ("--container-mounts=/first", "--container-mounts=/last")
    done = slurm_a100.run("srun", "-N1", "--container-image=a", *mounts, "sh", "-c", "echo $SLURM_JOB_ID")
    given = pyxis(slurm_a100.folder, int(done.stdout))[("0", 0)]
    assert given[1] == Given("container-mounts", "/last", False)


def test_options_of_sbatch_belong_to_the_batch_step(slurm_a100: Slurm) -> None:
    job, status, _ = slurm_a100.batch("srun -n1 true", "--nodes=1", "--container-image=a")
    assert status == 0
    assert pyxis(slurm_a100.folder, job)[("batch", 0)] == (Given("container-image", "a", False),)


def test_options_without_a_container_are_ignored_aloud(slurm_a100: Slurm) -> None:
    done = slurm_a100.run("srun", "--container-workdir=/x", "true")
    assert done.returncode == 0
    assert "ignoring --container-workdir because neither --container-image nor" in done.stderr


def test_the_environment_counts_from_0_21(slurm_a100: Slurm, new: Slurm) -> None:
    shell = {"PYXIS_CONTAINER_IMAGE": "stray", "PYXIS_CONTAINER_WRITABLE": "no", "PYXIS_CONTAINER_NAME": "n"}
    seen = []
    for slurm in (slurm_a100, new):
        argv = ("srun", "-N1", "--container-image=mine", "sh", "-c", "echo $SLURM_JOB_ID")
        job = int(slurm.run(*argv, env={**slurm.env, **shell}).stdout)
        seen.append(pyxis(slurm.folder, job)[("0", 0)])
    assert seen[0] == (Given("container-image", "mine", False),)
    assert seen[1] == (
        Given("container-image", "mine", False),
        Given("container-name", "n", True),
        Given("container-readonly", None, True),
    )


def test_the_command_runs_on_the_host(slurm_a100: Slurm, tmp_path: Path) -> None:
    done = slurm_a100.run("srun", "-N1", "--container-image=none", "touch", tmp_path / "made")
    assert done.returncode == 0
    assert (tmp_path / "made").exists()
