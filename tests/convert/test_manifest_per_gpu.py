"""deepspeed and accelerate in a pod: the ranks that their options tell, and the variables that they set."""

import pytest
from manifest_cases import converted

from hpclaunch.convert.draft import Draft

_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: tune}
spec:
  template:
    spec:
      containers:
      - name: c
        image: reg/x:1
        command: [bash, -c, "COMMAND"]
        resources: {limits: {nvidia.com/gpu: 8}}
"""


def _converted(command: str) -> Draft:
    return converted(_JOB.replace("COMMAND", command))


@pytest.mark.parametrize(
    ("chosen", "ranks", "visible"),
    [("localhost:0,1", 2, None), ("localhost:2,3,5", 3, "2,3,5"), ("a:4,5@b:4,5", 2, "4,5")],
)
def test_deepspeed_starts_a_rank_for_each_gpu_that_it_is_told_to_take(
    chosen: str, ranks: int, visible: str | None
) -> None:
    facts = _converted(f"deepspeed --include {chosen} t.py").facts
    assert facts[("ranks_per_node",)].value == ranks
    found = facts.get(("env", "CUDA_VISIBLE_DEVICES"))
    assert (found.value if found else None) == visible


@pytest.mark.parametrize(
    "command",
    [
        "deepspeed --exclude localhost:0 t.py",
        "deepspeed --include a:0@b:1,2 t.py",
        "accelerate launch --config_file fsdp.yaml t.py",
    ],
)
def test_ranks_that_an_option_tells_by_what_no_line_has_are_asked_for(command: str) -> None:
    fact = _converted(command).facts[("ranks_per_node",)]
    assert fact.is_open
    assert command.split()[-2] in fact.question


def test_what_accelerate_tells_the_program_is_in_env() -> None:
    draft = _converted("accelerate launch --num_processes 8 --mixed_precision bf16 t.py")
    assert draft.facts[("env", "ACCELERATE_MIXED_PRECISION")].value == "bf16"
    assert draft.facts[("ranks_per_node",)].value == 8


def test_a_number_beside_the_file_of_its_configuration_counts() -> None:
    draft = _converted("accelerate launch --config_file fsdp.yaml --num_processes 4 t.py")
    assert draft.facts[("ranks_per_node",)].value == 4
    assert any("ACCELERATE_MIXED_PRECISION" in each.todo for each in draft.findings)
