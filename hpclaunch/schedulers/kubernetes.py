"""Kubernetes and OpenShift: MPIJobs and Jobs through the API server.

The object's name is a lock, so a submission that is sent twice makes one job. Its label hpclaunch/tag tells
whose job it is. A job is asked for together with all others in its namespace.
"""

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from hpclaunch.records.record import Cluster, Record, now
from hpclaunch.schedulers import kubernetes_logs, kubernetes_secret
from hpclaunch.schedulers.contract import AT_ONCE, Refused, Warn
from hpclaunch.schedulers.kubernetes_client import Client
from hpclaunch.schedulers.kubernetes_errors import CONFLICT, FORBIDDEN, Answer
from hpclaunch.schedulers.kubernetes_manifest import (
    TAG_LABEL,
    Kind,
    Manifest,
    manifest_of,
    read_manifest,
)
from hpclaunch.schedulers.kubernetes_objects import JobObject, Pod
from hpclaunch.schedulers.kubernetes_refusals import explained, taken
from hpclaunch.schedulers.kubernetes_secret import Variables
from hpclaunch.schedulers.kubernetes_states import (
    DELETED,
    events_of,
    is_of,
    launcher_of,
    status_of,
    workers_of,
)
from hpclaunch.values.errors import SchedulerError, first_line
from hpclaunch.values.job import JobStatus, Submission
from hpclaunch.values.pods import JOB_LABEL

LONGEST_SELECTOR = 50  # labels by value; a longer one would not fit in a URL


class _Target(Struct, frozen=True):
    variables_secret: str = ""


class _Plan(Struct, frozen=True):
    target: _Target = _Target()


class Kubernetes:
    """One namespace of one cluster."""

    slowest_poll_s = 5.0
    log_poll_s = 1.0
    keeps_ended = True
    settled_after_s = 0.0  # a second request finds the name taken
    tries_again = True
    at_once = AT_ONCE

    def __init__(self, cluster: Cluster):
        self._client = Client(cluster)

    def version(self) -> str:
        """For example "Kubernetes v1.29.3"."""
        try:
            return self._client.version()
        except Answer as error:
            if error.code == FORBIDDEN:  # some clusters tell it to administrators alone
                return "Kubernetes"
            raise

    def check(self, text: str) -> list[str]:
        """Whether the cluster would take the manifest: its remarks. Raises Refused where it would not."""
        manifest = read_manifest(text, self._client.cluster.namespace)
        try:
            return self._client.create(manifest, dry_run=True)[1]
        except Answer as error:
            raise explained(self._client, error, manifest) from error

    def submit(self, record: Record, submission: Submission, warn: Warn) -> str:
        """Makes the object, and before it the Secret of its variables. Gives the object's name.

        Raises Refused, HpclaunchError where the record cannot be read, and SchedulerError where the object
        may have been made nevertheless.
        """
        manifest = _tagged(manifest_of(record), record.tag)
        try:
            variables = kubernetes_secret.make(self._client, manifest, submission, record.tag)
        except Refused:
            raise
        except SchedulerError as error:
            raise Refused(str(error)) from error  # without its Secret no job was sent
        except KeyboardInterrupt:
            _warn_of_secret(submission.secret_name, warn)
            raise
        try:
            job, remarks = self._client.create(manifest)
        except Answer as error:
            job, remarks = self._ours(error, manifest, record.tag, variables, warn), []
        except (SchedulerError, KeyboardInterrupt):
            _warn_of_secret(variables.name if variables else "", warn)
            raise
        for remark in remarks:
            warn(remark)
        if variables:
            self._hand_over(variables, manifest.kind, job, warn)
        return manifest.name

    def locate(self, records: Sequence[Record]) -> dict[str, str]:
        """Looks for the tags among the namespace's objects. A Secret that waits for its job gets it."""
        found = self._jobs(records)
        for record in records:
            if record.tag in found:
                self._adopt(record, found[record.tag])
        return {tag: job.metadata.name for tag, job in found.items()}

    def doubts(self, records: Sequence[Record]) -> dict[str, str]:
        """None: a job that somebody deleted is not there, and may be sent again."""
        return {}

    def status(self, records: Sequence[Record]) -> dict[str, JobStatus]:
        """Asks once for all objects of a kind, once for their pods, and once for what happened."""
        jobs = self._jobs(records)
        pods = self._pods(jobs.values())
        unsettled = any(not job.condition("Succeeded", "Complete", "Running") for job in jobs.values())
        events = self._client.events() if unsettled else []
        result = {}
        for record in records:
            job = jobs.get(record.tag)
            if job is not None:
                own = [pod for pod in pods if is_of(pod, job)]
                result[record.tag] = status_of(job, own, events_of(job, own, events))
            elif gone := _gone(record):
                result[record.tag] = gone
        return result

    def cancel(self, record: Record) -> None:
        """Deletes the object with all that belongs to it; its log is brought before. Its name is free when
        all its pods have ended."""
        manifest = manifest_of(record)
        job = self._own(manifest, record.tag)
        if job is None:
            return
        self._keep_log(record)
        ended = job.condition("Succeeded", "Complete", "Failed") is not None
        if not ended:
            _mark(record, True)
        try:
            self._client.delete(manifest.kind, job)
        except Refused:
            if not ended:
                _mark(record, False)
            raise

    def bring_log(self, record: Record) -> None:
        """Brings what the launcher, or the one pod, has written into the record's log."""
        if kubernetes_logs.is_whole(record.log):
            return
        pods = self.own_pods(record)
        launcher = launcher_of(pods)
        if launcher:
            kubernetes_logs.bring(self._client, launcher, record.log)

    def bring_worker_logs(self, record: Record) -> None:
        """Brings what the workers have written into files of the record, one for each: POD.log."""
        for pod in workers_of(self.own_pods(record)):
            kubernetes_logs.bring(self._client, pod, record.log.with_name(f"{pod.name}.log"))

    def worker_logs(self, record: Record) -> list[Path]:
        """The workers' logs that were brought so far."""
        found = [path for path in record.log.parent.glob("*.log") if path != record.log]
        return sorted(found, key=lambda path: (len(path.name), path.name))

    def own_pods(self, record: Record) -> list[Pod]:
        """The job's pods that are there now; none where you may not list pods."""
        job = self._own(manifest_of(record), record.tag)
        return [pod for pod in self._pods([job]) if is_of(pod, job)] if job else []

    def _jobs(self, records: Sequence[Record]) -> dict[str, JobObject]:
        """Tag -> object, for those that are there."""
        kinds: dict[Kind, list[str]] = {}
        for record in records:
            kinds.setdefault(manifest_of(record).kind, []).append(record.tag)
        found = {}
        for kind, tags in kinds.items():
            for job in self._client.jobs(kind, _selector(TAG_LABEL, tags)):
                if job.metadata.label(TAG_LABEL) in tags:
                    found[job.metadata.label(TAG_LABEL)] = msgspec.structs.replace(job, kind=kind.name)
        return found

    def _pods(self, jobs: Iterable[JobObject]) -> list[Pod]:
        names = [job.metadata.label(JOB_LABEL) or job.metadata.name for job in jobs]
        return self._client.pods(_selector(JOB_LABEL, names)) if names else []

    def _own(self, manifest: Manifest, tag: str) -> JobObject | None:
        job = self._client.job(manifest.kind, manifest.name)
        if job is None or job.metadata.label(TAG_LABEL) != tag:
            return None
        return msgspec.structs.replace(job, kind=manifest.kind.name)

    def _ours(
        self, error: Answer, manifest: Manifest, tag: str, variables: Variables | None, warn: Warn
    ) -> JobObject:
        """The object, where the refusal says only that our own first request arrived. Raises Refused."""
        refused: SchedulerError = error
        try:
            if error.code == CONFLICT and error.reason == "AlreadyExists":
                there = self._client.job(manifest.kind, manifest.name)
                if there and there.metadata.label(TAG_LABEL) == tag:
                    return there
                refused = taken(manifest, there)
            else:
                refused = explained(self._client, error, manifest)
        except Answer as second:
            refused = second
        if variables and (stays := variables.remove(self._client)):
            warn(stays)
        raise refused from error

    def _adopt(self, record: Record, job: JobObject) -> None:
        try:
            plan = msgspec.json.decode((record.folder / "plan.json").read_bytes(), type=_Plan)
        except (OSError, msgspec.DecodeError):
            return
        name = plan.target.variables_secret
        variables = kubernetes_secret.of(self._client, name, record.tag) if name else None
        if variables:
            variables.give_to(self._client, manifest_of(record).kind, job)

    def _hand_over(self, variables: Variables, kind: Kind, job: JobObject, warn: Warn) -> None:
        try:
            variables.give_to(self._client, kind, job)
        except SchedulerError as error:
            name, why = variables.name, first_line(error)
            warn(f"the Secret {name} will stay when the job is deleted, remove it then: {why}")

    def _keep_log(self, record: Record) -> None:
        try:
            self.bring_log(record)
        except (SchedulerError, OSError):
            return  # the job's end matters more than its log


def _warn_of_secret(name: str, warn: Warn) -> None:
    if name:
        warn(f"the Secret {name} has its variables; delete it if no job comes of this")


def _mark(record: Record, cancelled: bool) -> None:
    """A record that cannot be written is no reason to let a job run on."""
    with contextlib.suppress(OSError):
        record.cancelled(cancelled)


def _tagged(manifest: Manifest, tag: str) -> Manifest:
    metadata = manifest.body["metadata"]
    labels = {**(metadata.get("labels") or {}), TAG_LABEL: tag}
    body = {**manifest.body, "metadata": {**metadata, "labels": labels}}
    return msgspec.structs.replace(manifest, body=body)


def _selector(label: str, values: Iterable[str]) -> str:
    wanted = sorted(set(values))
    return f"{label} in ({','.join(wanted)})" if len(wanted) <= LONGEST_SELECTOR else label


def _gone(record: Record) -> JobStatus | None:
    """The status of a job whose object is not there any more, where it is known why."""
    state = record.state()
    last = state.status or JobStatus("UNKNOWN")
    if last.has_ended:
        return last
    if state.cancelled:
        reason = "it was cancelled"
    elif last.reason == DELETED:
        reason = "somebody deleted it"
    else:
        return None
    return msgspec.structs.replace(last, state="CANCELLED", reason=reason, ended=now())
