"""Scripts of a config map that is given beside the job: its command is what it would be if the pod were given
the script's text."""

import json
from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_MPI = (
    "#!/bin/bash\nset -e\nsource /opt/mill/env\ncd /mill\nexport GRAIN=rye\nmpirun -np 4 ./till --depth $1\n"
)
_TORCH = (
    "#!/bin/sh\npip install mill\n"
    "exec torchrun --nproc_per_node=2 --nnodes=$WORLD_SIZE --node_rank=$RANK till.py --depth $1\n"
)
_PLAIN = "#!/bin/bash\nexport GRAIN=rye\npython till.py\n"


def _pod(command: list[str], mount: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    container = {
        "name": "mill",
        "image": "lab/mill:1",
        "command": command,
        "volumeMounts": [{"name": "sack", **mount}],
        "resources": {"limits": {"nvidia.com/gpu": 2}},
    }
    volume = {"name": "sack", "configMap": {"name": "sack", **source}}
    return {"spec": {"containers": [container], "volumes": [volume]}}


def _job(kind: str, pod: dict[str, Any]) -> dict[str, Any]:
    """All that JSON has is YAML too."""
    if kind == "PyTorchJob":
        parts = {"Master": {"replicas": 1, "template": pod}, "Worker": {"replicas": 1, "template": pod}}
        spec: dict[str, Any] = {"pytorchReplicaSpecs": parts}
        version = "kubeflow.org/v1"
    else:
        worker = _pod(["sleep", "infinity"], {"mountPath": "/mnt"}, {})
        parts = {"Launcher": {"template": pod}, "Worker": {"replicas": 2, "template": worker}}
        spec, version = {"slotsPerWorker": 2, "mpiReplicaSpecs": parts}, "kubeflow.org/v2beta1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "mill"}, "spec": spec}


def _map(key: str, text: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: sack}}\ndata:\n  {key}: |\n{lines}"


def _of(kind: str, pod: dict[str, Any], config_map: str) -> Conversion:
    files = {"job.yaml": json.dumps(_job(kind, pod), indent=1), "map.yaml": config_map}
    return convert(classified(files), Options({}))


@pytest.mark.parametrize(("kind", "text"), [("MPIJob", _MPI), ("PyTorchJob", _TORCH)])
@pytest.mark.parametrize(
    ("start", "mount", "source"),
    [
        (["bash", "/opt/s/go.sh"], {"mountPath": "/opt/s"}, {}),
        (["/opt/s/go.sh"], {"mountPath": "/opt/s/"}, {"defaultMode": 493}),
        (["sh", "-x", "/opt/./s/go.sh"], {"mountPath": "/opt/s"}, {}),
        (["/bin/bash", "/opt/go.sh"], {"mountPath": "/opt/go.sh", "subPath": "go.sh"}, {}),
        (["bash", "/opt/s/a/b.sh"], {"mountPath": "/opt/s"}, {"items": [{"key": "go.sh", "path": "a/b.sh"}]}),
    ],
)
def test_the_job_is_that_of_the_text(
    kind: str, text: str, start: list[str], mount: dict[str, Any], source: dict[str, Any]
) -> None:
    shell = start[:-1] or ["bash"]
    by_text = _of(kind, _pod([*shell, "-c", text, start[-1], "3"], mount, source), _map("go.sh", text))
    by_path = _of(kind, _pod([*start, "3"], mount, source), _map("go.sh", text))
    assert loaded(by_path.job) == loaded(by_text.job)
    assert "till" in json.dumps(loaded(by_path.job)["command"])


def test_lines_of_the_script_are_those_of_the_config_map() -> None:
    found = _of(
        "MPIJob", _pod(["bash", "/opt/s/go.sh", "3"], {"mountPath": "/opt/s"}, {}), _map("go.sh", _MPI)
    )
    lines = _map("go.sh", _MPI).splitlines()
    (workdir,) = [each for each in found.findings if each.became == "workdir: /mill"]
    (place,) = workdir.places
    assert (place.file, lines[place.line - 1].strip()) == ("map.yaml", "cd /mill")


@pytest.mark.parametrize(
    ("command", "mount", "key", "text"),
    [
        (["bash", "/opt/s/go.sh"], {"mountPath": "/opt/s"}, "go.sh", _PLAIN),  # without a launcher
        (["bash", "/opt/t/go.sh"], {"mountPath": "/opt/s"}, "go.sh", _MPI),  # elsewhere
        (["bash", "/opt/s/go.sh"], {"mountPath": "/opt/s"}, "other.sh", _MPI),
        (["python", "/opt/s/go.sh"], {"mountPath": "/opt/s"}, "go.sh", _MPI),
        (["/opt/s/go.py"], {"mountPath": "/opt/s"}, "go.py", "#!/usr/bin/env python\nimport mpirun\n"),
    ],
)
def test_another_command_stays_as_it_is(
    command: list[str], mount: dict[str, Any], key: str, text: str
) -> None:
    job = loaded(_of("PyTorchJob", _pod(command, mount, {}), _map(key, text)).job)
    assert job["command"] == command


@pytest.mark.parametrize(
    "start",
    [
        ["bash", "-c", "/opt/s/go.sh 3"],
        ["bash", "-c", "cp /opt/s/go.sh /tmp/go.sh; exec bash /tmp/go.sh 3"],
        ["bash", "-c", "cd /opt/s && ./go.sh 3"],
        ["bash", "-c", "bash /opt/s/go.sh 3 || true"],
        ["timeout", "1h", "bash", "/opt/s/go.sh", "3"],
    ],
)
@pytest.mark.parametrize("kind", ["MPIJob", "PyTorchJob"])
def test_a_script_with_a_launcher_that_is_started_among_other_things_is_asked_for(
    kind: str, start: list[str]
) -> None:
    text = _MPI.replace("./till", "--bind-to none ./till")
    found = _of(kind, _pod(start, {"mountPath": "/opt/s"}, {}), _map("go.sh", text))
    job = loaded(found.job)
    assert [job[key] for key in ("command", "ranks_per_node", "mpi")] == ["ASK", "ASK", "pmix"]
    assert job["bind"]["cpus"] == "ASK"
    (asked,) = [each for each in found.findings if each.key == "command"]
    assert "no option of the mpirun in /opt/s/go.sh is read" in asked.why
    assert not [each for each in found.findings if "no launcher that is known" in each.why]
    (environment,) = [each for each in found.launch if each.name == "environment"]
    assert "not determined" in environment.told


@pytest.mark.parametrize(
    "inner", [["bash", "/mnt/go.sh"], ["bash", "-c", "cd /mill; torchrun --nproc_per_node=2 till.py"]]
)
def test_a_launcher_that_each_rank_of_an_mpirun_starts_is_said(inner: list[str]) -> None:
    command = ["mpirun", "-npernode", "1", *inner]
    found = _of("MPIJob", _pod(command, {"mountPath": "/mnt"}, {}), _map("go.sh", _TORCH))
    (said,) = [each for each in found.findings if "ranks of its own" in each.why]
    assert said.kind == "question"
    assert "torchrun" in f"{said.what} {said.why}"
