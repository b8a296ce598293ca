"""What is said of steps that failed, where a job ends before its ranks start."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("lines", "is_said"),
    [
        ("set -e\n{loop}(\n  {step}\n  {run}\n) |& tee out.$i{done}", False),
        ("set -e\n{loop}(\n  {step}\n  {run}\n) | tee out.$i{done}", False),
        ("set -eo pipefail\n{loop}(\n  {step}\n  {run}\n) | tee out.$i{done}", False),
        ("set -e\n{step}\n{run} |& tee out.log", False),
        ("{loop}(\n  {step}\n  {run}\n) |& tee out.$i{done}", True),
        ("set -e\n{loop}(\n  {step}\n  {run}\n) |& tee out.$i || true{done}", True),
        ("{step}\n{run}", True),
    ],
)
def test_that_a_script_went_on_is_said_only_where_no_set_e_ended_its_shell(lines: str, is_said: bool) -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -t 60\n"
    its = {"step": "mkdir out", "run": "srun --mpi=none ./fit", "done": "\ndone"}
    text += lines.format(loop="for i in 1 2; do\n", **its) + "\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    assert any("no set -e ended it" in each.why for each in found) == is_said


@pytest.mark.parametrize(
    ("lines", "optional"),
    [
        ("set -e\n(\n  mkdir out\n  srun ./fit\n) | tee out.log", False),
        ("set -e\n(\n  mkdir out || true\n  srun ./fit\n) | tee out.log", True),
        ("set -e\n(\n  mkdir out | tee made\n  srun ./fit\n) | tee out.log", True),
        ("set -e\nmkdir out | tee made\nsrun ./fit", True),
        ("(\n  mkdir out\n  srun ./fit\n) | tee out.log", True),
    ],
)
def test_a_step_without_which_the_run_does_not_start_is_not_optional(lines: str, optional: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -t 60\n{lines}\n"
    job = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)
    assert [each.get("optional") for each in job["setup"]] == ["true" if optional else None]
