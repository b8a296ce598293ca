"""What `status` makes of jobs, pods and events, asked of a server that speaks the API."""

import pytest
from apiobjects import BEFORE, LATER, THEN, condition, ended, event, pod, running, waiting
from apiserver import ApiServer, Object
from kubernetes_jobs import JOB, Ask, Make, asking


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


def test_a_job_of_one_pod_whose_folders_could_not_be_copied(server: ApiServer, on_kubernetes: Make) -> None:
    """The status is the copying's, as Slurm has it."""
    ask = asking(on_kubernetes(JOB))
    lines = ("there is no folder /a", "/a was not copied: status 121")
    said = "\n".join(f"hpclaunch: stage_in on dgx1: {line}" for line in lines)
    copying = {"name": "hpclaunch-stage-in", "state": ended(121, message=said)}
    pod(server, "k8s7w-1", waiting("PodInitializing"), initContainerStatuses=[copying])
    condition(server, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    seen = ask()
    assert (seen.state, seen.exit_code) == ("FAILED", 121)
    assert seen.reason.startswith("stage_in on dgx1: there is no folder /a; ")


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
