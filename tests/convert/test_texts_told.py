"""The commands of a text for another shell of which no part of the job is made."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Finding

_RUN = "torchrun --nnodes 1 --nproc_per_node 4 t.py"
_IN_IMAGE = "docker run --gpus all r.io/i:1 torchrun --nnodes 2 --node_rank 0 --nproc_per_node 4 t.py"


def _left(lines: str) -> tuple[list[Finding], str]:
    found = convert(classified({"go.sh": f"#!/bin/bash\n{lines}\n"}), Options({}))
    return [each for each in found.findings if each.kind == "left" and "as far as" in each.why], found.job


@pytest.mark.parametrize(
    "line",
    [
        f"ssh a 'cd w; git pull; make all; {_RUN}'",
        f"ssh a 'cd w && git pull && make all && {_RUN}'",
        f"ssh a bash -s <<X\ncd w\ngit pull\nmake all\n{_RUN}\nX",
        f"bash -c 'git pull; make all; {_RUN}'",
        f"bash -c '{_RUN}; git pull; make all'",
        f"nohup bash -c 'git pull; make all; {_RUN}'",
        f"for h in a b; do ssh $h 'git pull; make all; {_IN_IMAGE}'; done",
        "ssh login 'git pull; make all; sbatch -N 2 --wrap \"srun t\"'",
    ],
)
def test_what_a_text_does_beside_its_launch_is_told_as_left(line: str) -> None:
    ((told,), job) = _left(line)
    assert (told.what, told.places[0].line) == ("git pull; make all", 2)
    assert "git" not in "".join(each for each in job.splitlines() if not each.startswith("#"))


@pytest.mark.parametrize(
    "does",
    [
        "cd w",
        "set -e; echo begins; date",
        "module load x; ulimit -n 4096; conda activate w",
        "python prepare.py; mkdir -p out",
        "export A=1; B=2",
    ],
)
@pytest.mark.parametrize("by", ["ssh a", "bash -c"])
def test_what_is_told_otherwise_or_changes_nothing_is_not_told_as_left(by: str, does: str) -> None:
    assert not _left(f"{by} '{does}; {_RUN}'")[0]


def test_a_program_of_a_text_is_not_taken_for_told_since_another_one_has_its_name() -> None:
    found, job = _left(f"ssh a 'pip install x; python prepare.py; {_RUN}; pip freeze'")
    assert [each.what for each in found] == ["pip install x; pip freeze"]
    assert loaded(job)["setup"][0]["run"] == ["python", "prepare.py"]
