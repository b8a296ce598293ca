"""What `status` makes of jobs, pods and events, asked of a server that speaks the API."""

from collections.abc import Callable

import pytest
from apiobjects import BEFORE, LATER, THEN, condition, ended, event, pod, running, unplaced, waiting
from apiserver import ApiServer, Object
from conftest import JOB

from hpclaunch.records.record import Record
from hpclaunch.schedulers import lifecycle
from hpclaunch.values.job import JobStatus, Submission

Make = Callable[..., Record]
Ask = Callable[[], JobStatus]


@pytest.fixture
def ask(server: ApiServer, on_kubernetes: Make) -> Ask:
    """The status of a submitted MPIJob."""
    return asking(on_kubernetes())


def asking(record: Record) -> Ask:
    lifecycle.submit(record, Submission(), pytest.fail)
    return lambda: lifecycle.ask([record], pytest.fail)[record.tag]


def test_a_life(server: ApiServer, ask: Ask) -> None:
    assert ask().state == "PENDING"
    assert ask().reason == "the MPI operator has not taken it up yet"
    condition(server, "Created")
    assert ask().reason == "its pods are not there yet"
    for name in ("worker-0", "worker-1"):
        pod(server, name, running())
    pod(server, "launcher-abcde", waiting("ContainerCreating"))
    seen = ask()
    assert (seen.state, seen.reason) == ("PENDING", "2 of its 3 pods run")
    condition(server, "Running")
    server.of("pods")[2]["status"]["containerStatuses"][0]["state"] = running()
    seen = ask()
    assert (seen.state, seen.reason, seen.started, seen.nodes) == ("RUNNING", "", BEFORE, "dgx[0-1]")
    condition(server, "Succeeded")
    server.of("pods")[2]["status"]["containerStatuses"][0]["state"] = ended(0)
    seen = ask()
    assert (seen.state, seen.exit_code, seen.exit_status) == ("COMPLETED", 0, 0)
    assert (seen.started, seen.ended) == (BEFORE, LATER)


@pytest.mark.parametrize(
    ("state", "code", "signal", "status"),
    [
        (ended(7), 7, None, 7),
        (ended(137), None, 9, 137),
        (ended(143), None, 15, 143),
        (ended(255), 255, None, 255),
    ],
)
def test_the_launcher_s_exit_is_the_job_s(
    server: ApiServer, ask: Ask, state: Object, code: int | None, signal: int | None, status: int
) -> None:
    pod(server, "worker-0", running())
    pod(server, "launcher-abcde", state)
    condition(server, "Failed", "BackoffLimitExceeded/", "Job has reached the specified backoff limit")
    seen = ask()
    assert (seen.state, seen.exit_code, seen.signal, seen.exit_status) == ("FAILED", code, signal, status)


DISRUPTED = {"type": "DisruptionTarget", "status": "True", "message": "m"}


@pytest.mark.parametrize(
    ("name", "state", "more", "failed", "expected", "words"),
    [
        ("launcher-x", ended(1), {}, ("DeadlineExceeded", ""), "TIMEOUT", "time limit"),
        (
            "launcher-x",
            ended(143),
            {"reason": "DeadlineExceeded"},
            ("MPIJobFailed", ""),
            "TIMEOUT",
            "time limit",
        ),
        (
            "launcher-x",
            ended(0),
            {},
            ("MPIJobFailed", "Job train has failed because it was active longer than specified deadline"),
            "TIMEOUT",
            "time limit",
        ),
        ("launcher-x", ended(137, "OOMKilled"), {}, ("", ""), "OUT_OF_MEMORY", "train-launcher-x"),
        ("worker-1", ended(137, "OOMKilled"), {}, ("", ""), "OUT_OF_MEMORY", "train-worker-1"),
        (
            "worker-1",
            None,
            {"reason": "Evicted", "message": "The node was low on resource: memory."},
            ("MPIJobEvicted", "1/2 workers are evicted"),
            "NODE_FAIL",
            "low on resource",
        ),
        (
            "worker-1",
            None,
            {"reason": "Evicted", "message": 'Usage of EmptyDir volume "dshm" exceeds the limit "64Gi".'},
            ("MPIJobEvicted", ""),
            "FAILED",
            "exceeds the limit",
        ),
        ("worker-1", None, {"reason": "NodeLost"}, ("", ""), "NODE_FAIL", "lost"),
        (
            "worker-1",
            ended(137),
            {"conditions": [{**DISRUPTED, "reason": "DeletionByTaintManager"}]},
            ("", ""),
            "NODE_FAIL",
            "dgx1",
        ),
        (
            "worker-1",
            ended(137),
            {"conditions": [{**DISRUPTED, "reason": "PreemptionByScheduler"}]},
            ("", ""),
            "PREEMPTED",
            "higher priority",
        ),
        (
            "launcher-x",
            ended(1),
            {"conditions": [{**DISRUPTED, "status": "False", "reason": "PreemptionByScheduler"}]},
            ("", ""),
            "FAILED",
            "",
        ),
    ],
)
def test_what_ended_a_job(
    server: ApiServer,
    ask: Ask,
    name: str,
    state: Object | None,
    more: Object,
    failed: tuple[str, str],
    expected: str,
    words: str,
) -> None:
    pod(server, name, state, node=f"dgx{name[-1]}", phase="Failed", **more)
    if not name.startswith("launcher"):
        pod(server, "launcher-x", ended(1, at=LATER))
    condition(server, "Failed", *failed)
    seen = ask()
    assert seen.state == expected
    assert words in seen.reason
    assert (seen.exit_status == 1) or expected == "FAILED"


def test_a_preempted_worker_that_was_replaced_is_told_by_its_event(server: ApiServer, ask: Ask) -> None:
    pod(server, "launcher-x", ended(1))
    pod(server, "worker-1", running())
    event(server, "train-worker-1", "Preempted", "Preempted by default/other on node dgx1")
    condition(server, "Failed", "BackoffLimitExceeded/", "")
    assert ask().state == "PREEMPTED"


def test_a_failure_without_pods_keeps_the_controller_s_words(server: ApiServer, ask: Ask) -> None:
    condition(server, "Failed", "MPIJobFailed", "MPIJob adas/train has failed")
    seen = ask()
    assert (seen.state, seen.reason) == ("FAILED", "MPIJob adas/train has failed")


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


def test_a_worker_that_fails_while_the_launcher_goes_on_is_said(server: ApiServer, ask: Ask) -> None:
    pod(server, "worker-0", running())
    pod(server, "worker-1", ended(137, "OOMKilled"))
    pod(server, "launcher-x", running())
    condition(server, "Running")
    seen = ask()
    assert (seen.state, seen.reason) == ("RUNNING", "train-worker-1: it used more memory than its limit")


def test_a_job_that_kueue_holds_is_pending(server: ApiServer, ask: Ask) -> None:
    job = server.one("mpijobs")
    job["spec"]["runPolicy"]["suspend"] = True
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "gpus"
    condition(server, "Suspended", "MPIJobSuspended")
    seen = ask()
    assert (seen.state, seen.reason) == ("PENDING", "it waits in the queue gpus of Kueue")
    event(server, "mpijob-train-8f2a1", "Pending", "insufficient unused quota", kind="Workload")
    event(server, "mpijob-train-b-8f2a1", "Pending", "another's", kind="Workload")
    assert ask().reason == "it waits in the queue gpus of Kueue: insufficient unused quota"


def test_pods_of_an_earlier_job_of_the_name_count_for_nothing(server: ApiServer, ask: Ask) -> None:
    old = pod(server, "worker-0", ended(137, "OOMKilled"))
    old["metadata"]["ownerReferences"][0]["uid"] = "of-the-earlier-one"
    launcher = pod(server, "launcher-old", ended(7))
    launcher["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"
    assert ask().reason == "the MPI operator has not taken it up yet"
    condition(server, "Failed", "MPIJobFailed", "words")
    seen = ask()
    assert (seen.exit_code, seen.reason) == (None, "words")


@pytest.mark.parametrize("api", ["v1", "v1alpha2"])
def test_the_older_versions_of_the_api(
    server: ApiServer, on_kubernetes: Make, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.served["kubeflow.org"] = ["v1alpha2", "v1"]
    made = on_kubernetes()
    made.script.write_text(made.script.read_text().replace("v2beta1", api))
    ask = asking(made)
    assert server.asked("POST")[0].path.startswith(f"/apis/kubeflow.org/{api}/")
    # v1: the launcher is a pod of the MPIJob's; v1alpha2: workers are a StatefulSet's
    owner = {"kind": "StatefulSet", "name": "train-worker", "uid": "set"} if api == "v1alpha2" else None
    worker = pod(server, "worker-0", running())
    launcher = pod(server, "launcher", ended(3))
    if owner:
        worker["metadata"]["ownerReferences"] = [owner]
    else:
        launcher["metadata"]["ownerReferences"] = worker["metadata"]["ownerReferences"]
    condition(server, "Failed", "MPIJobFailed")
    seen = ask()
    assert (seen.state, seen.exit_code, seen.nodes) == ("FAILED", 3, "dgx0")


def test_a_job_of_one_pod(server: ApiServer, on_kubernetes: Make) -> None:
    ask = asking(on_kubernetes(JOB))
    assert ask().reason == "its pods are not there yet"
    one = pod(server, "k8s7w-1", running())
    seen = ask()
    assert (seen.state, seen.nodes) == ("RUNNING", "dgx1")
    one["status"]["containerStatuses"][0]["state"] = ended(7)
    assert ask().state == "RUNNING"  # the controller has not said so yet
    condition(server, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    seen = ask()
    assert (seen.state, seen.exit_code) == ("FAILED", 7)


def test_who_may_not_see_pods_and_events_still_sees_the_state(server: ApiServer, ask: Ask) -> None:
    server.forbidden |= {("list", "pods"), ("list", "events")}
    assert ask().state == "PENDING"
    condition(server, "Running")
    assert ask().state == "RUNNING"


def test_an_object_that_is_gone_without_a_word(server: ApiServer, ask: Ask) -> None:
    condition(server, "Running")
    assert ask().state == "RUNNING"
    server.objects.clear()
    seen = ask()
    assert seen.state == "UNKNOWN"
    assert "it was last seen RUNNING" in seen.reason


def test_an_object_that_somebody_deletes(server: ApiServer, ask: Ask) -> None:
    server.one("mpijobs")["metadata"]["deletionTimestamp"] = THEN
    seen = ask()
    assert (seen.state, seen.reason) == ("RUNNING", "it is being deleted")
    server.collect()
    seen = ask()
    assert (seen.state, seen.reason) == ("CANCELLED", "somebody deleted it")
