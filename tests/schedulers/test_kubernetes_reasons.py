"""Why a job does not start, in plain words: what the scheduler, the kubelet and controllers say of it."""

import pytest
from apiobjects import BEFORE, THEN, condition, ended, event, pod, running, unplaced, waiting
from apiserver import ApiServer, Object
from kubernetes_jobs import Ask

FULL = (
    "0/12 nodes are available: 4 Insufficient nvidia.com/gpu, 3 node(s) had untolerated taint "
    "{nvidia.com/gpu: present}, 2 node(s) didn't match Pod's node affinity/selector, 2 node(s) didn't match "
    "pod anti-affinity rules, 1 node(s) had untolerated taint {node.kubernetes.io/unschedulable: }. "
    "preemption: 0/12 nodes are available: 12 Preemption is not helpful for scheduling.."
)
OLD = (
    "0/5 nodes are available: 2 Insufficient rdma/shared_ib0, 3 node(s) had taint "
    "{node-role.kubernetes.io/master: }, that the pod didn't tolerate."
)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            FULL,
            "no node can take it: of 12 nodes 4 with too little nvidia.com/gpu free, 1 cordoned, 3 with "
            "the taint nvidia.com/gpu: present, which the job does not tolerate, 2 not of those that the job "
            "asks for, 2 with a worker of this job already",
        ),
        (
            OLD,
            "no node can take it: of 5 nodes 2 with too little rdma/shared_ib0 free, 3 with the taint "
            "node-role.kubernetes.io/master, which the job does not tolerate",
        ),
        (
            '0/3 nodes are available: persistentvolumeclaim "adas-data-pvc" not found. preemption: none',
            "there is no claim adas-data-pvc in the namespace",
        ),
        ("pod has unbound immediate PersistentVolumeClaims", "a claim of it has no volume yet"),
        ("something new", "no node takes it: something new"),
    ],
)
def test_why_no_node_takes_a_pod(server: ApiServer, ask: Ask, message: str, reason: str) -> None:
    pod(server, "worker-0", running())
    pod(server, "worker-1", **unplaced(message))
    seen = ask()
    assert (seen.state, seen.reason) == ("PENDING", f"train-worker-1: {reason}")


def test_pods_with_the_same_trouble_are_one_line(server: ApiServer, ask: Ask) -> None:
    for number in range(3):
        pod(server, f"worker-{number}", **unplaced("0/4 nodes are available: 4 Insufficient cpu."))
    assert ask().reason == "3 pods: no node can take it: of 4 nodes 4 with too little cpu free"


@pytest.mark.parametrize(
    ("state", "said", "words"),
    [
        (
            waiting("ImagePullBackOff", 'Back-off pulling image "nvcr.io/x/y:1"'),
            'Failed to pull image "nvcr.io/x/y:1": rpc error: unexpected status: 401 Unauthorized',
            "the image nvcr.io/x/y:1 cannot be pulled: the registry wants a login",
        ),
        (
            waiting("ErrImagePull", "rpc error: code = NotFound desc = nvcr.io/x/y:1: not found"),
            "",
            "cannot be pulled: the registry has no such image or tag",
        ),
        (
            waiting("ErrImagePull", "dial tcp: lookup nvcr.io: no such host"),
            "",
            "the node cannot reach the registry",
        ),
        (
            waiting("CreateContainerConfigError", 'secret "train-env" not found'),
            "",
            'its container cannot be set up: secret "train-env" not found',
        ),
        (waiting("CrashLoopBackOff", "back-off 10s"), "", "its container ends again and again"),
        (waiting("SomethingNew", "words"), "", "its container waits (SomethingNew): words"),
    ],
)
def test_why_a_container_does_not_start(
    server: ApiServer, ask: Ask, state: Object, said: str, words: str
) -> None:
    pod(server, "worker-0", state)
    if said:
        event(server, "train-worker-0", "Failed", said)
    seen = ask()
    assert seen.state == "PENDING"
    assert seen.reason.startswith("train-worker-0: ")
    assert words in seen.reason


@pytest.mark.parametrize(
    ("about", "reason", "message", "words"),
    [
        (
            "train-worker-0",
            "FailedMount",
            'MountVolume.SetUp failed for volume "v": hostPath type check failed: /raid is not a directory',
            "a path of its mounts is not on the node",
        ),
        ("train-worker-0", "FailedMount", "Unable to attach or mount volumes", "a volume cannot be mounted"),
        ("train-worker-0", "FailedCreatePodSandBox", "multus: no net1", "its network cannot be set up"),
        ("train", "FailedCreate", 'pods "x" is forbidden: exceeded quota: gpus', "quota is used up"),
        (
            "train-launcher",
            "FailedCreate",
            "unable to validate against any security context constraint: [...]",
            "no SCC allows its pods",
        ),
        ("train", "FailedCreate", 'violates PodSecurity "restricted:latest"', "PodSecurity level"),
        ("train", "FailedCreate", 'serviceaccount "mpi" not found', "service account is missing"),
        ("train", "ValidationError", "spec.x: Required value", "the MPI operator refuses it"),
    ],
)
def test_what_happened_to_a_job_that_does_not_start(
    server: ApiServer, ask: Ask, about: str, reason: str, message: str, words: str
) -> None:
    if about == "train-worker-0":
        pod(server, "worker-0", waiting("ContainerCreating"))
    event(server, about, reason, message)
    event(server, "another-job", "FailedCreate", "nothing of ours")
    seen = ask()
    assert seen.state == "PENDING"
    assert words in seen.reason
    assert message in seen.reason
    assert "nothing of ours" not in seen.reason


def test_the_newest_cause_comes_first_and_what_is_so_now_before_all(server: ApiServer, ask: Ask) -> None:
    pod(server, "worker-0", waiting("ContainerCreating"))
    event(server, "train-worker-0", "FailedAttachVolume", "first", at=BEFORE)
    event(server, "train-worker-0", "FailedMount", "second", at=THEN)
    first, second = ask().reason.split("; ")
    assert "second" in first
    assert "first" in second
    pod(server, "worker-1", waiting("InvalidImageName", "third"))
    assert "third" in ask().reason.split("; ")[0]


def test_old_events_do_not_blame_a_job_that_runs(server: ApiServer, ask: Ask) -> None:
    pod(server, "worker-0", running())
    pod(server, "launcher-x", running())
    event(server, "train-worker-0", "FailedMount", "long ago", at=BEFORE)
    condition(server, "Running")
    assert ask().reason == ""


def staging(state: Object) -> Object:
    return {"initContainerStatuses": [{"name": "hpclaunch-stage-in", "state": state, "image": "x"}]}


def test_folders_that_are_being_copied(server: ApiServer, ask: Ask) -> None:
    pod(server, "worker-0", running())
    pod(server, "worker-1", waiting("PodInitializing"), **staging(running()))
    seen = ask()
    assert (seen.state, seen.reason) == (
        "PENDING",
        "train-worker-1: folders are being copied to its node (stage_in)",
    )


def test_folders_that_could_not_be_copied(server: ApiServer, ask: Ask) -> None:
    said = (
        "hpclaunch: stage_in on dgx003: copying imagenet\ncp: write error: No space left on device\n"
        "hpclaunch: stage_in on dgx003: imagenet was not copied: status 1\n"
    )
    pod(server, "worker-0", running())
    pod(server, "worker-1", waiting("PodInitializing"), **staging(ended(1, message=said)))
    seen = ask()
    assert seen.state == "PENDING"
    words = "cp: write error: No space left on device; stage_in on dgx003: imagenet was not copied: status 1"
    assert seen.reason == f"train-worker-1: {words}; the MPI operator leaves such a job as it is: cancel it"
