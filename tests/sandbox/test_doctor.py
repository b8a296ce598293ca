"""`hpclaunch doctor` against a real Slurm: what works is found to work, and what was broken is named."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import waysto
import yaml
from command import hpclaunch
from realslurm import Slurm

from hpclaunch.sandbox.packages import slurm_version

JOB = """\
version: 1
name: looks
image: {image}
command: [true]
mounts: [{mount}:/data]
sites: {{a100: {{partition: {partition}}}}}
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    home = str(tmp_path / "home")
    return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "HOME": str(tmp_path), "HPCLAUNCH_HOME": home}


def site_with(slurm: Slurm, tmp_path: Path, **keys: Any) -> Path:
    """The sandbox's site with other keys under slurm."""
    site = yaml.safe_load(slurm.site.read_text())
    site["slurm"] |= keys
    file = tmp_path / "site.yaml"
    file.write_text(yaml.safe_dump(site))
    return file


def doctor(env: dict[str, str], status: int, *words: str | Path) -> dict[str, tuple[str, str]]:
    """Subject -> (result, what was found and is to be done)."""
    done = hpclaunch("doctor", "--json", *words, env=env)
    assert done.returncode == status, done.stderr + done.stdout
    return {
        check["subject"]: (check["result"], f"{check['found']} {check['advice']}")
        for check in json.loads(done.stdout)
    }


def test_a_sound_cluster(slurm_a100: Slurm, env: dict[str, str], tmp_path: Path) -> None:
    image = tmp_path / "image.sqsh"
    image.touch()
    job = tmp_path / "job.yaml"
    job.write_text(JOB.format(image=image, mount=tmp_path, partition="batch"))
    found = doctor(env, 0, "--site", slurm_a100.site, "--job", job, "--on-node")
    assert "bad" not in {result for result, _ in found.values()}
    assert found["via: auto"][1].startswith("commands: pyslurm ")
    assert slurm_version() in found["Slurm's version"][1]
    assert "0.20.0" in found["Pyxis"][1]
    assert "pmix" in found["MPI plugins"][1].split(" ")[0]
    assert found["clocks"][0] == "ok"
    assert found["the job's partition batch"][0] == "ok"
    node = next(subject for subject in found if subject.startswith("clock of dgx")).split()[-1]
    for path in (image, tmp_path, env["HPCLAUNCH_HOME"]):
        assert found[f"{path} on {node}"][0] == "ok"


def test_the_memlock_limit_is_the_node_s_and_not_the_caller_s(slurm_a100: Slurm, env: dict[str, str]) -> None:
    """slurmd has that of this process, which started it."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    theirs = "unlimited" if soft == resource.RLIM_INFINITY else f"{soft // 1024} KiB"
    low = ["/usr/bin/prlimit", "--memlock=32768", sys.executable, "-m", "hpclaunch", "doctor", "--json"]
    done = subprocess.run(
        [*low, "--site", slurm_a100.site, "--on-node"], env=env, capture_output=True, text=True, timeout=120
    )
    found = {check["subject"]: check["found"] for check in json.loads(done.stdout)}
    assert found["memlock limit"].startswith(f"{theirs} on dgx"), done.stderr


def test_what_is_missing_is_named(slurm_a100: Slurm, env: dict[str, str], tmp_path: Path) -> None:
    site = site_with(slurm_a100, tmp_path, pyxis="0.24.0", mpi_plugin={"pmix": "pmix_v9"})
    job = tmp_path / "job.yaml"
    job.write_text(JOB.format(image="/nowhere/image.sqsh", mount="/nowhere/data", partition="batch"))
    found = doctor(env, 1, "--site", site, "--job", job, "--on-node")
    assert found["Pyxis"][0] == "bad"
    assert "pmix_v9" in found["MPI plugins"][1]
    assert found["/nowhere/image.sqsh"][0] == "warning"
    on_node = {subject: result for subject, (result, _) in found.items() if subject.startswith("/nowhere")}
    assert list(on_node.values()).count("bad") == 2
    job.write_text(job.read_text().replace("batch", "gpu"))
    assert doctor(env, 1, "--site", slurm_a100.site, "--job", job)["the job's partition gpu"][0] == "bad"
    unlike = {
        "train": {"nodes": 1, "gpus_per_node": 8, "ranks_per_node": 8},
        "evaluate": {"nodes": 1, "gpus_per_node": 0, "sites": {"a100": {"partition": "cpu"}}},
    }
    groups = {"version": 1, "name": "g", "command": ["true"], "ranks_per_node": 1, "groups": unlike}
    job.write_text(yaml.safe_dump(groups))
    found = doctor(env, 1, "--site", slurm_a100.site, "--job", job)
    assert [found[f"the job's partition {name}"][0] for name in ("batch", "cpu")] == ["ok", "bad"]


@pytest.mark.parametrize(
    ("keys", "subject", "said"),
    [
        ({"version": "20.11"}, "Slurm's version", "the controller is"),
        ({"partition": "gpu"}, "partition", "there are: batch"),
        ({"via": "pyslurm"}, "pyslurm", "not installed"),
        (
            {"via": "rest", "rest": {"url": "unix:/nowhere/socket"}},
            "slurmrestd at unix:/nowhere/socket",
            "cannot be reached",
        ),
    ],
)
def test_what_differs_or_is_not_there_is_bad(
    slurm_a100: Slurm, env: dict[str, str], tmp_path: Path, keys: dict[str, Any], subject: str, said: str
) -> None:
    found = doctor(env, 1, "--site", site_with(slurm_a100, tmp_path, **keys))
    bad = {name: text for name, (result, text) in found.items() if result == "bad"}
    assert said in bad[subject]


def test_slurmrestd_is_asked_which_versions_it_serves(
    slurm_a100: Slurm, env: dict[str, str], tmp_path: Path
) -> None:
    url = f"unix:{tmp_path}/socket"
    with waysto.slurmrestd(tmp_path / "log", slurm_a100.slurm_conf, url, "rest_auth/local", {}):
        site = site_with(slurm_a100, tmp_path, rest={"url": url})
        assert doctor(env, 0, "--site", site)[f"slurmrestd at {url}"][0] == "ok"
        site = site_with(slurm_a100, tmp_path, rest={"url": url, "api": "v0.0.40"})
        result, said = doctor(env, 0, "--site", site)[f"slurmrestd at {url}"]
        assert (result, "v0.0.36, v0.0.37, v0.0.38" in said) == ("warning", True)
        site = site_with(slurm_a100, tmp_path, via="rest", rest={"url": url, "api": "v0.0.40"})
        assert doctor(env, 1, "--site", site)[f"slurmrestd at {url}"][0] == "bad"


def test_a_controller_that_does_not_answer(slurm_a100: Slurm, env: dict[str, str], tmp_path: Path) -> None:
    """No error of the command: it is what was to be found out."""
    away = tmp_path / "slurm.conf"
    lines = slurm_a100.slurm_conf.read_text().splitlines()
    port = "SlurmctldPort="
    away.write_text("\n".join(f"{port}9" if line.startswith(port) else line for line in lines))
    found = doctor(env, 1, "--site", site_with(slurm_a100, tmp_path, conf=str(away)))
    assert found["Slurm's commands"][0] == "bad"
    assert found["the cluster"][0] == "not known"


def test_a_home_that_cannot_be_written(slurm_a100: Slurm, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = doctor({**env, "HPCLAUNCH_HOME": str(tmp_path / "file" / "x")}, 1, "--site", slurm_a100.site)
    assert found["HPCLAUNCH_HOME"][0] == "bad"
    for path in tmp_path.rglob("*"):
        assert not path.name.startswith(".new-")
    assert os.path.getsize(tmp_path / "file") == 0
