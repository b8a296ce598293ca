"""The manifest of a record: what kind of object it is, and where it goes."""

from typing import Any

import yaml
from msgspec import Struct

from hpclaunch.records.record import Cluster, Record
from hpclaunch.values.errors import HpclaunchError

TAG_LABEL = "hpclaunch/tag"

PLURALS = {("kubeflow.org", "MPIJob"): "mpijobs", ("batch", "Job"): "jobs"}


class Kind(Struct, frozen=True):
    """A kind of object in one version of its group."""

    group: str
    version: str
    name: str
    plural: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


class Manifest(Struct, frozen=True):
    """An object that is to be created. `body` is the whole of it."""

    kind: Kind
    namespace: str
    name: str
    body: dict[str, Any]


def manifest_of(record: Record) -> Manifest:
    """What the record sent or is to send. Raises HpclaunchError for a damaged one."""
    try:
        text = record.script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HpclaunchError(f"the record's {record.script} cannot be read: {error}") from error
    try:
        return read_manifest(text, cluster_of(record).namespace)
    except HpclaunchError as error:
        raise HpclaunchError(f"the record's {record.script} is damaged: {error}") from error


def read_manifest(text: str, namespace: str) -> Manifest:
    """A manifest's text. `namespace` is for an object that names none. Raises HpclaunchError where it is not
    one object of a known kind."""
    try:
        body = parsed(text)
        group, _, version = body["apiVersion"].partition("/")
        kind = Kind(group, version, body["kind"], PLURALS[group, body["kind"]])
        return Manifest(kind, body["metadata"].get("namespace") or namespace, body["metadata"]["name"], body)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        why = " ".join(str(error).split())
        raise HpclaunchError(f"the manifest is not an MPIJob or a Job: {why}") from error


def parsed(text: str) -> Any:
    """YAML as the plain values of JSON. Raises yaml.YAMLError."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def cluster_of(record: Record) -> Cluster:
    """Where the record's job is. Raises HpclaunchError for a damaged record."""
    if record.intent.cluster is None:
        raise HpclaunchError(f"the record {record.folder} does not say which cluster its job is on")
    return record.intent.cluster
