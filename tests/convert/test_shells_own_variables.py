"""Variables of the run's command that the script's own shell has, or Slurm: nobody's shell hands them on."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 10\n"


def _job(line: str) -> dict[str, Any]:
    found = convert(classified({"run.sub": f"{_HEAD}{line}\n"}), Options({}))
    assert all("changes how a job is started" not in each.why for each in found.findings)
    job: dict[str, Any] = loaded(found.job)
    return job


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("/tmp/$UID/t", '/tmp/"$(id -u)"/t'),
        ('"u$EUID"', 'u"$(id -u)"'),
        ("$CUDA_VISIBLE_DEVICES", "$CUDA_VISIBLE_DEVICES"),
        ("$SLURM_JOB_ID", "$SLURM_JOB_ID"),
    ],
)
def test_what_each_rank_has_itself_stays_in_the_command(word: str, written: str) -> None:
    job = _job(f"srun --mpi=pmix ./x --v {word}")
    assert job["command"] == f"exec ./x --v {written}"
    assert "inherit" not in job


@pytest.mark.parametrize(
    "name", ["SECONDS", "PPID", "BASHPID", "EPOCHSECONDS", "LINENO", "OLDPWD", "SRANDOM"]
)
def test_what_only_the_scripts_shell_has_is_asked_for(name: str) -> None:
    job = _job(f"srun --mpi=pmix ./x --v ${name}")
    assert ASK in (job["command"], *job.get("env", {}).values())
    assert "inherit" not in job


def test_a_misspelt_variable_of_slurm_is_said_to_be_empty() -> None:
    text = f"{_HEAD}srun --mpi=pmix ./x --v /tmp/c_$SLURM_LOCALID_$SLURM_PROCID $LD_PRELOAD\n"
    found = convert(classified({"run.sub": text}), Options({}))
    (empty,) = [each.why for each in found.findings if "SLURM_LOCALID_" in each.why]
    assert "Slurm has no variable of that name" in empty
    assert any(each.why.startswith("LD_PRELOAD changes how a job is started") for each in found.findings)


@pytest.mark.parametrize("name", ["SLURM_ACCOUNT", "SLURM_PARTITION"])
def test_what_srun_reads_and_no_job_has_is_named(name: str) -> None:
    """A job of Slurm has SLURM_JOB_ACCOUNT and SLURM_JOB_PARTITION, and these where an operator gave them."""
    text = f"{_HEAD}srun --mpi=pmix ./x --out /lustre/${name}/run\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert [each.kind for each in found.findings if name in each.why] == ["left"]
