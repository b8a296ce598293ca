"""`hpclaunch submit` to a Kubernetes site, as a whole command, before a server that speaks the API."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from apiserver import TOKEN, ApiServer, Fault, decoded, kubeconfig, serving
from command import hpclaunch

SECRET = "s3cret-value"
SITE = """\
version: 1
name: here
scheduler: kubernetes
node_types: [{type: dgx-a100, count: 4}]
kubernetes: {namespace: adas, mpi_operator: "0.8.0", secrets: {HF_TOKEN: {name: tokens, key: hf}}}
"""
JOB = """\
version: 1
name: train
image: registry.example/x:1
command: [./run.sh]
nodes: 2
time: 30m
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    with serving() as started:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "kubeconfig", started.url)))
        monkeypatch.setenv("HPCLAUNCH_HOME", str(tmp_path / "home"))
        (tmp_path / "site.yaml").write_text(SITE)
        (tmp_path / "job.yaml").write_text(JOB)
        yield started


def submit(folder: Path, *more: str, **how: object) -> "subprocess.CompletedProcess[str]":
    return hpclaunch("submit", folder / "job.yaml", "--site", folder / "site.yaml", *more, **how)


def test_what_arrives_is_what_render_prints_and_the_tag(server: ApiServer, tmp_path: Path) -> None:
    done = submit(tmp_path)
    assert (done.returncode, done.stdout) == (0, "train\n")
    rendered = hpclaunch("render", tmp_path / "job.yaml", "--site", tmp_path / "site.yaml").stdout
    (manifest,) = (tmp_path / "home").rglob("manifest.yaml")
    assert manifest.read_text() == rendered
    sent, expected = server.asked("POST")[0].body, yaml.safe_load(rendered)
    assert sent["metadata"]["labels"].pop("hpclaunch/tag") == manifest.parent.name
    assert sent == expected
    shown = json.loads(hpclaunch("status", "train", "--json").stdout)
    assert (shown["state"], shown["site"], shown["tag"]) == ("PENDING", "here", manifest.parent.name)


def test_values_from_this_shell_go_in_a_secret_and_nowhere_else(server: ApiServer, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(JOB + "inherit: [HTTPS_PROXY, UNSET]\nsecrets: [WANDB_API_KEY, HF_TOKEN]\n")
    environment = {**os.environ, "WANDB_API_KEY": SECRET, "HTTPS_PROXY": "", "NO_PROXY": "*"}
    environment.pop("UNSET", None)
    done = submit(tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    secret = server.one("secrets")
    # what the site keeps in the namespace is not asked for here
    assert decoded(secret) == {"WANDB_API_KEY": SECRET.encode(), "HTTPS_PROXY": b""}
    assert secret["metadata"]["ownerReferences"][0]["uid"] == server.one("mpijobs")["metadata"]["uid"]
    text = json.dumps(server.one("mpijobs"))
    assert f'"secretKeyRef": {{"name": "{secret["metadata"]["name"]}"' in text
    written = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert not [one for one in (text.encode(), written, done.stderr.encode()) if SECRET.encode() in one]
    environment.pop("WANDB_API_KEY")
    refused = submit(tmp_path, env=environment)
    assert refused.returncode == 2
    assert "WANDB_API_KEY is not set in this shell" in refused.stderr


def test_no_secret_is_on_a_command_line_while_it_is_sent(server: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB + "secrets: [WANDB_API_KEY]\n")
    server.faults.append(Fault("POST", "/secrets$", pause_s=1.0))
    command = [
        sys.executable,
        "-m",
        "hpclaunch",
        "submit",
        tmp_path / "job.yaml",
        "--site",
        tmp_path / "site.yaml",
    ]
    environment = {**os.environ, "WANDB_API_KEY": SECRET}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        while not server.asked("POST", "/secrets") and process.poll() is None:
            time.sleep(0.01)
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)]
        assert any(b"job.yaml" in line for line in lines)
        assert not any(SECRET.encode() in line for line in lines)
        process.communicate(timeout=60)
    assert process.returncode == 0


def _readable(path: Path) -> bool:
    try:
        return bool(path.read_bytes())
    except OSError:
        return False


def test_a_dry_run_prints_the_manifest_and_asks_the_server(server: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB + "secrets: [WANDB_API_KEY]\n")
    done = submit(tmp_path, "--dry-run")
    assert done.returncode == 0
    assert yaml.safe_load(done.stdout)["metadata"]["name"] == "train"
    assert "the cluster would take it (here, adas)" in done.stderr
    (request,) = server.asked("POST")
    assert request.query["dryRun"] == "All"
    assert server.objects == {}
    assert not (tmp_path / "home").exists()


def test_a_dry_run_that_the_server_refuses(server: ApiServer, tmp_path: Path) -> None:
    server.served.pop("kubeflow.org")
    done = submit(tmp_path, "--dry-run")
    assert done.returncode == 3
    assert yaml.safe_load(done.stdout)["kind"] == "MPIJob"
    assert "the MPI operator is not installed" in done.stderr


def test_a_dry_run_without_a_cluster_is_still_the_manifest(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    done = submit(tmp_path, "--dry-run")
    assert done.returncode == 0
    assert yaml.safe_load(done.stdout)["kind"] == "MPIJob"
    assert "not checked by the cluster: KUBECONFIG names no file that exists" in done.stderr
    refused = submit(tmp_path)
    assert (refused.returncode, refused.stdout) == (3, "")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda one: setattr(one, "token", "x"), "does not know who you are"),
        (lambda one: one.forbidden.add(("create", "mpijobs")), "cannot create"),
        (lambda one: one.add("mpijobs", {"metadata": {"name": "train"}, "spec": {}}), "train already"),
    ],
    ids=["401", "403", "409"],
)
def test_refusals_end_with_3_and_two_lines(
    server: ApiServer, tmp_path: Path, spoil: object, words: str
) -> None:
    assert callable(spoil)
    spoil(server)
    done = submit(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    said = [line for line in done.stderr.splitlines() if "warning" not in line]
    assert words in said[0]
    assert len(said) == 2
    assert TOKEN not in done.stderr


def test_a_connection_lost_in_mid_submit(server: ApiServer, tmp_path: Path) -> None:
    server.faults.append(Fault("POST", "/mpijobs$", drop="after"))
    done = submit(tmp_path)
    assert (done.returncode, done.stdout) == (0, "train\n")
    assert len(server.of("mpijobs")) == 1


def test_wait_gives_the_launcher_s_status(server: ApiServer, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "hpclaunch",
        "submit",
        tmp_path / "job.yaml",
        "--site",
        tmp_path / "site.yaml",
    ]
    with subprocess.Popen([*command, "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not server.of("mpijobs") and process.poll() is None:
            time.sleep(0.01)
        job = server.one("mpijobs")
        done = {"exitCode": 7, "reason": "Error", "finishedAt": "2030-01-01T00:00:00Z"}
        role = {"hpclaunch/job": "train", "hpclaunch/role": "launcher"}
        owner = {"kind": "Job", "name": "train-launcher", "uid": "x"}
        metadata = {
            "name": "train-launcher-x",
            "labels": role,
            "ownerReferences": [owner],
            "creationTimestamp": "2099-01-01T00:00:00Z",
        }
        container = {"name": "launcher", "state": {"terminated": done}}
        server.logs["train-launcher-x"] = [(time.time(), b"what the ranks wrote\n")]
        spec = {"containers": [{"name": "launcher"}]}
        server.add("pods", {"metadata": metadata, "spec": spec, "status": {"containerStatuses": [container]}})
        job["status"] = {
            "conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded/"}]
        }
        out, err = process.communicate(timeout=60)
    assert process.returncode == 7
    assert out == b"train\n"
    assert b"what the ranks wrote\n" in err
    assert b"FAILED with exit code 7" in err


def test_render_does_not_load_the_client(tmp_path: Path, server: ApiServer) -> None:
    code = (
        "import sys; sys.argv[1:] = ['render', sys.argv[1], '--site', sys.argv[2]]\n"
        "from hpclaunch.cli.main import main\n"
        "try:\n    main()\n"
        "finally:\n    print([one for one in ('kubernetes', 'urllib3') if one in sys.modules])\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "job.yaml"), str(tmp_path / "site.yaml")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "[]"
    assert server.requests == []
