"""Defects of manifests: those of shell texts in them are the same as in a script, on the manifest's lines."""

import subprocess
from textwrap import indent

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Finding
from hpclaunch.values.errors import InputError

_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: a/b:1
    resources: {limits: {nvidia.com/gpu: 8}}
    command: [bash, -c]
    args:
    - |
"""
_FIRST = _POD.count("\n") + 1
_STATUSES = {
    "another command last": ("mpirun -np 8 ./a\necho done\n", [2]),
    "the run last": ("echo begins\nmpirun -np 8 ./a\n", []),
    "its status is given": ("mpirun -np 8 ./a\nstatus=$?\necho done\nexit $status\n", []),
    "a shell that ends where something fails": ("set -e\nmpirun -np 8 ./a\necho done\n", []),
    "tee": ("mpirun -np 8 ./a | tee /log/x\n", [1]),
    "tee with pipefail": ("set -o pipefail\nmpirun -np 8 ./a | tee /log/x\n", []),
}


def _defects(text: str) -> list[Finding]:
    found = convert(classified({"pod.yaml": text}), Options({})).findings
    return [each for each in found if each.kind == "defect"]


@pytest.mark.parametrize("name", _STATUSES)
def test_a_status_that_a_text_loses_is_told_with_its_line(name: str) -> None:
    script, lines = _STATUSES[name]
    found = _defects(_POD + indent(script, " " * 6))
    assert [each.places[0].line - _FIRST + 1 for each in found] == lines
    program = script.replace("mpirun -np 8 ./a", "false").replace("tee /log/x", "cat")
    done = subprocess.run(["bash", "-c", program], check=False, timeout=60, capture_output=True)
    assert (done.returncode == 0) == bool(lines)


@pytest.mark.parametrize(
    ("value", "count"), [("mlx5_1", 1), ("=mlx5_1", 0), ("^=mlx5_1", 0), ("mlx5_10", 0), ("mlx5", 1)]
)
def test_a_name_that_nccl_takes_for_several_is_told_once_in_a_job_of_several_pods(
    value: str, count: int
) -> None:
    env = f"[{{name: NCCL_IB_HCA, value: '{value}'}}]"
    container = f"{{name: pytorch, image: a/b:1, command: [./a], env: {env}}}"
    text = (
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\nspec:\n  pytorchReplicaSpecs:\n"
        + "".join(
            f"    {role}: {{replicas: 1, template: {{spec: {{containers: [{container}]}}}}}}\n"
            for role in ("Master", "Worker")
        )
    )
    assert [each.what for each in _defects(text)] == [f"NCCL_IB_HCA={value}"] * count


@pytest.mark.parametrize("end", [">>>>>>> theirs\n", ""])
def test_a_conflict_that_git_left_open_is_named_with_its_line(end: str) -> None:
    text = f"{_POD}      echo 1\n<<<<<<< HEAD\n      ./a\n=======\n      ./b\n{end}"
    with pytest.raises(InputError) as caught:
        convert(classified({"pod.yaml": text}), Options({}))
    problem = caught.value.problems[0]
    assert ("a conflict that git left open" in problem.message) == bool(end)
    assert not end or problem.where == f"pod.yaml:{_FIRST + 1}:1"
