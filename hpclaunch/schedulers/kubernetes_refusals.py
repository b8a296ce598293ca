"""Why an object was not made: its name is taken, or the cluster lacks its kind or namespace."""

import msgspec

from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record
from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.kubernetes_client import Client
from hpclaunch.schedulers.kubernetes_errors import NOT_FOUND, Answer
from hpclaunch.schedulers.kubernetes_manifest import TAG_LABEL, Manifest
from hpclaunch.schedulers.kubernetes_objects import JobObject
from hpclaunch.schedulers.kubernetes_states import status_of
from hpclaunch.values.errors import HpclaunchError, SchedulerError


def taken(manifest: Manifest, there: JobObject | None) -> Refused:
    """The object `there` has the name; None: it has just gone."""
    kind, name, namespace = manifest.kind.name, manifest.name, manifest.namespace
    other = "or give this one another name: --set name=NAME"
    if there is None or there.metadata.deletion_timestamp:
        return Refused(
            f"the {kind} {name} in namespace {namespace} is being deleted, and has the name until then",
            f"Submit again in a moment, {other}.",
        )
    status = status_of(msgspec.structs.replace(there, kind=kind), (), ())
    record = _record_of(there)
    if record:
        whose, how = "an earlier one of yours", f"`hpclaunch cancel {_id(record)}`"
    else:
        whose = "another's"
        how = f"`kubectl -n {namespace} delete {manifest.kind.plural} {name}`, if it is yours"
    what = "It has ended; remove it" if status.has_ended else "Wait for its end, cancel it"
    return Refused(
        f"namespace {namespace} has the {kind} {name} already, {whose}: {status.state}",
        f"{what} ({how}), {other}.",
    )


def explained(client: Client, error: Answer, manifest: Manifest) -> Answer:
    """The server's no, and for a 404 what it is that is not there."""
    if error.code != NOT_FOUND:
        return error
    kind, namespace = manifest.kind, manifest.namespace
    if error.kind == "namespaces":
        text = f"the cluster has no namespace {namespace}"
        return Answer(NOT_FOUND, text, "Set `namespace` in the site file, or ask for the namespace.")
    try:
        served = client.served(kind.group)
    except SchedulerError:
        return error
    if not served:
        text = f"the cluster has no {kind.name}: the MPI operator is not installed"
        return Answer(NOT_FOUND, text, "Ask the administrator for it; jobs of one pod run without.")
    text = f"the cluster serves {kind.group} in version {', '.join(served)}, and not {kind.version}"
    return Answer(NOT_FOUND, text, "Set `mpi_operator` or `mpijob` in the site file to what the cluster has.")


def _record_of(there: JobObject) -> Record | None:
    tag = there.metadata.label(TAG_LABEL)
    try:
        return find(tag) if tag else None
    except HpclaunchError:
        return None


def _id(record: Record) -> str:
    """The shortest name that commands take for this very record."""
    short = f"{record.intent.site}/{record.state().job_id}"
    try:
        return short if find(short).tag == record.tag else f"{record.intent.site}/{record.tag}"
    except HpclaunchError:
        return f"{record.intent.site}/{record.tag}"
