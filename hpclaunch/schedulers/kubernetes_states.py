"""From what the API says of a job, its pods and their events to one status. Pure.

Conditions: `updateMPIJobStatus` of the MPI operator 0.2.0 to 0.8.0 and of the training operator 1.8.1; batch
Jobs: pkg/controller/job/job_controller.go.
"""

import re
from collections.abc import Iterable, Sequence

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

from hpclaunch.schedulers import kubernetes_reasons as reasons
from hpclaunch.schedulers.kubernetes_objects import (
    Condition,
    ContainerStatus,
    Event,
    JobObject,
    Pod,
    Terminated,
)
from hpclaunch.values.job import JobStatus, State
from hpclaunch.values.pods import ROLE_LABEL, STAGE_IN

DELETED = "it is being deleted"
MOST_CAUSES = 2
LARGEST_SIGNAL = 64


def is_of(pod: Pod, job: JobObject) -> bool:
    """Whether a pod that carries the job's name is of this very job: an earlier one had the name too. Between
    the job and its pod may stand a Job or a StatefulSet of the operator's, which have its name."""
    name, uid = job.metadata.name, job.metadata.uid
    between = {f"{name}-launcher", f"{name}-worker"} if job.kind == "MPIJob" else set()
    return any(
        one.uid == uid or (one.name in between and pod_is_newer(pod, job))
        for one in pod.metadata.owner_references or ()
    )


def pod_is_newer(pod: Pod, job: JobObject) -> bool:
    """Whether the pod was made after the job was."""
    return (pod.metadata.creation_timestamp or "") >= (job.metadata.creation_timestamp or "")


def events_of(job: JobObject, pods: Iterable[Pod], events: Iterable[Event]) -> list[Event]:
    """What happened to the job, to its pods, and to what the operator and Kueue made for it."""
    name = job.metadata.name
    names = {name, f"{name}-launcher", f"{name}-worker", *(pod.name for pod in pods)}
    workload = re.compile(rf"{job.kind.lower()}-{re.escape(name)}-[0-9a-f]{{5}}")  # Kueue's own name for it
    return [
        one
        for one in events
        if one.involved_object.name in names
        or (one.involved_object.kind == "Workload" and workload.fullmatch(one.involved_object.name))
    ]


def launcher_of(pods: Iterable[Pod]) -> Pod | None:
    """The pod whose end is the job's: the newest launcher, or the newest pod of a job that has none."""
    newest = sorted(pods, key=lambda pod: pod.metadata.creation_timestamp or "", reverse=True)
    launchers = [pod for pod in newest if pod.metadata.label(ROLE_LABEL) == "launcher"]
    return next(iter(launchers or newest), None)


def workers_of(pods: Iterable[Pod]) -> list[Pod]:
    """The pods beside the launcher, in their order; the one pod of a job that has no launcher."""
    found = [pod for pod in pods if pod.metadata.label(ROLE_LABEL) != "launcher"]
    return sorted(found, key=lambda pod: (len(pod.name), pod.name))


def status_of(job: JobObject, pods: Sequence[Pod], events: Sequence[Event]) -> JobStatus:
    """The job's status. `pods` and `events` are its own, as far as they are still there."""
    state, reason, ended = _state(job, pods, events)
    main = launcher_of(pods)
    finished = (main.main.terminated or _not_staged(main)) if main else None
    exit_code, signal = _exit(finished) if ended and finished else (None, None)
    return JobStatus(
        state,
        reason,
        0 if state == "COMPLETED" else exit_code,
        signal,
        _nodes(pods),
        job.metadata.creation_timestamp,
        _started(job, main) if state != "PENDING" else None,
        ended,
    )


def _not_staged(pod: Pod) -> Terminated | None:
    """How the copying of folders ended that the job's own container comes after, where that failed."""
    for one in pod.status.init_container_statuses or ():
        if one.name == STAGE_IN and one.state and one.state.terminated and one.state.terminated.exit_code:
            return one.state.terminated
    return None


def _state(job: JobObject, pods: Sequence[Pod], events: Sequence[Event]) -> tuple[State, str, str | None]:
    """The state, why, and when it ended."""
    done = job.condition("Succeeded", "Complete")
    if done:
        return "COMPLETED", "", _end(job, done)
    failed = job.condition("Failed")
    if failed:
        return (*_failure(failed, pods, events), _end(job, failed))
    if job.metadata.deletion_timestamp:
        return "RUNNING", DELETED, None
    if job.suspended:
        return "PENDING", _suspended(job, events), None
    # The operator says itself when all pods of an MPIJob run; a Job has one.
    if job.condition("Running") or (job.kind == "Job" and any(pod.runs for pod in pods)):
        return "RUNNING", _causes(pods, ()), None
    if job.kind == "Job" and any(pod.main.terminated for pod in pods):
        return "RUNNING", "it is ending", None
    return "PENDING", _causes(pods, events) or _progress(job, pods), None


def _failure(failed: Condition, pods: Sequence[Pod], events: Sequence[Event]) -> tuple[State, str]:
    """The first cause of a job's failure."""
    main = launcher_of(pods)
    said = f"{failed.reason or ''} {failed.message or ''}"
    late = "DeadlineExceeded"
    if (
        late in said
        or "active longer than specified deadline" in said
        or (main and main.status.reason == late)
    ):
        return "TIMEOUT", "it reached its time limit"
    for pod in sorted(pods, key=_end_of):
        disrupted = _disruption(pod)
        if disrupted:
            return disrupted
        ended = pod.main.terminated
        if ended and ended.reason == "OOMKilled":
            return "OUT_OF_MEMORY", f"{pod.name} used more memory than its limit"
    if any(one.reason in ("Preempted", "Preempting") for one in events):
        return "PREEMPTED", "a pod of higher priority took the place of one of its pods"
    if "Evicted" in said:
        return "NODE_FAIL", f"a node evicted a pod of it: {failed.message or failed.reason}"
    if main and main.main.terminated:
        return "FAILED", _ended(main.main.terminated)
    staging = _not_staged(main) if main else None
    if staging:
        return "FAILED", reasons.not_staged(staging.message or "")
    causes = _causes(pods, events)
    return "FAILED", causes or failed.message or failed.reason or "the cluster does not say why"


def _disruption(pod: Pod) -> tuple[State, str] | None:
    """What the cluster did to a pod that did not end by itself."""
    target = pod.condition("DisruptionTarget")
    why = target.reason if target and target.status == "True" else pod.status.reason
    message = pod.status.message or (target.message if target else "") or ""
    found = reasons.DISRUPTIONS.get(why or "")
    if found is None:
        return None
    state, text = found
    if reasons.OWN_FAULT.search(message):
        return "FAILED", f"{pod.name}: {message}"
    where = f" on {pod.spec.node_name}" if pod.spec.node_name else ""
    return state, f"{pod.name}{where}: {text}{f' ({message})' if message else ''}"


def _end_of(pod: Pod) -> str:
    ended = pod.main.terminated
    return (ended.finished_at if ended else None) or "9"


def _ended(finished: Terminated) -> str:
    said = (finished.message or "").strip().splitlines()
    if said:
        return said[-1]
    if _exit(finished)[1] == 9:
        return "something killed it: perhaps the memory limit of a container"
    return "its launcher ended with an error" if finished.exit_code else "its pod was ended"


def _exit(finished: Terminated) -> tuple[int | None, int | None]:
    """Exit code or signal. A runtime gives a signal as 128 + n, as a shell does."""
    code = finished.exit_code
    if finished.signal:
        return None, finished.signal
    if 128 < code <= 128 + LARGEST_SIGNAL:
        return None, code - 128
    return code, None


def _suspended(job: JobObject, events: Sequence[Event]) -> str:
    queue = job.metadata.label("kueue.x-k8s.io/queue-name")
    if not queue:
        return "it is suspended: nobody has let it start"
    said = [one.message for one in sorted(events, key=lambda one: one.moment) if one.reason == "Pending"]
    return f"it waits in the queue {queue} of Kueue{f': {said[-1]}' if said and said[-1] else ''}"


def _progress(job: JobObject, pods: Sequence[Pod]) -> str:
    if not pods:
        taken = job.status is not None and bool(job.status.conditions)
        if job.kind == "MPIJob" and not taken:
            return "the MPI operator has not taken it up yet"
        return "its pods are not there yet"
    return f"{sum(pod.runs for pod in pods)} of its {len(pods)} pods run"


def _causes(pods: Sequence[Pod], events: Sequence[Event]) -> str:
    """Why pods do not run, the newest cause first; pods with the same one together."""
    found: list[tuple[str, str, str]] = []
    for pod in pods:
        if cause := _hindrance(pod, events):
            found.append((cause[0], cause[1], pod.name))
    waiting = {pod.name for pod in pods if not pod.runs}
    names = {pod.name for pod in pods}
    for one in events:
        about = one.involved_object
        text = reasons.event(one.reason or "", one.message or "")
        if text and (about.name in waiting or about.name not in names):
            found.append((one.moment, text, about.name if about.name in waiting else ""))
    grouped: dict[str, list[str]] = {}
    for _, text, name in sorted(found, key=lambda one: one[0], reverse=True):
        grouped.setdefault(text, []).append(name)
    return "; ".join(_of(sorted(set(who) - {""}), text) for text, who in list(grouped.items())[:MOST_CAUSES])


def _of(names: Sequence[str], text: str) -> str:
    if not names:
        return text
    return f"{names[0] if len(names) == 1 else f'{len(names)} pods'}: {text}"


def _hindrance(pod: Pod, events: Sequence[Event]) -> tuple[str, str] | None:
    """Since when, and why a pod does not run. What is so now counts as newer than any event."""
    now = "9"
    for one in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ())):
        text = _waits(pod, one, events)
        if text:
            return now, text
        if one.name == STAGE_IN and one.state and one.state.running:
            return now, reasons.STAGING
        ended = one.state.terminated if one.state else None
        if ended and (ended.exit_code or ended.reason == "OOMKilled"):
            why = "it used more memory than its limit" if ended.reason == "OOMKilled" else _code(ended)
            if one.name == STAGE_IN:
                why = f"{reasons.not_staged(ended.message or '')}; {reasons.NEVER_STARTS}"
            return ended.finished_at or now, why
    disrupted = _disruption(pod)
    if disrupted:
        return now, disrupted[1].partition(": ")[2]
    placed = pod.condition("PodScheduled")
    if placed and placed.status == "False" and placed.reason == "SchedulingGated":
        return now, "Kueue has not let it start yet"
    if placed and placed.status == "False":
        return placed.last_transition_time or now, reasons.unschedulable(placed.message or "")
    return None


def _code(ended: Terminated) -> str:
    code, signal = _exit(ended)
    return f"it was killed by signal {signal}" if signal else f"it ended with exit code {code}"


def _waits(pod: Pod, one: ContainerStatus, events: Sequence[Event]) -> str:
    waiting = one.state.waiting if one.state else None
    if waiting is None or not waiting.reason or waiting.reason in reasons.STARTING:
        return ""
    message = waiting.message or ""
    if waiting.reason in reasons.IMAGE_REASONS:
        # While it backs off, only the event still says what went wrong.
        pulls = [
            e for e in events if e.involved_object.name == pod.name and "Failed to pull" in (e.message or "")
        ]
        newest = max(pulls, key=lambda e: e.moment).message if pulls else ""
        return reasons.image(one.image or "of the job", newest or message)
    if waiting.reason == "CrashLoopBackOff" and one.last_state and one.last_state.terminated:
        return f"{reasons.WAITING[waiting.reason]}: {_code(one.last_state.terminated)}"
    text = reasons.WAITING.get(waiting.reason, f"its container waits ({waiting.reason}): {{0}}")
    return text.format(message).removesuffix(": ")


def _started(job: JobObject, main: Pod | None) -> str | None:
    if main:
        state = main.main
        known = state.running.started_at if state.running else None
        known = known or (state.terminated.started_at if state.terminated else None)
        if known:
            return known
    return job.status.start_time if job.status else None


def _end(job: JobObject, condition: Condition) -> str | None:
    known = job.status.completion_time if job.status else None
    return known or condition.last_transition_time or job.metadata.creation_timestamp


def _nodes(pods: Sequence[Pod]) -> str:
    """The nodes of the workers, as Slurm writes them: dgx[1-4]."""
    names = sorted({pod.spec.node_name for pod in workers_of(pods) if pod.spec.node_name})
    try:
        return str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ",".join(names)
