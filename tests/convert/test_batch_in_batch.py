"""A batch script that starts another one by a shell or srun: whose lines count, and how often it runs."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_INNER = """\
#!/bin/bash
#SBATCH -N 4 --ntasks-per-node=3 -t 05:00:00
export SIZE=1
srun --mpi=pmix ./solve; mpirun -V
"""
_AGAIN = "each of these starts the ranks anew"


def _converted(start: str, sizes: str = "-N 2 --ntasks-per-node=1") -> Conversion:
    outer = f"#!/bin/bash\n#SBATCH {sizes} -t 01:00:00 --gpus-per-node=2\n{start}\n"
    return convert(classified({"inner.sh": _INNER, "outer.sh": outer}), Options({}))


@pytest.mark.parametrize(
    "start", ["srun bash inner.sh", "bash inner.sh", "./inner.sh a", "time sh -e inner.sh"]
)
def test_the_lines_that_sbatch_reads_are_those_of_the_script_it_is_given(start: str) -> None:
    found = _converted(start)
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"], job["gpus_per_node"]) == ("2", "1", "2")
    assert (job["time"], job["command"]) == ("01:00:00", ["./solve"])
    (said,) = (each for each in found.findings if each.what.startswith("#SBATCH -N 4"))
    assert (said.kind, [each.line for each in said.places]) == ("without effect", [2])


def test_what_sbatch_starts_has_its_own_lines() -> None:
    job = loaded(_converted("sbatch inner.sh").job)
    assert (job["nodes"], job["ranks_per_node"], job["time"]) == ("4", "3", "05:00:00")


@pytest.mark.parametrize(
    ("start", "sizes", "said"),
    [
        ("srun bash inner.sh", "-N 2 --ntasks-per-node=1", True),
        ("srun ./inner.sh", "-n 8", True),
        ("srun -n 1 ./inner.sh", "-n 8", False),
        ("srun ./inner.sh", "-N 1 -n 1", False),
        ("srun ./inner.sh", "-c 4", False),
        ("bash inner.sh", "-N 2 --ntasks-per-node=1", False),
    ],
)
def test_a_script_that_srun_starts_in_each_task_starts_its_ranks_as_often(
    start: str, sizes: str, said: bool
) -> None:
    found = _converted(start, sizes)
    assert any(_AGAIN in each.why for each in found.findings) == said
