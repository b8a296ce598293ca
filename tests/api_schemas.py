"""The API's own schemas, with unknown fields refused.

Core kinds come from the package kubernetes-validate. The fields of MPIJob stand below, for each version, from
its types (kubeflow/mpi-operator v0.3.0 and v0.8.0: pkg/apis/kubeflow; kubeflow/common v0.3.3 and
training-operator v1.8.1 for the run policy). Where the operator's CRDs lie beside the checkout
(../shared/data/mpijob-crd-VERSION.yaml) they are asked too.
"""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml

CORE_VERSIONS = ("1.25", "1.30", kubernetes_validate.latest_version())
_CRDS = Path(__file__).parents[2] / "shared" / "data"

Schema = dict[str, Any]


def validate(manifest: dict[str, Any], core_version: str) -> None:
    """Raises jsonschema.ValidationError for what the API would refuse or drop."""
    kind = manifest["kind"]
    if kind != "MPIJob":
        kubernetes_validate.validate(manifest, core_version, strict=True)
        return
    version = manifest["apiVersion"].removeprefix("kubeflow.org/")
    jsonschema.validate(manifest, _mpi_job(version))
    for replica in manifest["spec"]["mpiReplicaSpecs"].values():
        template = {"apiVersion": "v1", "kind": "PodTemplate", "template": replica["template"]}
        kubernetes_validate.validate(template, core_version, strict=True)
    crd = _crd(version)
    if crd:
        jsonschema.validate(manifest, crd)


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _one_of(*words: str) -> Schema:
    return {"enum": list(words)}


_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}
_FLAG = {"type": "boolean"}
_CLEAN = _one_of("All", "Running", "None")

_GANG = {"minAvailable": _COUNT, "queue": _TEXT, "minResources": _TEXTS, "priorityClass": _TEXT}
_TIMES = {"activeDeadlineSeconds": {"type": "integer", "minimum": 1}, "backoffLimit": _COUNT}
_RUN = {"cleanPodPolicy": _CLEAN, "ttlSecondsAfterFinished": _COUNT, **_TIMES}
_OLD_RUN = _object(**_RUN, schedulingPolicy=_object(**_GANG))

_FIELDS = {
    "v2beta1": {
        "runLauncherAsWorker": _FLAG,
        "runPolicy": _object(
            **_RUN,
            schedulingPolicy=_object(**_GANG, scheduleTimeoutSeconds=_COUNT),
            suspend=_FLAG,
            managedBy=_TEXT,
        ),
        "sshAuthMountPath": _TEXT,
        "launcherCreationPolicy": _one_of("AtStartup", "WaitForWorkersReady"),
        "mpiImplementation": _one_of("OpenMPI", "Intel", "MPICH"),
    },
    "v1": {"cleanPodPolicy": _CLEAN, "mainContainer": _TEXT, "runPolicy": _OLD_RUN},
    "v1alpha2": {
        "cleanPodPolicy": _CLEAN,
        "mainContainer": _TEXT,
        "runPolicy": _OLD_RUN,
        **_TIMES,
        "mpiDistribution": _one_of("OpenMPI", "IntelMPI", "MPICH"),
    },
}


def _mpi_job(version: str) -> Schema:
    replica = _object(
        replicas={"type": "integer", "minimum": 1},
        restartPolicy=_one_of("Never", "OnFailure"),
        template={"type": "object"},  # asked of the core schemas
    )
    replicas = _object(("Launcher", "Worker"), Launcher=replica, Worker=replica)
    return _object(
        ("apiVersion", "kind", "metadata", "spec"),
        apiVersion={"const": f"kubeflow.org/{version}"},
        kind={"const": "MPIJob"},
        metadata=_object(("name",), name=_TEXT, namespace=_TEXT, labels=_TEXTS, annotations=_TEXTS),
        spec=_object(
            ("mpiReplicaSpecs",),
            slotsPerWorker={"type": "integer", "minimum": 1},
            mpiReplicaSpecs=replicas,
            **_FIELDS[version],
        ),
    )


@cache
def _crd(version: str) -> Schema | None:
    """The schema of the operator's CRD. That of v2beta1 is whole; the older ones name a few fields."""
    file = _CRDS / f"mpijob-crd-{version}.yaml"
    if not file.exists():
        return None
    spec = yaml.safe_load(file.read_text("utf-8"))["spec"]
    if "validation" in spec:
        old: Schema = spec["validation"]["openAPIV3Schema"]
        return old
    return _closed(
        next(each for each in spec["versions"] if each["name"] == version)["schema"]["openAPIV3Schema"]
    )


def _closed(schema: Any) -> Any:
    """With unknown fields refused, as the API server does for fieldValidation=Strict."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _closed(each) for name, each in schema.items()}
    if isinstance(found.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        found.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        found.pop("pattern", None)
    return found
