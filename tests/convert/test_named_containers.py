"""A container that several steps share by its name: what of it each step has, and the ranks."""

from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"


def _of(lines: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    return loaded(found.job), found


@pytest.mark.parametrize(("own", "is_said"), [("", True), ("--container-mounts=/e:/e", False)])
def test_mounts_of_the_step_that_makes_a_container_are_not_those_of_the_run(own: str, is_said: bool) -> None:
    first = "srun -n2 --container-image=a/b:c --container-name=x --container-mounts=/d:/d true"
    job, found = _of(f"{first}\nsrun --mpi=pmix --container-name=x {own} ./t")
    assert job["image"] == "a/b:c"
    assert job.get("mounts", []) == (["/e:/e"] if own else [])
    left = [each.what for each in found.findings if each.kind == "left" and "keeps no mounts" in each.why]
    assert left == (["--container-mounts=/d:/d"] if is_said else [])


@pytest.mark.parametrize(
    ("lines", "inherited", "secrets"),
    [
        ("", ["A", "B"], []),
        ("export A=1", ["B"], []),
        ("A=1", ["B"], []),  # not exported: Pyxis finds none
        ("export API_TOKEN=${API_TOKEN:?}", ["A", "B"], ["API_TOKEN"]),
    ],
)
def test_variables_that_go_before_the_images_are_the_submitters_where_no_line_gives_them(
    lines: str, inherited: list[str], secrets: list[str]
) -> None:
    names = "A,B,SLURM_PROCID,MASTER_ADDR" + (",API_TOKEN" if secrets else "")
    job, _ = _of(f"{lines}\nsrun --mpi=pmix --container-image=a/b:c --container-env={names} ./t")
    assert job.get("inherit", []) == inherited
    assert job.get("secrets", []) == secrets


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            "--container-writable --container-mounts=/a:/a",
            ["--container-writable", "--container-mounts=/a:/a"],
        ),
        ("--container-image=a/b:1 --container-writable", []),
        ("--container-name=x --container-writable", []),
    ],
)
def test_what_is_said_of_a_container_where_there_is_none_is_told(options: str, told: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=1 -t 60\nsrun --mpi=none {options} ./t\n"
    found = convert(classified({"run.sub": text}), Options({})).findings
    assert [each.what for each in found if "Pyxis ignores it" in each.why] == told
