"""A command that starts the launcher in a way that is not known may give it an image, mounts, variables."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.other_starts import WHY
from hpclaunch.values.conversion import Conversion, Finding

OPEN = {"image", "mounts", "environment"}


def converted(line: str) -> Conversion:
    files = {
        "outer.sh": f"#!/bin/bash\n{line}\n",
        "inner.sh": "#!/bin/bash\nexport LEVEL=3\ntorchrun --nnodes=2 --nproc_per_node=4 fit.py\n",
    }
    return convert(classified(files), Options({}))


def undetermined(found: Conversion) -> set[str]:
    return {each.name for each in found.launch if each.state == "not determined"}


@pytest.mark.parametrize(
    "line",
    [
        'cloudrun job --image reg.example/fit:2 --dataset 7:/data --command "cd /data && ./inner.sh 0"',
        'on_all_hosts -f hosts "cd /work; LEVEL=4 bash -x ./inner.sh"',
        "cloudrun job --image reg.example/fit:2 -- bash /srv/inner.sh",
    ],
)
def test_what_a_command_gives_that_may_start_the_launcher_is_not_determined(line: str) -> None:
    found = converted(line)
    assert [
        (each.kind, [place.line for place in each.places]) for each in found.findings if each.why == WHY
    ] == [("unread", [2])]
    assert undetermined(found) == OPEN
    assert all(any(place.line == 2 for place in each.places) for each in found.launch if each.name in OPEN)
    assert {each.name: each.told for each in found.launch}["nodes"] == "2"


@pytest.mark.parametrize(
    "line",
    [
        "cloudrun job --script inner.shader",
        "chmod +x ./inner.sh",
        "scp ./inner.sh there:",
        "bash other.sh",
        ":",
    ],
)
def test_a_command_that_starts_no_file_of_these_leaves_the_facts(line: str) -> None:
    found = converted(line)
    assert not [each for each in found.findings if each.why == WHY]
    assert not undetermined(found) & {"image", "mounts"}


def test_another_run_is_told_where_a_question_names_its_line() -> None:
    """That the hosts are asked for at the first of two says nothing of what becomes of it."""
    starts = "mpirun --hostfile hosts -np 2 -x A=1 ./solve $x\nmpirun --hostfile hosts -np 2 ./solve $x\n"
    found = convert(classified({"go.sh": f"#!/bin/bash\nfor x in a b; do\n{starts}done\n"}), Options({}))
    assert [each.key for each in found.findings if _line(each) == 3 and each.kind == "question"] == ["nodes"]
    (left,) = [each for each in found.findings if _line(each) == 3 and each.kind == "left"]
    assert "ranks of its own" in left.why


def _line(finding: Finding) -> int:
    return finding.places[0].line
