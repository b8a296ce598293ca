"""Every word of a manifest counts: changed or taken out by itself, it makes another launch, or no manifest.
What makes none is listed here, with the reason."""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from rendered import CLUSTER, JOB, found, render, side

from hpclaunch.values.errors import InputError

try:
    from yaml import CSafeDumper as Dumper
except ImportError:
    from yaml import SafeDumper as Dumper  # type: ignore[assignment]

SITE: dict[str, Any] = {
    **CLUSTER,
    "kubernetes": {
        **CLUSTER["kubernetes"],
        "queue": "team",
        "gang": {"scheduler": "volcano"},
        "networks": ["net1"],
        "service_account": "mpi",
        "image_pull_secrets": ["registry"],
        "sshd": {"kit": "registry.example.com/kit:1", "folder": "/opt/kit"},
    },
}
MPI_JOB = {**JOB, "sites": {"cluster": {"nodelist": "n[1-4]"}}}

# Paths that a launch does not hang on.
POD = r"(spec\.mpiReplicaSpecs\.(Launcher|Worker)|spec)\.template"
NO_MATTER = {
    r"metadata\.name": "is a name",
    rf"(metadata|{POD}\.metadata)(\.labels)?(\..*)?": "is for people, but for labels that choose",
    r"spec\.mpiImplementation": "has its default",
    r"spec\.sshAuthMountPath": "has its default",
    r"spec\.mpiReplicaSpecs\.(Launcher\.replicas|Worker\.restartPolicy)": "has its default",
    r"spec\.template\.spec\.restartPolicy": "is Never, or the API refuses the Job",
    r"spec(\.runPolicy)?\.(cleanPodPolicy|ttlSecondsAfterFinished)": "is about what stays when it has ended",
    rf"{POD}\.spec\.(automountServiceAccountToken|imagePullSecrets.*)": "is about who may ask",
    r"spec\.mpiReplicaSpecs\.Launcher\.template\.spec\.serviceAccountName": "starts ranks by ssh",
    r"spec\.mpiReplicaSpecs\.Launcher\..*\.(resources.*|name|readOnly)": "has no rank in it",
    r"spec\.mpiReplicaSpecs\.Launcher\.template\.spec\.(volumes.*|initContainers\.0\.image)": "or is no pod",
    r"spec\.mpiReplicaSpecs\.Worker\.template\.spec\.enableServiceLinks": "reaches no session of sshd",
    r".*\.readinessProbe.*": "is about when",
    r".*\.matchLabels\.hpclaunch/(job|role)": "leaves fewer labels, which more pods have",
    r".*\.(initContainers|containers)\.0\.name": "is a name",
    r".*\.resources\.requests(\..*)?": "are the limits where they are not said",
    r".*\.volumeMounts\.\d\.readOnly": "is of the folder with ssh",
    r".*\.hostPath\.type": "refuses what is not there",
    r".*\.workingDir": "is behind mpirun's -wdir",
    r".*\.args\.\d+": "is --tag-output, or a variable that the launcher has too",
}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], bool]]:
    """Everything that can be taken out, and (True) every scalar that can be changed."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield (*path, key), False
        if not isinstance(below, (dict, list)):
            yield (*path, key), True
        yield from places(below, (*path, key))


def other(manifest: Any, path: tuple[str | int, ...], change: bool) -> str:
    manifest = copy.deepcopy(manifest)
    at = manifest
    for key in path[:-1]:
        at = at[key]
    if not change:
        del at[path[-1]]
    else:
        old = at[path[-1]]
        at[path[-1]] = not old if isinstance(old, bool) else old + 1 if isinstance(old, int) else f"{old}x"
    return yaml.dump(manifest, Dumper=Dumper)


@pytest.mark.parametrize("job", [MPI_JOB, {**JOB, "nodes": 1}], ids=["MPIJob", "Job"])
def test_every_word_counts(tmp_path: Path, job: dict[str, Any]) -> None:
    text, where = render(tmp_path, job, SITE)
    manifest, whole = yaml.safe_load(text), side(text, where)
    unnoticed = []
    tried = 0
    for path, change in places(manifest):
        tried += 1
        try:
            differences = found(whole, side(other(manifest, path, change), where))
        except InputError:
            continue
        if not differences:
            unnoticed.append(".".join(map(str, path)))
    strange = [path for path in unnoticed if not any(re.fullmatch(each, path) for each in NO_MATTER)]
    assert strange == []
    assert len([path for path in unnoticed if re.fullmatch(r".*\.args\.\d+", path)]) <= 4
    assert tried > 200
