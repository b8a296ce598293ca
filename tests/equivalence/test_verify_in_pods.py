"""`hpclaunch verify` of groups on Kubernetes: their pods run here, and what the launcher's writes is the log
that a server which speaks the API has of it."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import ApiServer, kubeconfig, serving, stamp
from both_sides import EVERYTHING, Given, Place, Submitted, in_pods
from command import hpclaunch

GROUPS = {"train": {"nodes": 1}, "act": {"nodes": 1, "env": {"OF_ACT": "1"}}}
FEWER: Given = {0: EVERYTHING[0], 1: (EVERYTHING[1][0], (0, 1, 2, 3))}
# What binds in these pods is a stand-in, of which a process sees nothing.
BIND = {"cpus": "none", "memory": "none"}


@pytest.mark.parametrize(
    ("mpi", "given"), [("mpich", EVERYTHING), ("openmpi", FEWER)], ids=["as planned", "a pod with fewer GPUs"]
)
def test_verify_of_groups(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpi: str, given: Given
) -> None:
    site: dict[str, Any] = yaml.safe_load(place.pods_site.read_text())
    site["kubernetes"]["namespace"] = "adas"
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site))
    job = {"name": "train", "image": "made/up:1", "time": 5, "verify": True, "ranks_per_node": 3}
    job |= {"command": [str(place.image / "bin" / "recorder")], "container": {"mpi": mpi}, "bind": BIND}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump({**job, "groups": GROUPS}, sort_keys=False))
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    with serving() as server:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "kubeconfig", server.url)))
        sent = hpclaunch("submit", tmp_path / "job.yaml", "--site", tmp_path / "site.yaml")
        assert sent.returncode == 0, sent.stderr
        ran = in_pods(place, Submitted(0, server.one("mpijobs"), {}), given)
        assert (ran.status, len(ran.ranks)) == (0, 6), ran.said
        written = ran.said.partition("== train-launcher\n")[2].partition("\n== ")[0]
        _has_ended(server, written)
        done = hpclaunch("verify", "train", "--json")
        verdict = json.loads(done.stdout)
        shown = hpclaunch("verify", "train").stdout
    assert (verdict["ranks"], verdict["reported"]) == (6, 6), done.stdout
    different = {(each["group"], each["rank"]) for each in verdict["differences"]}
    if given is EVERYTHING:
        assert (done.returncode, different, verdict["notes"]) == (0, set(), [])
        assert shown == "all 6 ranks are as planned for dgx-a100\n"
    else:
        assert (done.returncode, different) == (1, {("act", rank) for rank in (3, 4, 5)}), done.stdout
        assert "(ranks 3-5 of group act)" in shown


def _has_ended(server: ApiServer, written: str) -> None:
    """What the controllers say of the job when its launcher has."""
    name = "train-launcher-x7k2p"
    server.logs[name] = [(time.time(), line.encode()) for line in written.splitlines(keepends=True)]
    owner = {"kind": "Job", "name": "train-launcher", "uid": "the-launcher-job"}
    labels = {"hpclaunch/job": "train", "hpclaunch/role": "launcher"}
    state = {
        "terminated": {"exitCode": 0, "reason": "Completed", "startedAt": stamp(), "finishedAt": stamp()}
    }
    status = {"phase": "Succeeded", "containerStatuses": [{"name": "launcher", "state": state}]}
    metadata = {"name": name, "labels": labels, "ownerReferences": [owner]}
    spec = {"nodeName": "cpu1", "containers": [{"name": "launcher"}]}
    server.add("pods", {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    done = {"type": "Succeeded", "status": "True", "lastTransitionTime": stamp()}
    server.one("mpijobs")["status"] = {"conditions": [done]}
