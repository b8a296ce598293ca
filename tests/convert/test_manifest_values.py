"""What variables hold that the text of a launcher's shell sets, of what the container and the text tell."""

import pytest
from manifest_cases import converted, job

_MPIJOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: a}
spec:
  slotsPerWorker: 1
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - {image: "reg/x:1", name: l, env: [{name: N, value: "4"}], command: [sh, -c, "TEXT"]}
    Worker:
      replicas: 4
      template: {spec: {containers: [{image: "reg/x:1", name: w}]}}
"""


def _converted(*lines: str):
    return converted(_MPIJOB.replace("TEXT", "\\n".join(each.replace('"', '\\"') for each in lines)))


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        (["N=${N:-2}", "mpirun -np $N ./a"], 1),
        (["P=$((N * 2))", "mpirun -np $P ./a"], 2),
        (["P=$((N * 3))", "Q=$P", 'mpirun -np "$Q" ./a'], 3),
        (["P=${P:-8}", "mpirun -np $P ./a"], 2),
        (["mpirun -np $((N * 2)) ./a"], 2),
    ],
)
def test_a_value_that_is_made_of_told_ones_is_told(lines: list[str], ranks: int) -> None:
    assert job(_converted(*lines))["ranks_per_node"][0] == ranks


@pytest.mark.parametrize(
    "lines",
    [
        ["N=$(nproc)", "mpirun -np $N ./a"],
        ["P=$((N * $(nproc)))", "mpirun -np $P ./a"],
        ["if test -e /x; then N=8; fi", "mpirun -np $N ./a"],
        ["for N in 1 2; do echo; done", "mpirun -np $N ./a"],
        ["P=$N", "N=$(nproc)", "Q=$((N + P))", "mpirun -np $Q ./a"],
    ],
)
def test_a_value_that_only_the_pod_has_is_asked_for_though_the_container_sets_the_name(
    lines: list[str],
) -> None:
    assert _converted(*lines).facts[("ranks_per_node",)].is_open


def test_the_default_of_a_name_that_the_image_may_set_is_said() -> None:
    said = {each.what: each for each in _converted("P=${P:-8}", "mpirun -np $P ./a").findings}
    assert (said["${P:-8}"].kind, said["${P:-8}"].became) == ("assumed", "8")


@pytest.mark.parametrize("first", ["A0=xx", "A0=${B:-xx}"])
def test_a_value_that_grows_beyond_all_measure_is_not_told(first: str) -> None:
    doubled = [f"A{number + 1}=$A{number}$A{number}" for number in range(40)]
    found = _converted(first, *doubled, "mpirun -np $A40 ./a")
    assert found.facts[("ranks_per_node",)].is_open
