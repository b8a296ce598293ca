"""What is read from manifests: hpclaunch's own of every version, and those that others wrote."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from rendered import CLUSTER, JOB, compare, render, side

from hpclaunch.readback.kubernetes.reader import read
from hpclaunch.values.launch import Launch, SeenMount, SeenVariable, Unbridged

OLD = {"api": "v1alpha2"}
TRAINING = {"api": "v1", "operator": "training-operator"}


def cluster(**kubernetes: Any) -> dict[str, Any]:
    return {**CLUSTER, "name": "other", "kubernetes": {**CLUSTER["kubernetes"], **kubernetes}}


def test_an_mpi_job_of_ours(tmp_path: Path) -> None:
    launch = read(render(tmp_path, JOB, CLUSTER)[0])
    assert (launch.name, launch.nodes, launch.ranks_per_node, launch.gpus_per_node) == ("train", 2, 8, 8)
    assert (launch.whole_node, launch.apart, launch.numbering) == (True, True, "block")
    assert (launch.one_failure_ends_all, launch.retries, launch.seconds) == (True, 0, 1800)
    assert launch.argv == ("python", "train.py", "--note", "$(HOME) costs $$5, `x`\n#")
    assert (launch.image, launch.cwd, launch.wrapper) == (JOB["image"], "/work", "own")
    assert launch.mounts == (
        SeenMount("/data", "claim", "data-pvc", "sets/1", read_only=True),
        SeenMount("/scratch", "nfs", "nfs1:/s"),
        SeenMount("/tools", "path", "/opt/tools", read_only=True),
    )
    seen = {each.name: each for each in launch.environment}
    assert seen["PRICE"].value == "$$5 $(NCCL_DEBUG) $x"
    assert seen["TOKEN"] == SeenVariable("TOKEN", "train-env/TOKEN", "secret")
    assert seen["HTTPS_PROXY"] == SeenVariable("HTTPS_PROXY", "train-env/HTTPS_PROXY", "submitter")
    table = launch.tables[0]
    assert [seat.cpus[0] for seat in table.seats] == [48, 56, 16, 24, 112, 120, 80, 88]
    assert [seat.mems for seat in table.seats] == [(3,), (3,), (1,), (1,), (7,), (7,), (5,), (5,)]
    assert [table.hcas.index(seat.hcas[0]) for seat in table.seats] == list(range(8))
    assert "capability IPC_LOCK" in launch.rights
    assert (launch.unread, launch.unbridged) == ((), ())


@pytest.mark.parametrize(
    ("site", "job"),
    [
        (cluster(mpijob=OLD, mpi_operator="0.2.3"), {}),
        (cluster(mpijob=TRAINING, mpi_operator=None), {}),
        (cluster(mpi_operator="0.4.0"), {}),
        (cluster(mpi="intel"), {}),
        (cluster(), {"container": {"mpi": "mpich"}}),
        (cluster(sshd={"kit": "registry.example.com/kit", "folder": "/opt/kit"}), {}),
        (
            cluster(
                profile="rootless",
                run_as={"user": 1000, "home": "/home/mpiuser"},
                service_account="mpi",
                openshift=True,
            ),
            {},
        ),
        (cluster(queue="team", gang={"scheduler": "volcano"}, shm="64Gi"), {}),
        (cluster(hugepages={"2Mi": "4Gi"}), {}),
    ],
    ids=["v1alpha2", "v1", "wait", "intel", "mpich", "kit", "rootless", "queue", "hugepages"],
)
def test_each_way_to_start_ranks_is_the_same_launch(
    tmp_path: Path, site: dict[str, Any], job: dict[str, Any]
) -> None:
    one = side(*render(tmp_path, JOB, CLUSTER))
    other = side(*render(tmp_path, {**JOB, **job}, site))
    assert other.launch.unread == ()
    differences = compare(one, other)
    ours = {each.what for each in differences if each.kind != "place"}
    assert ours == ({"limit hugepages-2Mi"} if "hugepages" in site["kubernetes"] else set())
    assert all(each.why for each in differences if each.kind == "place")


@pytest.mark.parametrize(
    "site", [cluster(mpi="intel"), cluster(mpi="mpich"), CLUSTER], ids=["intel", "mpich", ""]
)
def test_settings_of_an_mpi_reach_the_ranks(tmp_path: Path, site: dict[str, Any]) -> None:
    mine = {"I_MPI_DEBUG": "5", "I_MPI_FABRICS": "shm:ofi", "OMPI_MCA_x": "y", "FI_PROVIDER": "efa"}
    launch = read(render(tmp_path, {**JOB, "env": mine}, site)[0])
    seen = {each.name: each.value for each in launch.environment}
    assert {name: seen.get(name) for name in mine} == mine
    assert not [name for name in seen if name.startswith(("I_MPI_HYDRA_", "HYDRA_", "KUBERNETES_"))]


@pytest.mark.parametrize("ranks", [1, 4])
def test_one_pod(tmp_path: Path, ranks: int) -> None:
    job = {**JOB, "nodes": 1, "ranks_per_node": ranks, "time": "1h"}
    launch = read(render(tmp_path, job, CLUSTER)[0])
    assert (launch.nodes, launch.ranks_per_node, launch.seconds, launch.apart) == (1, ranks, 3600, True)
    assert (launch.cwd, launch.wrapper, launch.numbering) == ("/work", "own", "block")
    assert {each.name for each in launch.environment} >= {"PRICE", "TOKEN", "HTTPS_PROXY"}
    assert (launch.unread, launch.unbridged) == ((), ())


# As people write them: ranks by mpirun's own words, no wrapper, and what their authors did not see.
FOREIGN = """
apiVersion: kubeflow.org/v1alpha2
kind: MPIJob
metadata: {name: tf}
spec:
  slotsPerWorker: 8
  backoffLimit: 2
  activeDeadlineSeconds: 60
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
          - name: mpi
            image: nvcr.io/nvidia/tensorflow:20.03-tf1-py3
            env: [{name: PATH, value: /usr/bin}, {name: LR, value: "$(PATH)/$$x"}, {name: LOST, value: "1"}]
            command: [mpirun, -np, "16", --allow-run-as-root, -map-by, "ppr:8:node", -bind-to, core]
            args: [-x, PATH, -x, A=1, --mca, btl, ^openib, -x, LR, python, "a b", "$(LR)", -np, "3"]
    Worker:
      replicas: 2
      template:
        spec:
          hostNetwork: true
          volumes:
          - {name: d, persistentVolumeClaim: {claimName: data, readOnly: true}}
          - {name: c, configMap: {name: conf}}
          - {name: e, emptyDir: {}}
          containers:
          - name: mpi
            image: nvcr.io/nvidia/tensorflow:20.03-tf1-py3
            resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
            securityContext: {capabilities: {add: [SYS_PTRACE]}}
            volumeMounts:
            - {name: d, mountPath: /data}
            - {name: c, mountPath: /etc/conf}
            - {name: e, mountPath: /tmp/e}
            - {name: gone, mountPath: /gone}
            lifecycle: {}
"""


def test_a_manifest_of_somebody_else() -> None:
    launch = read(FOREIGN)
    assert (launch.nodes, launch.ranks_per_node, launch.numbering) == (2, 8, "block")
    assert launch.argv == ("python", "a b", "/usr/bin/$x", "-np", "3")
    assert (launch.retries, launch.seconds, launch.apart, launch.whole_node) == (2, 60, False, False)
    assert {each.name: each.value for each in launch.environment} == {
        "PATH": "/usr/bin",
        "LR": "/usr/bin/$x",
        "A": "1",
        "OMPI_MCA_btl": "^openib",
    }
    assert launch.mounts == (
        SeenMount("/data", "claim", "data", read_only=True),
        SeenMount("/etc/conf", "config map", "conf", read_only=True),
        SeenMount("/tmp/e", "empty", ""),
    )
    assert launch.rights == ("capability SYS_PTRACE", "the node's network")
    assert launch.resources == (("rdma/ib", "1"),)
    assert launch.wrapper == ""
    assert {each.what for each in launch.unbridged} == {"mpirun --bind-to core", "no /dev/shm in memory"}
    assert [text.split(":")[0] for text in launch.unread] == [
        "spec.mpiReplicaSpecs.Worker.template.spec.containers[0].lifecycle",
        "mpi.volumeMounts[3] (/gone)",
    ]


def without_shm(launch: Launch) -> list[Unbridged]:
    return [each for each in launch.unbridged if each.what != "no /dev/shm in memory"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["mpirun", "-np", "6", "--hostfile", "/etc/mpi/hostfile", "--bind-to", "none", "a"],
            (2, "block", []),
        ),
        (["mpirun", "--bind-to", "none", "a"], (3, "block", [])),
        (["mpirun", "-npernode", "1", "--bind-to=none", "a"], (1, "block", [])),
        (["mpirun", "-n=4", "--map-by", "node", "--bind-to", "none", "a"], (2, "cyclic", [])),
        (["mpirun", "-np", "4", "--bynode", "--bind-to", "none", "a"], (2, "cyclic", [])),
        (["mpirun", "--map-by", "socket", "--bind-to", "none", "a"], (3, "by socket", [])),
        (["mpirun", "a"], (3, "block", ["mpirun without --bind-to none"])),
        (["mpirun", "--mca", "hwloc_base_binding_policy", "none", "a"], (3, "block", [])),
        (["mpirun", "--bind-to", "none", "--hostfile", "/mine", "a"], (3, "block", ["the hostfile /mine"])),
        (
            ["mpiexec.hydra", "-n", "4", "-ppn", "2", "a"],
            (2, "block", ["enableServiceLinks", "mpiImplementation for openmpi"]),
        ),
        (["sh", "-c", "mpirun a"], (1, "block", ["no mpirun"])),
    ],
)
def test_words_of_mpirun(words: list[str], expected: tuple[int, str, list[str]]) -> None:
    manifest = yaml.safe_load(FOREIGN)
    spec = manifest["spec"]["mpiReplicaSpecs"]
    spec["Launcher"]["template"]["spec"]["containers"][0].update(command=words, args=[])
    manifest["spec"]["slotsPerWorker"] = 3
    launch = read(yaml.safe_dump(manifest))
    if words[1:3] == ["-np", "6"]:
        expected = (3, *expected[1:])
    assert launch.ranks_per_node == expected[0]
    assert launch.numbering == expected[1]
    assert [each.what for each in without_shm(launch)] == expected[2]


def test_what_mpirun_is_told_and_nobody_knows_is_said() -> None:
    manifest = yaml.safe_load(FOREIGN)
    launcher = manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher.update(
        command=["mpirun", "--rankfile", "f", "-zz", "--continuous", "--bind-to", "none", "a"], args=[]
    )
    launch = read(yaml.safe_dump(manifest))
    assert launch.argv == ("a",)
    assert not launch.one_failure_ends_all
    assert {"mpirun --rankfile f", "mpirun -zz"} <= set(launch.unread)


def test_a_pod_by_itself_restarts_for_ever() -> None:
    launch = read("apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, command: [x, $(B)], args: [z]}]}")
    assert (launch.argv, launch.retries, launch.seconds) == (("x", "$(B)", "z"), -1, None)


@pytest.mark.parametrize(
    ("value", "read_as"),
    [
        ("1.5", 1.5),
        ("0x10", 16),
        ("010", 8),
        ("09", "09"),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("y", True),
    ],
)
def test_plain_scalars_are_what_the_api_server_reads(value: str, read_as: object) -> None:
    """By what it says of them where no field takes any."""
    pod = "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a, command: [x], odd: VALUE}]}"
    unread = read(pod.replace("VALUE", value)).unread
    shown = f'"{read_as}"' if isinstance(read_as, str) else str(read_as).lower()
    assert unread == (f"spec.containers[0].odd: {shown}",)
