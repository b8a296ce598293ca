"""Pods and events as a cluster has them, for the server of the tests."""

from typing import Any

from apiserver import ApiServer, Object

BEFORE = "2030-01-01T10:00:00Z"
THEN = "2030-01-01T10:05:00Z"
LATER = "2030-01-01T10:09:00Z"


def waiting(reason: str, message: str = "") -> Object:
    return {"waiting": {"reason": reason, "message": message}}


def running() -> Object:
    return {"running": {"startedAt": BEFORE}}


def ended(code: int, reason: str = "", at: str = THEN, message: str = "") -> Object:
    done = {"exitCode": code, "reason": reason or ("Error" if code else "Completed"), "message": message}
    return {"terminated": {**done, "startedAt": BEFORE, "finishedAt": at}}


def pod(server: ApiServer, suffix: str, state: Object | None = None, **status: Any) -> Object:
    """A pod of the job train, such as launcher-x7k2p or worker-0, on a node of its own unless it waits for
    one. MPIJobs own their workers, and their launcher through a Job."""
    jobs = server.of("mpijobs") or server.of("jobs")
    job = jobs[0]
    role = suffix.split("-")[0] if server.of("mpijobs") else "worker"
    owner = {"kind": "MPIJob", "name": "train", "uid": job["metadata"]["uid"]}
    if role == "launcher":
        owner = {"kind": "Job", "name": "train-launcher", "uid": "the-launcher-job"}
    placed = status.pop(
        "node", None if state is None else f"dgx{suffix[-1]}" if suffix[-1].isdigit() else "cpu1"
    )
    containers = [{"name": role, "state": state, "image": "nvcr.io/x/y:1"}] if state else None
    return server.add(
        "pods",
        {
            "kind": "Pod",
            "metadata": {
                "name": f"train-{suffix}",
                "labels": {"hpclaunch/job": "train", "hpclaunch/role": role},
                "ownerReferences": [owner],
                "creationTimestamp": LATER,
            },
            "spec": {"nodeName": placed, "containers": [{"name": role, "image": "nvcr.io/x/y:1"}]},
            "status": {"phase": "Pending", "containerStatuses": containers, **status},
        },
    )


def unplaced(message: str) -> Object:
    """A pod's status while no node takes it."""
    placed = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"conditions": [{**placed, "lastTransitionTime": BEFORE}]}


def event(
    server: ApiServer, about: str, reason: str, message: str, at: str = THEN, kind: str = "Pod"
) -> None:
    number = len(server.of("events"))
    server.add(
        "events",
        {
            "metadata": {"name": f"event-{number}"},
            "involvedObject": {"kind": kind, "name": about},
            "reason": reason,
            "message": message,
            "type": "Warning",
            "lastTimestamp": at,
        },
    )


def condition(server: ApiServer, kind: str, reason: str = "", message: str = "") -> None:
    """What the controller says of the job."""
    job = (server.of("mpijobs") or server.of("jobs"))[0]
    one = {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": LATER}
    job.setdefault("status", {}).setdefault("conditions", []).append(one)
