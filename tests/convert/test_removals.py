"""What a script removes: the job keeps files that it does not make anew, and with which it has not done what
the script had done."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_RUN = "srun --mpi=none ./t"


def _removed(*lines: str) -> tuple[bool, list[str]]:
    """Whether a step of the job removes something, and the commands that are said not to be carried."""
    text = _HEAD + "\n".join(lines) + "\n"
    found = convert(classified({"run.sub": text}), Options({}))
    job = script_cases.loaded(found.job)
    steps = [each["run"] for key in ("setup", "after") for each in job.get(key, ())]
    left = [each.what for each in found.findings if each.kind == "left"]
    return any("rm" in step for step in steps), left


@pytest.mark.parametrize(
    "lines",
    [
        (_RUN, "mv $FROM/o/*.log out", "rm -rf $FROM/o"),
        (_RUN, "./summary /data/o/part > sum", "rm -rf /data/o"),
        ("mpicc -o t t.c", _RUN, "rm ./t"),
        ("rm -rf mesh", "mpirun -np 2 partmesh", _RUN),
        ("rm -f out/*", "./prepare out", _RUN),
    ],
)
def test_what_the_job_does_not_make_it_does_not_remove(lines: tuple[str, ...]) -> None:
    is_removed, left = _removed(*lines)
    assert not is_removed
    assert [each for each in left if each.startswith("rm ")] == [
        each for each in lines if each.startswith("rm ")
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("rm -rf out", "mkdir out", _RUN),
        ("rm -rf out", "python prep.py", _RUN),
        ("module load x", "rm -f core.1", "cd here", _RUN),
        (_RUN, "./summary o > sum", "rm -rf /data/tmp"),
        (_RUN, "cp -r /data/o /home/o", "rm -rf /data/o"),
    ],
)
def test_what_has_nothing_to_do_with_what_is_left_is_removed(lines: tuple[str, ...]) -> None:
    is_removed, left = _removed(*lines)
    assert is_removed
    assert not [each for each in left if each.startswith("rm ")]
