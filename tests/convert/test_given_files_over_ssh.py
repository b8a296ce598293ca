"""Scripts among the files that another one starts on its hosts, by ssh, pdsh or their like."""

from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_TRAIN = "#!/bin/bash\nexport A=1\ntorchrun --nproc_per_node 8 --nnodes $2 --node_rank $1 train.py\n"
_LOOP = "HOSTS=(n1 n2 n3)\ni=0\nfor h in ${HOSTS[@]}; do\n  ssh $h %s &\n  i=$((i+1))\ndone\nwait\n"


def _job(go: str) -> dict[str, Any]:
    text = f"#!/bin/bash\nexport HERE=1\nrm -rf out\n{go}tar czf out.tgz out\n"
    found = convert(classified({"go.sh": text, "train.sh": _TRAIN}), Options({}))
    starts = [each for each in found.findings if "not part of what is launched" in each.why]
    assert not any("train.sh" in each.what for each in starts)
    return loaded(found.job)


@pytest.mark.parametrize(
    ("go", "nodes", "folder"),
    [
        (_LOOP % '"cd /w && bash train.sh $i ${#HOSTS[@]}"', "3", "/w"),
        (_LOOP % "bash /w/train.sh $i ${#HOSTS[@]}", "3", None),
        ('pdsh -w n[1-4] "cd /w; ./train.sh %n 4"\n', "4", "/w"),
        ("clush -w n1,n2 bash train.sh 0 2\n", "2", None),
    ],
)
def test_the_script_is_the_run_and_what_stands_around_it_is_not(go: str, nodes: str, folder: Any) -> None:
    job = _job(go)
    assert (job["nodes"], job["ranks_per_node"], job.get("workdir")) == (nodes, "8", folder)
    assert job["env"]["A"] == "1"
    assert "HERE" not in job["env"]
    assert [each["run"] for each in job["setup"]] == [["rm", "-rf", "out"]]
    assert [each["run"] for each in job["after"]] == [["tar", "czf", "out.tgz", "out"]]


def test_a_script_that_starts_no_ranks_there_is_no_run() -> None:
    go = '#!/bin/bash\nssh n1 "cd /x && bash prepare.sh"\ntorchrun --nproc_per_node 4 train.py\n'
    found = convert(classified({"go.sh": go, "prepare.sh": "#!/bin/bash\nmkdir -p /x/y\n"}), Options({}))
    job = loaded(found.job)
    assert job["command"] == ["python", "-u", "train.py"]
    assert "workdir" not in job
