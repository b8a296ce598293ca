"""The Secret with the variables that a job takes from the submitter's shell.

It is made before the job, so that no pod waits for it, and belongs to the job afterwards, so that it goes
with it. Its values are in the request that makes it, and nowhere else.
"""

import base64
import os
from typing import Any

from msgspec import Struct

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.kubernetes_client import Client
from hpclaunch.schedulers.kubernetes_errors import CONFLICT, LATER, Answer
from hpclaunch.schedulers.kubernetes_manifest import TAG_LABEL, Kind, Manifest
from hpclaunch.schedulers.kubernetes_objects import JobObject, SecretObject
from hpclaunch.schedulers.kubernetes_refusals import taken
from hpclaunch.values.errors import SchedulerError, first_line
from hpclaunch.values.job import Submission
from hpclaunch.values.pods import JOB_LABEL, MANAGED


class Variables(Struct, frozen=True):
    """The Secret that a submission has made."""

    made: SecretObject

    @property
    def name(self) -> str:
        return self.made.metadata.name

    def give_to(self, client: Client, kind: Kind, job: JobObject) -> None:
        """From now on it is deleted with the job. Raises SchedulerError."""
        owner = {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "name": job.metadata.name,
            "uid": job.metadata.uid,
        }
        client.change_secret(self.name, {"metadata": {"ownerReferences": [owner]}})

    def remove(self, client: Client) -> str:
        """Removes it after a submission that made no job; what is to be said where it stays."""
        try:
            client.delete_secret(self.made)
        except SchedulerError as error:
            return f"the Secret {self.name} with the job's variables stays: {first_line(error)}"
        return ""


def make(client: Client, manifest: Manifest, submission: Submission, tag: str) -> Variables | None:
    """Makes the Secret, where there is something to put in it. Raises SchedulerError."""
    values = {**submission.environment, **submission.secrets}
    if not submission.secret_name or not values:
        return None
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": submission.secret_name,
            "labels": {MANAGED[0]: MANAGED[1], JOB_LABEL: manifest.name, TAG_LABEL: tag},
        },
        "type": "Opaque",
        "immutable": True,
        "data": {name: base64.b64encode(os.fsencode(value)).decode() for name, value in values.items()},
    }
    try:
        return Variables(_made(client, manifest, body, tag))
    except SchedulerError as error:
        raise _hidden(error, body) from None


def of(client: Client, name: str, tag: str) -> Variables | None:
    """The Secret of that name, if this submission made it and no job has it yet."""
    try:
        found = client.secret(name)
    except SchedulerError:
        return None
    mine = found.metadata.label(TAG_LABEL) == tag and not found.metadata.owner_references
    return Variables(found) if mine else None


def _made(client: Client, manifest: Manifest, body: dict[str, Any], tag: str) -> SecretObject:
    try:
        return client.make_secret(body)
    except Answer as error:
        if error.code != CONFLICT or error.reason != "AlreadyExists":
            raise
    there = client.secret(body["metadata"]["name"])
    if there.metadata.label(TAG_LABEL) == tag:
        return there  # the answer to the first request was lost
    job = client.job(manifest.kind, manifest.name)
    if job:
        raise taken(manifest, job)
    if there.metadata.owner_references:
        client.delete_secret(there)  # its job is gone, and so would it be in a moment
        return client.make_secret(body)
    name, namespace = there.metadata.name, client.cluster.namespace
    raise Refused(
        f"namespace {namespace} has a Secret {name} already, with the variables of another submission",
        f"Use another name (--set name=NAME), or see whose it is: `kubectl -n {namespace} describe secret "
        f"{name}`; without a job it can be deleted.",
    )


def _hidden(error: SchedulerError, body: dict[str, Any]) -> SchedulerError:
    """The error, without words of the server that repeat a value: a webhook may quote what it refuses, also
    with other white space, and one that fails what it was given."""
    said = _without_blanks(str(error))
    values = [one for encoded in body["data"].values() for one in (encoded, _text(encoded))]
    if not any(one and one in said for one in map(_without_blanks, values)):
        return error
    name = body["metadata"]["name"]
    if isinstance(error, Answer):
        return Answer(error.code, f"the cluster refused the Secret {name} ({error.code})")
    return SchedulerError(f"the cluster failed to make the Secret {name}", LATER)


def _text(encoded: str) -> str:
    return os.fsdecode(base64.b64decode(encoded))


def _without_blanks(text: str) -> str:
    return "".join(text.split())
