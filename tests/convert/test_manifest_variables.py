"""A launcher that a pod's shell has in a variable of the container, or of its text."""

import pytest
from manifest_cases import converted, job

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
        command: [bash, -c]
        args:
        - |
TEXT
        env:
        - {name: RUN, VALUE}
        resources: {limits: {nvidia.com/gpu: 8}}
"""
_WHOLE = "value: torchrun --nproc_per_node=8 train.py"


def _converted(text: str, value: str):
    text = "\n".join(f"          {line}" for line in text.split("\n"))
    return converted(_JOB.replace("TEXT", text).replace("VALUE", value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$RUN train.py", "value: torchrun --nproc_per_node=8"),
        ("exec ${RUN} --nproc_per_node=8 train.py", "value: torchrun"),
        ("echo start\n$RUN\necho end", _WHOLE),
        ("echo $RUN\neval $RUN", _WHOLE),
        ('eval "${RUN}"', _WHOLE),
        ('bash -c "$RUN"', _WHOLE),
        ('CMD="torchrun --nproc_per_node=8 train.py"\neval "$CMD"', "value: x"),
        ("eval $RUN", "value: accelerate launch --num_processes 8 train.py"),
    ],
)
def test_it_is_read_where_its_variable_stands(text: str, value: str) -> None:
    found = {key: value for key, (value, _) in job(_converted(text, value)).items()}
    assert found["ranks_per_node"] == 8
    assert found["rendezvous"] == "torch"
    assert found["command"] == ["python", "-u", "train.py"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('eval "$RUN"', "value: 'torchrun --nproc_per_node=8 train.py --name \"a b\"'"),
        ("$RUN train.py", "valueFrom: {configMapKeyRef: {name: m, key: k}}"),
    ],
)
def test_what_nobody_can_tell_of_it_is_asked(text: str, value: str) -> None:
    facts = _converted(text, value).facts
    assert facts[("ranks_per_node",)].is_open
    assert facts[("command",)].is_open


@pytest.mark.parametrize("text", ["$RUN train.py", "echo $RUN", 'python train.py --by "$RUN"'])
def test_other_variables_ask_nothing(text: str) -> None:
    value = "value: python3" if text.startswith("$") else _WHOLE
    assert job(_converted(text, value))["ranks_per_node"][0] == 1
