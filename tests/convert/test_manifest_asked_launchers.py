"""A launcher in a pod's text that only tells of itself (mpirun --version) is not what starts the ranks. Where
nobody knows the launcher, what it binds by is asked for too."""

import pytest
from manifest_cases import converted, job, of_shell

_MPIJOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: a}
spec:
  slotsPerWorker: 2
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{image: reg/x:1, name: l, command: [sh, -c], args: ['TEXT']}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{image: reg/x:1, name: w}]}}
"""
_ASKED = [
    "mpirun --version; ",
    "mpirun -V && ",
    "which mpirun && mpirun --version | head -1; ",
    "command -v mpirun >/dev/null && mpirun --version || echo no mpirun; ",
    "horovodrun --check-build; ",
    "mpirun --help bind-to; ",
    "if mpirun --version; then echo there; fi; ",
]


@pytest.mark.parametrize("asked", ["", *_ASKED])
def test_the_mpirun_that_starts_a_program_is_the_launch(asked):
    found = converted(_MPIJOB.replace("TEXT", f"{asked}mpirun -np 4 --bind-to none -x A=1 ./sim --fast"))
    facts = {key: value for key, (value, _) in job(found).items()}
    assert facts["command"] == ["./sim", "--fast"]
    assert (facts["bind.cpus"], facts["ranks_per_node"], facts["env.A"]) == ("none", 2, "1")
    assert not [each for each in found.findings if "starts ranks of its own" in each.why]


def test_a_version_beside_the_launch_changes_nothing():
    found = converted(_MPIJOB.replace("TEXT", "mpirun --version; mpirun -np 4 ./sim"))
    said = {each.what: each.kind for each in found.findings}
    assert said["mpirun --version"] == "without effect"


def test_torchrun_that_is_asked_for_help_is_no_step_of_the_job():
    found = of_shell("torchrun --help\ntorchrun --nproc-per-node 4 fit.py", 4)
    facts = {key: value for key, (value, _) in job(found).items()}
    assert facts["command"] == ["python", "-u", "fit.py"]
    assert facts["ranks_per_node"] == 4
    assert not any(key.startswith("setup") for key in facts)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("python go.py -np 4 --bind-to core --map-by socket:PE=6 ./sim", "--bind-to core"),
        ("export RUN=./go; $RUN -np 4 -bind-to numa ./sim | tee log", "-bind-to numa"),
        ("./go --cpu-bind=map_cpu:0,8 ./sim", "--cpu-bind=map_cpu:0,8"),
        ("./go -- mpirun -np 4 --bind-to none ./sim", "--bind-to none"),
    ],
)
def test_what_an_unknown_launcher_binds_by_is_asked_for_as_its_command_is(text, option):
    found = converted(_MPIJOB.replace("TEXT", text))
    assert found.facts["command",].is_open
    assert option in found.facts["bind", "cpus"].question
    assert not [each for each in found.findings if each.what == "no line binds ranks to cores"]


@pytest.mark.parametrize("text", ["python go.py -np 4 ./sim", "python go.py -np 4 ./sim # --bind-to core"])
def test_an_unknown_launcher_without_such_an_option_has_the_default(text):
    found = converted(_MPIJOB.replace("TEXT", text))
    assert ("bind", "cpus") not in found.facts
    assert [each for each in found.findings if each.what == "no line binds ranks to cores"]


@pytest.mark.parametrize(("sign", "said"), [(" &", True), ("", False)])
def test_a_launcher_in_the_background_before_the_launch_is_said(sign, said):
    found = of_shell(f"(cd /w; torchrun --nproc-per-node 2 a.py){sign}\ntorchrun --nproc-per-node 2 b.py", 4)
    its = [each for each in found.findings if "at the same time" in each.why]
    assert [each.kind for each in its] == (["question"] if said else [])
