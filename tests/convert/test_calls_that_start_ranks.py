"""A function that starts ranks, and that a script calls more than once: each call is a launch."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


def _of(body: str, calls: str) -> tuple[dict[str, Any], Conversion]:
    text = f"#!/bin/bash\nknead() {{\n    {body}\n}}\n{calls}\n"
    found = convert(classified({"bakery.sh": text}), Options({}))
    return script_cases.loaded(found.job), found


def _said(found: Conversion) -> str:
    return " ".join(each.why for each in found.findings if each.places and each.places[0].line == 3)


def test_launchers_with_other_ranks_in_each_call_are_asked_for() -> None:
    job, found = _of(
        'local ovens=$1\n    torchrun --nproc_per_node=$ovens loaf.py --crumbs 3 | tee "loaf_$1.log"',
        "knead 1\nsleep 2\nknead 2\nknead 6",
    )
    assert job["command"] == script_cases.ASK
    (asked,) = (each for each in found.findings if each.key == "command")
    assert "--nproc_per_node=1 loaf.py" in asked.why
    assert "--nproc_per_node=2 loaf.py" in asked.why


@pytest.mark.parametrize(
    ("body", "calls", "told"),
    [
        ("mpirun -np $1 ./loaf", "knead 2\nknead 6", "2 ranks on each"),
        ("mpirun -np 6 ./loaf $1", "knead rye\nknead oat", "./loaf rye"),
        ("export GRAIN=$1; mpirun -np 6 ./loaf", "knead rye\nknead oat", "other values of GRAIN"),
    ],
)
def test_that_other_calls_start_another_run_is_said(body: str, calls: str, told: str) -> None:
    job, found = _of(body, calls)
    assert job["ranks_per_node"] == "6"
    assert told in _said(found)


@pytest.mark.parametrize("calls", ["knead rye", "knead rye\nknead rye"])
def test_of_calls_that_are_alike_nothing_is_asked(calls: str) -> None:
    job, found = _of("torchrun --nproc_per_node=6 loaf.py $1", calls)
    assert job["command"] == ["python", "-u", "loaf.py", "rye"]
    assert "job's run" not in _said(found)


def test_a_call_that_is_a_step_of_the_job_is_not_said_to_be_left() -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 -n 12\nknead() {\n    srun --mpi=pmix ./loaf\n}\n"
    text += "export GRAIN=rye\nknead\nexport GRAIN=oat\nknead\n"
    found = convert(classified({"bakery.sh": text}), Options({}))
    job = script_cases.loaded(found.job)
    assert (job["env"], job["setup"][0]["run"]) == ({"GRAIN": "oat"}, "export GRAIN=rye; ./loaf")
    assert not [each for each in found.findings if "more than once" in each.why]
