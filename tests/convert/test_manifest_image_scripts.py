"""A script that a pod starts, and that is not in the manifest."""

import pytest
from manifest_cases import converted

_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec:
  template:
    spec:
      containers:
      - name: c
        image: reg/x:1
        command: COMMAND
        resources: {limits: {nvidia.com/gpu: GPUS}}
"""


def _said(command: str, gpus: int = 8) -> list[str]:
    draft = converted(_JOB.replace("COMMAND", command).replace("GPUS", str(gpus)))
    assert draft.facts[("ranks_per_node",)].value == 1
    return [each.what for each in draft.findings if each.what.startswith("whether ")]


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("[bash, train.sh]", "train.sh"),
        ("[./run.sh, --all]", "./run.sh"),
        ("[sh, -c, 'cd /w && bash -x tools/run.sh && echo done']", "tools/run.sh"),
        ("[bash, -c, 'pip install x; A=1 nohup ./run.sh']", "./run.sh"),
    ],
)
def test_it_is_said_that_it_may_start_ranks(command: str, script: str) -> None:
    assert _said(command) == [f"whether {script} starts ranks itself"]


@pytest.mark.parametrize(
    "command",
    [
        "[python, train.py]",
        "[sh, -c, './prepare.sh && python train.py']",
        "[bash, -c, 'echo train.sh']",
        "[./train]",
    ],
)
def test_of_other_commands_nothing_is_said(command: str) -> None:
    assert _said(command) == []


def test_nothing_is_said_where_there_is_one_gpu() -> None:
    assert _said("[bash, train.sh]", gpus=1) == []
