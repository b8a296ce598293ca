"""The list of hosts that the mpirun of an MPIJob takes, and its slots."""

import pytest
from manifest_cases import converted, job

_JOB = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: wind}
spec:
  slotsPerWorker: 2
  runLauncherAsWorker: AS_WORKER
  mpiImplementation: KIND
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - {name: l, image: "reg.io/wind:1", command: [bash, -c, 'TEXT'], env: [{name: A, value: "1"}, ENV]}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - {name: w, image: "reg.io/wind:1", resources: {limits: {nvidia.com/gpu: 2}}}
"""


def _said(text: str, kind: str = "OpenMPI", env: str = "", as_worker: bool = False) -> tuple[str, list[str]]:
    """The ranks on a node, and what is said of slots."""
    manifest = (
        _JOB.replace("TEXT", text).replace("KIND", kind).replace(", ENV", f", {{name: {env}}}" * bool(env))
    )
    draft = converted(manifest.replace("AS_WORKER", str(as_worker).lower()))
    said = [
        each.kind for each in draft.findings if "slot" in each.why and each.kind in ("question", "defect")
    ]
    return str(job(draft)["ranks_per_node"][0]), said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mpirun ./wind", []),
        ("mpirun --hostfile /etc/mpi/hostfile ./wind", []),
        ("mpirun --hostfile /racks/hosts ./wind", ["question"]),
        ("sort /etc/mpi/hostfile > /tmp/hosts; mpirun --hostfile /tmp/hosts ./wind", ["question"]),
        ("mpirun -np 4 --hostfile /racks/hosts ./wind", []),
        ("mpirun -np 4 ./wind", []),
        ("mpirun --hostfile /racks/hosts -N 2 ./wind", []),
    ],
)
def test_without_a_number_a_list_of_its_own_tells_how_many_ranks_there_are(
    text: str, said: list[str]
) -> None:
    assert _said(text) == ("2", said)


@pytest.mark.parametrize(
    ("text", "kind", "env", "is_defect"),
    [
        ("mpirun -np 8 ./wind", "OpenMPI", "", True),
        ("mpirun -np 8 --hostfile /etc/mpi/hostfile ./wind", "OpenMPI", "", True),
        ("mpirun -np 8 --hostfile /racks/hosts ./wind", "OpenMPI", "", False),
        ("mpirun -np 8 --oversubscribe ./wind", "OpenMPI", "", False),
        ("mpirun -np 8 --map-by slot:OVERSUBSCRIBE ./wind", "OpenMPI", "", False),
        ("mpirun -np 8 ./wind", "OpenMPI", "OMPI_MCA_rmaps_base_oversubscribe", False),
        ("export OMPI_MCA_rmaps_base_oversubscribe=1; mpirun -np 8 ./wind", "OpenMPI", "", False),
        ("mpirun -np 8 ./wind", "MPICH", "", False),
    ],
)
def test_more_ranks_than_slots_are_a_defect_where_open_mpi_is_not_told_of_them(
    text: str, kind: str, env: str, is_defect: bool
) -> None:
    assert _said(text, kind, env) == ("4", ["defect"] * is_defect)


def test_a_launcher_that_is_a_worker_too_has_slots() -> None:
    assert _said("mpirun -np 6 ./wind", as_worker=True)[1] == []
    assert _said("mpirun -np 9 ./wind", as_worker=True)[1] == ["defect"]


@pytest.mark.parametrize(("ranks", "is_defect"), [(2, False), (4, True)])
def test_a_worker_without_slots_of_its_own_has_one(ranks: int, is_defect: bool) -> None:
    manifest = (
        _JOB.replace("TEXT", f"mpirun -np {ranks} ./wind").replace("KIND", "OpenMPI").replace(", ENV", "")
    )
    draft = converted(manifest.replace("  slotsPerWorker: 2\n", "").replace("AS_WORKER", "false"))
    defects = [each.why for each in draft.findings if each.kind == "defect" and "slot" in each.why]
    assert (len(defects), all("without slotsPerWorker" in why for why in defects)) == (is_defect, True)
    assert job(draft)["ranks_per_node"][0] == ranks // 2
