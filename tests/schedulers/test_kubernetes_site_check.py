"""`site check` of a Kubernetes site, before a real HTTP server: what is lacking is found, one at a time."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from apiserver import ApiServer, Fault
from command import hpclaunch
from namespaces import ADAS, NODES, Cluster, named, node

from hpclaunch.cluster.drift import Compared
from hpclaunch.cluster.namespacecheck import compare_namespace
from hpclaunch.schedulers.kubernetes_cluster import Reader
from hpclaunch.schedulers.kubernetes_login import resolve
from hpclaunch.spec.read import read_site
from hpclaunch.topology import catalogue
from hpclaunch.values.clusterstate import Question

SITE = """\
version: 1
name: here
scheduler: kubernetes
node_types:
  - type: dgx-1v
    count: 2
    selector: {gpu: here}
    tolerations: [{key: nvidia.com/gpu}]
    allocatable: {cpu: 72, memory: 450Gi}
kubernetes:
  namespace: adas
  version: "1.29"
  mpi_operator: "0.8.0"
  service_account: mpi
  image_pull_secrets: [ngc]
  rdma: {mlx5_0: shared_ib0, mlx5_1: shared_ib1, mlx5_2: shared_ib2, mlx5_3: shared_ib3}
  networks: [ib0]
  hugepages: {2Mi: 1Gi}
  queue: gpu
  gang: {scheduler: volcano, queue: batch}
  priority_class: high
  secrets: {WANDB_API_KEY: {name: wandb, key: token}}
volumes:
  data: {claim: data}
  topology: {config_map: topology}
"""
CLAIM = f"{ADAS}/persistentvolumeclaims/data"
QUEUE = "/apis/kueue.x-k8s.io/v1beta1/namespaces/adas/localqueues/gpu"
NETWORK = "/apis/k8s.cni.cncf.io/v1/namespaces/adas/network-attachment-definitions/ib0"


@pytest.fixture
def cluster(server: ApiServer) -> Cluster:
    return Cluster(server)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    file = tmp_path / "here.yaml"
    file.write_text(SITE)
    return file


def check(file: Path) -> Compared:
    site = read_site(str(file)).value
    assert site.kubernetes is not None
    machines = {group.type: catalogue.load(group.type).value for group in site.node_types}
    reader = Reader(resolve(site.kubernetes.namespace, None, os.environ))
    return compare_namespace(site, machines, reader.version().split()[-1], reader.kinds, reader.ask)


def test_a_namespace_that_lacks_nothing(cluster: Cluster, site: Path) -> None:
    assert check(site) == Compared((), ())


Change = Callable[[Cluster], object]


def gone(path: str) -> Change:
    return lambda cluster: cluster.objects.pop(path)


def says(path: str, **more: object) -> Change:
    return lambda cluster: cluster.objects[path].update(more)


def first_node(section: str, **more: object) -> Change:
    return lambda cluster: cluster.lists[NODES][0][section].update(more)


def gives(resource: str, amount: str) -> Change:
    return lambda cluster: cluster.lists[NODES][0]["status"]["allocatable"].update({resource: amount})


def listed(plural: str, **spec: object) -> Change:
    return lambda cluster: cluster.lists[f"{ADAS}/{plural}"].append(named("strict", spec=spec))


def limited(**limit: object) -> Change:
    return listed("limitranges", limits=[limit])


NOT_READY = [{"type": "Ready", "status": "Unknown"}]
DRAINED = {"key": "maintenance", "effect": "NoExecute"}

LACKS: list[tuple[Change, str, str]] = [
    (
        lambda c: setattr(c, "release", "v1.28.9"),
        "kubernetes.version",
        "says 1.29, and the cluster is v1.28.9",
    ),
    (lambda c: setattr(c, "release", "v1.2"), "kubernetes.version", "says 1.29, and the cluster is v1.2"),
    (
        lambda c: c.kinds.update({"kubeflow.org/v2beta1": ["pytorchjobs"], "kubeflow.org/v1": ["mpijobs"]}),
        "kubernetes.mpi_operator",
        "has no MPIJob in version v2beta1; it has v1",
    ),
    (lambda c: c.kinds.pop("kubeflow.org/v2beta1"), "kubernetes.mpi_operator", "has no MPIJob at all"),
    (gone(f"{ADAS}/serviceaccounts/mpi"), "kubernetes.service_account", "there is no service account mpi"),
    (gone(f"{ADAS}/secrets/ngc"), "kubernetes.image_pull_secrets[0]", "there is no Secret ngc"),
    (says(f"{ADAS}/secrets/ngc", type="Opaque"), "kubernetes.image_pull_secrets[0]", "is of type Opaque"),
    (gone(f"{ADAS}/secrets/wandb"), "kubernetes.secrets.WANDB_API_KEY", "there is no Secret wandb"),
    (
        says(f"{ADAS}/secrets/wandb", data={"key": "", "url": ""}),
        "kubernetes.secrets.WANDB_API_KEY",
        "has no key token; it has key, url",
    ),
    (gone(NETWORK), "kubernetes.networks[0]", "there is no NetworkAttachmentDefinition ib0"),
    (gone(QUEUE), "kubernetes.queue", "there is no LocalQueue gpu"),
    (
        says(QUEUE, status={"conditions": [{"type": "Active", "status": "False", "message": "no quota"}]}),
        "kubernetes.queue",
        "is not active: no quota",
    ),
    (lambda c: c.kinds.pop("kueue.x-k8s.io/v1beta1"), "kubernetes.queue", "Kueue is not installed"),
    (lambda c: c.kinds.pop("scheduling.volcano.sh/v1beta1"), "kubernetes.gang", "Volcano is not installed"),
    (
        gone("/apis/scheduling.volcano.sh/v1beta1/queues/batch"),
        "kubernetes.gang.queue",
        "there is no queue batch",
    ),
    (
        gone("/apis/scheduling.k8s.io/v1/priorityclasses/high"),
        "kubernetes.priority_class",
        "there is no priority class high",
    ),
    (gone(CLAIM), "volumes.data.claim", "there is no claim data"),
    (says(CLAIM, status={"phase": "Pending"}), "volumes.data.claim", "is Pending, and no volume is bound"),
    (
        lambda c: c.objects[CLAIM]["spec"].update(accessModes=["ReadWriteOnce"]),
        "volumes.data.claim",
        "is ReadWriteOnce: pods on several nodes cannot have it",
    ),
    (gone(f"{ADAS}/configmaps/topology"), "volumes.topology.config_map", "there is no config map topology"),
    (
        lambda c: c.objects[ADAS]["metadata"].update(
            labels={"pod-security.kubernetes.io/enforce": "baseline"}
        ),
        "kubernetes.namespace",
        "held to the Pod Security Standard baseline, and jobs need privileged: baseline forbids IPC_LOCK",
    ),
    (
        lambda c: c.denied.add(("create", "mpijobs")),
        "kubernetes.namespace",
        "you may not create mpijobs in adas",
    ),
    (lambda c: c.denied.add(("list", "events")), "kubernetes.namespace", "you may not list events in adas"),
    (
        lambda c: [one["metadata"]["labels"].pop("gpu") for one in c.lists[NODES][:2]],
        "node_types[0].selector",
        "no node has the labels gpu=here",
    ),
    (
        lambda c: c.lists[NODES].pop(0),
        "node_types[0]",
        "1 node has the labels gpu=here, and the site says 2",
    ),
    (
        lambda c: [one["spec"].update(unschedulable=True) for one in c.lists[NODES][:2]],
        "node_types[0]",
        "no pods go to dgx[01-02], which are all",
    ),
    (
        first_node("spec", taints=[DRAINED]),
        "node_types[0].tolerations",
        "the taint maintenance:NoExecute of dgx01 keeps jobs away: add {key: maintenance}",
    ),
    (gives("nvidia.com/gpu", "7"), "node_types[0]", "dgx01: 7 nvidia.com/gpu to give, and a job on a whole"),
    (gives("rdma/shared_ib2", "0"), "node_types[0]", "dgx01: 0 rdma/shared_ib2 to give"),
    (gives("hugepages-2Mi", "512Mi"), "node_types[0]", "dgx01: 512Mi hugepages-2Mi to give"),
    (gives("cpu", "71500m"), "node_types[0].allocatable", "71500m cpu to give"),
    (gives("cpu", "71500m"), "node_types[0].allocatable", "asks for 72: write cpu: 71"),
    (
        gives("memory", "456340272Ki"),
        "node_types[0].allocatable",
        "asks for 450Gi: write memory: 445644Mi",
    ),
    (
        listed("resourcequotas", hard={"requests.nvidia.com/gpu": "4", "pods": "50"}),
        "kubernetes.namespace",
        "the quota strict allows 4 requests.nvidia.com/gpu, and a job on a whole dgx-1v needs 8",
    ),
    (
        listed("resourcequotas", hard={"limits.memory": "100Gi"}),
        "kubernetes.namespace",
        "100Gi limits.memory",
    ),
    (listed("resourcequotas", hard={"pods": "1"}), "kubernetes.namespace", "allows 1 pods"),
    (
        limited(type="Container", max={"memory": "64Gi"}),
        "kubernetes.namespace",
        "lets a container have 64Gi memory, and a job on a whole dgx-1v asks for 450Gi",
    ),
    (
        limited(type="Pod", min={"cpu": "4"}),
        "kubernetes.launcher",
        "wants 4 cpu of each pod, and launchers ask for 2",
    ),
]


@pytest.mark.parametrize(
    ("change", "key", "said"), LACKS, ids=[f"{case[1]}: {case[2][:40]}" for case in LACKS]
)
def test_one_thing_that_is_lacking(cluster: Cluster, site: Path, change: Change, key: str, said: str) -> None:
    change(cluster)
    found = check(site)
    assert [drift.key for drift in found.drift] == [key], found
    assert said in found.drift[0].message
    assert found.unchecked == ()


GOOD: list[Change] = [
    lambda c: setattr(c, "release", "v1.29.0-eks-1"),
    # A claim whose volume is made when the first pod comes.
    lambda c: (
        c.objects[CLAIM]["status"].update(phase="Pending"),
        c.objects["/apis/storage.k8s.io/v1/storageclasses/static"].update(
            volumeBindingMode="WaitForFirstConsumer"
        ),
    ),
    lambda c: (
        c.kinds.update({"kueue.x-k8s.io/v1beta2": ["localqueues"], "kueue.x-k8s.io/v1beta1": ["localqueues"]})
        or c.objects.update({QUEUE.replace("v1beta1", "v1beta2"): named("gpu")})
    ),
    first_node("spec", taints=[{"key": "maintenance", "effect": "PreferNoSchedule"}]),
    gives("memory", "451Gi"),
    listed("resourcequotas", hard={"requests.nvidia.com/gpu": "8", "count/mpijobs.kubeflow.org": "1"}),
    limited(type="PersistentVolumeClaim", max={"storage": "1Gi"}),
    limited(type="Container", max={"nvidia.com/gpu": "8"}, min={"cpu": "2", "memory": "1Gi"}),
    lambda c: c.objects[ADAS]["metadata"].update(labels={"pod-security.kubernetes.io/warn": "restricted"}),
]


@pytest.mark.parametrize("change", GOOD)
def test_what_is_no_lack(cluster: Cluster, site: Path, change: Change) -> None:
    change(cluster)
    assert check(site).drift == ()


@pytest.mark.parametrize(
    ("part", "key", "said"),
    [
        ("/nodes", "node_types", "you may not see nodes"),
        ("/secrets/ngc", "kubernetes.image_pull_secrets[0]", "you may not see the Secret ngc"),
        ("/priorityclasses", "kubernetes.priority_class", "you may not see the priority class high"),
        ("/resourcequotas", "kubernetes.namespace", "you may not see resource quotas"),
        ("/persistentvolumeclaims", "volumes.data.claim", "you may not see the claim data"),
    ],
)
def test_what_may_not_be_seen_is_not_called_lacking(
    cluster: Cluster, site: Path, part: str, key: str, said: str
) -> None:
    cluster.hidden.add(part)
    assert check(site) == Compared((), (f"{key}: {said}",))


def test_some_nodes_that_rest_are_said_and_no_lack(cluster: Cluster, site: Path) -> None:
    cluster.lists[NODES][0]["status"]["conditions"] = NOT_READY
    found = check(site)
    assert found.drift == ()
    assert found.unchecked == ("node_types[0]: no pods go to dgx01 now: not ready, or cordoned",)


def test_a_quota_for_some_pods_is_not_judged(cluster: Cluster, site: Path) -> None:
    listed("resourcequotas", hard={"pods": "0"}, scopes=["BestEffort"])(cluster)
    found = check(site)
    assert (found.drift, len(found.unchecked)) == ((), 1)


def test_nodes_by_name_and_in_pages(cluster: Cluster, site: Path) -> None:
    """1,200 nodes come in three parts; the two that are not there are named."""
    cluster.lists[NODES] = [node(f"dgx{number:04}") for number in range(1, 1201)]
    text = SITE.replace("count: 2", 'hosts: "dgx[0001-1202]"').replace("    selector: {gpu: here}\n", "")
    site.write_text(text)
    found = check(site)
    assert [(drift.key, drift.message) for drift in found.drift] == [
        ("node_types[0].hosts", "no node has the name dgx[1201-1202] (kubernetes.io/hostname)")
    ]


def test_without_labels_and_names_nodes_are_known_by_their_gpus(cluster: Cluster, site: Path) -> None:
    site.write_text(SITE.replace("    selector: {gpu: here}\n", ""))
    assert check(site).drift == ()
    cluster.lists[NODES] = cluster.lists[NODES][2:]
    assert [drift.message for drift in check(site).drift] == ["no node has GPUs to give"]


def test_a_namespace_that_is_not_there_is_the_one_thing_said(cluster: Cluster, site: Path) -> None:
    cluster.objects.clear()
    assert [drift.message for drift in check(site).drift] == ["there is no namespace adas"]


def test_openshift_is_asked_whether_the_account_may_use_the_scc(cluster: Cluster, site: Path) -> None:
    site.write_text(SITE.replace("namespace: adas", "namespace: adas\n  openshift: true"))
    assert check(site).drift == ()
    asked = cluster.reviews[-1]
    assert asked["kind"] == "LocalSubjectAccessReview"
    assert asked["metadata"]["namespace"] == "adas"
    assert asked["spec"]["user"] == "system:serviceaccount:adas:mpi"
    assert asked["spec"]["resourceAttributes"]["name"] == "hpclaunch-adas-mpi"
    cluster.denied.add(("use", "securitycontextconstraints"))
    (drift,) = check(site).drift
    assert drift.message.startswith("the account mpi may not use the SCC hpclaunch-adas-mpi")
    cluster.hidden.add("localsubjectaccessreviews")
    found = check(site)
    assert (found.drift, len(found.unchecked)) == ((), 1)


def test_a_secrets_values_are_dropped_where_they_arrive(cluster: Cluster, server: ApiServer) -> None:
    reply = Reader(resolve("adas", None, os.environ)).ask(Question("secrets", "wandb"))
    assert reply.body["data"] == {"token": ""}


def test_the_command(cluster: Cluster, site: Path) -> None:
    good = hpclaunch("site", "check", site)
    assert (good.returncode, good.stdout) == (0, "here: the site file and the cluster agree\n")
    cluster.objects.pop(f"{ADAS}/serviceaccounts/mpi")
    cluster.hidden.add("/nodes")
    bad = hpclaunch("site", "check", site)
    assert bad.returncode == 1
    assert bad.stdout == "drift: kubernetes.service_account: there is no service account mpi\n"
    assert bad.stderr == "hpclaunch: not checked: node_types: you may not see nodes\n"
    told = json.loads(hpclaunch("site", "check", site, "--json").stdout)
    assert [each["key"] for each in told["drift"]] == ["kubernetes.service_account"]


def test_a_cluster_that_does_not_answer(server: ApiServer, cluster: Cluster, site: Path) -> None:
    server.faults += [Fault("GET", "/version", drop="before") for _ in range(10)]
    done = hpclaunch("site", "check", site)
    assert (done.returncode, done.stdout) == (3, "")
    assert "cannot be reached" in done.stderr


def test_a_wrong_site_is_said_with_its_place(cluster: Cluster, site: Path) -> None:
    site.write_text(SITE.replace("mlx5_0: shared_ib0", "mlx5_9: shared_ib0"))
    done = hpclaunch("site", "check", site)
    assert done.returncode == 2
    assert f"{site}:16:18: mlx5_9 is no HCA of dgx-1v" in done.stderr
