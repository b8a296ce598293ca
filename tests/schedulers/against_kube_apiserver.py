"""Submissions to a real kube-apiserver, with etcd and the MPI operator's CRD. Not part of the ordinary tests:

    KUBE_APISERVER=... ETCD=... MPIJOB_CRDS=FOLDER pytest tests/schedulers/against_kube_apiserver.py

build-kube-apiserver.sh makes the two programs. The folder holds the CRDs of the operator's releases:
mpijob-crd-v2beta1.yaml, mpijob-crd-v1.yaml and mpijob-crd-v1alpha2.yaml. Nothing runs: there is no kubelet
and no controller, so the tests do what these would.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import kubeconfig
from command import hpclaunch
from freeport import free_port
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

GROUP = ("kubeflow.org", "v2beta1", "adas", "mpijobs")
EXAMPLES = Path(__file__).parents[2] / "examples"
SITES = ("k8s-minimal", "k8s-superpod-a100", "openshift-dgx1-spectrumscale", "openshift-robotic-drive")
JOB = "version: 1\nname: train\nimage: registry.example/x:1\ncommand: [./run.sh]\nnodes: 2\ntime: 30m\n"
SITE = """\
version: 1
name: here
scheduler: kubernetes
node_types: [{type: dgx-a100, count: 4}]
kubernetes: {namespace: adas, %s}
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running server; the kubeconfigs `admin` and `jane`, who may do nothing, lie in the folder."""
    path = tmp_path_factory.mktemp("cluster")
    (path / "tokens").write_text('admin-token,admin,1,"system:masters"\njane-token,jane,2\n')
    subprocess.run(["openssl", "genrsa", "-out", path / "key", "2048"], check=True, capture_output=True)
    store, peer, port = free_port(), free_port(), free_port()
    programs = [
        [
            os.environ["ETCD"],
            f"--data-dir={path / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{store}",
            f"--advertise-client-urls=http://127.0.0.1:{store}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
        ],
        [
            os.environ["KUBE_APISERVER"],
            f"--etcd-servers=http://127.0.0.1:{store}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={path / 'certs'}",
            f"--token-auth-file={path / 'tokens'}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://here",
            f"--service-account-signing-key-file={path / 'key'}",
            f"--service-account-key-file={path / 'key'}",
        ],
    ]
    with open(path / "log", "wb") as log:
        running = [subprocess.Popen(one, stdout=log, stderr=log) for one in programs]
        try:
            for who in ("admin", "jane"):
                more = {"cluster": {"insecure-skip-tls-verify": True}, "user": {"token": f"{who}-token"}}
                kubeconfig(path / who, f"https://127.0.0.1:{port}", **more)
            until_it_answers(path)
            yield path
        finally:
            for one in reversed(running):
                one.terminate()
                one.wait(30)


def until_it_answers(path: Path) -> None:
    end = time.monotonic() + 120
    while True:
        try:
            api = admin(path)
            client.CoreV1Api(api).create_namespace({"metadata": {"name": "adas"}})
            return
        except ApiException as error:
            if error.status == 409:
                return
        except (HTTPError, OSError):
            pass  # it takes a while to listen
        assert time.monotonic() < end, (path / "log").read_text()[-3000:]
        time.sleep(0.5)


def admin(folder: Path) -> Any:
    return config.new_client_from_config(str(folder / "admin"))


@pytest.fixture
def serve(folder: Path) -> Callable[[str], None]:
    """Makes the server serve one version of MPIJob, or none."""
    api = client.ApiextensionsV1Api(admin(folder))

    def change(version: str) -> None:
        name = "mpijobs.kubeflow.org"
        if any(one.metadata.name == name for one in api.list_custom_resource_definition().items):
            api.delete_custom_resource_definition(name)
            wait_for(lambda: not api.list_custom_resource_definition().items)
        if version:
            text = (Path(os.environ["MPIJOB_CRDS"]) / f"mpijob-crd-{version}.yaml").read_text()
            body = yaml.safe_load(text)
            custom = client.CustomObjectsApi(admin(folder))  # the older ones are of an older API
            custom.create_cluster_custom_object(
                *body["apiVersion"].split("/"), f"{body['kind'].lower()}s", body
            )
            wait_for(lambda: listed(custom, version))

    return change


def listed(custom: Any, version: str) -> bool:
    try:
        custom.list_namespaced_custom_object("kubeflow.org", version, "adas", "mpijobs")
    except ApiException:
        return False
    return True


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[[str], None]) -> Path:
    """A folder with a job and a site; nothing of other tests is on the server."""
    monkeypatch.setenv("KUBECONFIG", str(folder / "admin"))
    monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "site.yaml").write_text(SITE % 'mpi_operator: "0.8.0"')
    serve("v2beta1")
    core = client.CoreV1Api(admin(folder))
    for pod in core.list_namespaced_pod("adas").items:
        core.delete_namespaced_pod(pod.metadata.name, "adas", grace_period_seconds=0)
    for secret in core.list_namespaced_secret("adas").items:
        core.delete_namespaced_secret(secret.metadata.name, "adas")
    return tmp_path


def submit(here: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    return hpclaunch("submit", here / "job.yaml", "--site", here / "site.yaml", *more)


def status(name: str = "train") -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(hpclaunch("status", name, "--json").stdout)
    return shown


def test_a_job_s_life(here: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "s3cret")
    (here / "job.yaml").write_text(JOB + "secrets: [WANDB_API_KEY]\n")
    done = submit(here)
    assert (done.returncode, done.stdout) == (0, "train\n"), done.stderr
    custom, core = client.CustomObjectsApi(admin(folder)), client.CoreV1Api(admin(folder))
    job = custom.get_namespaced_custom_object(*GROUP, "train")
    assert job["metadata"]["labels"]["hpclaunch/tag"] == status()["tag"]
    (secret,) = core.list_namespaced_secret("adas").items
    assert secret.immutable
    assert secret.metadata.owner_references[0].uid == job["metadata"]["uid"]
    assert status()["reason"] == "the MPI operator has not taken it up yet"
    again = submit(here)
    assert again.returncode == 3
    assert "an earlier one of yours: PENDING" in again.stderr
    # what the operator and a kubelet would do
    labels = {"hpclaunch/job": "train", "hpclaunch/role": "launcher"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train-launcher", "uid": "x"}
    metadata = {"name": "train-launcher-x", "labels": labels, "ownerReferences": [owner]}
    spec = {"containers": [{"name": "launcher", "image": "x"}], "restartPolicy": "Never"}
    core.create_namespaced_pod("adas", {"metadata": metadata, "spec": spec})
    ended = {
        "exitCode": 7,
        "reason": "Error",
        "startedAt": "2030-01-01T00:00:00Z",
        "finishedAt": "2030-01-01T01:00:00Z",
    }
    container = {"name": "launcher", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    containers = [{**container, "state": {"terminated": ended}}]
    core.patch_namespaced_pod_status(
        "train-launcher-x", "adas", {"status": {"containerStatuses": containers}}
    )
    condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded/"}
    custom.patch_namespaced_custom_object_status(*GROUP, "train", {"status": {"conditions": [condition]}})
    assert (status()["state"], status()["exit_code"]) == ("FAILED", 7)
    assert hpclaunch("wait", "train").returncode == 7


def test_cancel(here: Path, folder: Path) -> None:
    submit(here)
    assert hpclaunch("cancel", "train").returncode == 0
    assert status()["reason"] == "it is being deleted"
    refused = submit(here)
    assert "is being deleted" in refused.stderr
    custom = client.CustomObjectsApi(admin(folder))
    custom.patch_namespaced_custom_object(*GROUP, "train", {"metadata": {"finalizers": []}})
    assert status()["state"] == "CANCELLED"
    assert submit(here).returncode == 0


def test_refusals(
    here: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[[str], None]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(folder / "jane"))
    done = submit(here)
    assert (done.returncode, done.stdout) == (3, "")
    assert 'User "jane" cannot create resource "mpijobs"' in done.stderr
    monkeypatch.setenv("KUBECONFIG", str(folder / "admin"))
    site = here / "site.yaml"
    site.write_text(site.read_text().replace("adas", "nowhere"))
    assert "the cluster has no namespace nowhere" in submit(here).stderr
    site.write_text(site.read_text().replace("nowhere", "adas"))
    serve("")
    assert "the MPI operator is not installed" in submit(here).stderr
    serve("v1")
    assert "serves kubeflow.org in version v1, and not v2beta1" in submit(here).stderr


@pytest.mark.parametrize("api", ["v1", "v1alpha2"])
def test_older_versions(here: Path, api: str, serve: Callable[[str], None]) -> None:
    serve(api)
    (here / "site.yaml").write_text(SITE % f"mpijob: {{api: {api}, operator: mpi-operator}}")
    assert "the cluster would take it" in submit(here, "--dry-run").stderr
    done = submit(here)
    assert done.stdout == "train\n", done.stderr
    assert status()["state"] == "PENDING"
    assert json.loads(hpclaunch("list", "--json").stdout)[0]["state"] == "PENDING"


def test_a_job_of_one_pod(here: Path) -> None:
    (here / "job.yaml").write_text(JOB.replace("nodes: 2", "nodes: 1\ngpus_per_node: 1"))
    done = submit(here)
    assert done.stdout == "train\n", done.stderr
    assert status()["state"] == "PENDING"
    assert hpclaunch("cancel", "train").returncode == 0


@pytest.mark.parametrize("site", SITES)
def test_the_server_takes_every_example_that_the_site_can_run(
    here: Path, folder: Path, site: str, serve: Callable[[str], None], tmp_path: Path
) -> None:
    taken = 0
    core = client.CoreV1Api(admin(folder))
    for example in sorted(EXAMPLES.glob("*.yaml")):
        rendered = hpclaunch("render", example, "--site", site)
        if rendered.returncode:
            continue
        manifest = yaml.safe_load(rendered.stdout)
        version = manifest["apiVersion"].rpartition("/")[2]
        if manifest["kind"] == "MPIJob" and version != "v2beta1":
            serve(version)
        namespace = manifest["metadata"]["namespace"]
        if namespace not in [one.metadata.name for one in core.list_namespace().items]:
            core.create_namespace({"metadata": {"name": namespace}})
        done = hpclaunch("submit", example, "--site", site, "--dry-run")
        assert "the cluster would take it" in done.stderr, f"{example}: {done.stderr}"
        taken += 1
    assert taken
