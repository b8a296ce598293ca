"""What is read from a manifest is what arrives when its container's process is run, under a real mpirun."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rendered import CLUSTER, JOB, render

from hpclaunch.readback.kubelet import expand
from hpclaunch.readback.kubernetes.reader import read
from hpclaunch.values.launch import Launch

RECORD = """
import json, os, sys
name = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
seen = {"argv": sys.argv[2:], "environment": dict(os.environ), "cwd": os.getcwd()}
with open(os.path.join(sys.argv[1], name), "w") as file:
    json.dump(seen, file)
"""
# What a shell, Open MPI and the rank wrapper add; the last are read by the wrapper's own readers.
ADDED = ("OMPI_", "PMIX_", "PMI_", "ORTE_", "PRTE_", "HYDRA_", "MASTER_", "IPATH_", "HFI_")
OF_PROCESS = {"PWD", "OLDPWD", "SHLVL", "_", "HOME", "PATH", "LC_CTYPE"}
OF_WRAPPER = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK"}
WORDS = ["$(HOME) $$ $x", "a\nb", "-np", "", "é$é", "=x", ":"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_pod_by_its_words(tmp_path: Path, ranks: int) -> None:
    out = tmp_path / "out"
    out.mkdir()
    job = {
        **JOB,
        "nodes": 1,
        "gpus_per_node": ranks,
        "ranks_per_node": ranks,
        "command": [sys.executable, "-c", RECORD, str(out), *WORDS],
        "workdir": str(tmp_path),
        "bind": {"cpus": "none", "memory": "none", "hcas": "none"},
        "env": {"PRICE": "$$5 $(A) $x\n", "OMPI_MCA_btl": "self,vader,tcp", "EMPTY": ""},
        "inherit": [],
        "secrets": [],
    }
    text = render(tmp_path, job, CLUSTER)[0]
    launch = read(text)
    assert (launch.unread, launch.unbridged, launch.ranks_per_node) == ((), (), ranks)
    run(text)
    assert sorted(os.listdir(out)) == [str(rank) for rank in range(ranks)]
    for rank in range(ranks):
        arrived(launch, json.loads((out / str(rank)).read_text()))


def run(manifest: str) -> None:
    """As the kubelet does."""
    container = yaml.safe_load(manifest)["spec"]["template"]["spec"]["containers"][0]
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    for entry in container.get("env", ()):
        environment[entry["name"]] = expand(entry["value"], environment)
    words = [expand(word, environment) for word in (*container["command"], *container["args"])]
    cwd = container["workingDir"]
    done = subprocess.run(words, env=environment, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def arrived(launch: Launch, seen: dict[str, object]) -> None:
    assert launch.argv[4:] == tuple(seen["argv"])  # type: ignore[arg-type]
    assert launch.cwd == seen["cwd"]
    environment = seen["environment"]
    assert isinstance(environment, dict)
    for variable in launch.environment:
        assert environment.pop(variable.name) == variable.value
    left = {name for name in environment if not name.startswith(ADDED)}
    assert left - OF_PROCESS == OF_WRAPPER
