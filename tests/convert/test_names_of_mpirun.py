"""mpirun is found by each of its names, also where a text is looked at and no command line is read."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 30\n"
_NAMES = [
    *("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun"),
    *("mpirun.openmpi", "mpiexec.openmpi", "horovodrun", "mpiexec.slurm"),
]


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize(
    "lines", ["bash -c 'cd /work && {} -np 16 ./app'", "bash <<EOF\ncd /work\n{} -np 16 ./app\nEOF"]
)
def test_ranks_that_a_text_for_a_shell_starts(lines: str, name: str) -> None:
    job = script_cases.loaded(_converted(lines.format(name)).job)
    assert [job[key] for key in ("command", "workdir", "nodes", "ranks_per_node")] == [
        ["./app"],
        "/work",
        "2",
        "8",
    ]


@pytest.mark.parametrize("name", _NAMES)
def test_what_whoever_copies_the_script_fills_in_is_no_redirection(name: str) -> None:
    found = _converted(f"{name} -np 16 ./app <case>")
    assert [(each.what, each.became) for each in found.findings if each.kind == "repaired"] == [
        ("<case>", "${case}")
    ]


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("line", ["{} -np 16 ./app | tee log", "{} -np 16 ./app || true"])
def test_a_status_that_is_lost_is_a_defect(line: str, name: str) -> None:
    assert any(each.kind == "defect" for each in _converted(line.format(name)).findings)


@pytest.mark.parametrize("name", _NAMES)
def test_a_script_that_ends_before_it(name: str) -> None:
    found = _converted(f"exit 0\n{name} -np 16 ./app")
    assert any("`exit 0` (run.sub:3)" in each.why for each in found.findings)
