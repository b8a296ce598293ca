"""`hpclaunch doctor` of a Kubernetes site, before a real HTTP server."""

import json
from pathlib import Path

import pytest
from apiserver import ApiServer, Fault
from command import hpclaunch
from namespaces import ADAS, Cluster
from test_kubernetes_site_check import SITE


@pytest.fixture
def site(tmp_path: Path, home: Path) -> Path:
    file = tmp_path / "here.yaml"
    file.write_text(SITE)
    return file


def doctor(site: Path, status: int) -> dict[str, tuple[str, str]]:
    """Subject -> (result, found)."""
    done = hpclaunch("doctor", "--site", site, "--json")
    assert done.returncode == status, done.stderr
    return {check["subject"]: (check["result"], check["found"]) for check in json.loads(done.stdout)}


def test_what_a_namespace_has_and_lacks(server: ApiServer, site: Path) -> None:
    cluster = Cluster(server)
    found = doctor(site, 0)
    assert found["API server"] == ("ok", "Kubernetes v1.29.3+k3s1")
    assert found["namespace"][0] == "ok"
    assert "HPCLAUNCH_HOME" in found
    cluster.objects.pop(f"{ADAS}/serviceaccounts/mpi")
    cluster.hidden.add("/nodes")
    found = doctor(site, 1)
    assert found["kubernetes.service_account"] == ("bad", "there is no service account mpi")
    assert found["node_types"] == ("not known", "you may not see nodes")
    assert "namespace" not in found


def test_a_server_that_does_not_answer_is_bad_and_no_error(server: ApiServer, site: Path) -> None:
    server.faults += [Fault("GET", "/version", drop="before") for _ in range(10)]
    result, found = doctor(site, 1)["API server"]
    assert result == "bad"
    assert "cannot be reached" in found
