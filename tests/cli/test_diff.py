"""`hpclaunch diff`, as a user calls it."""

import json
import re
from pathlib import Path

import pytest
from command import hpclaunch

ROOT = Path(__file__).parent.parent.parent
JOB = """
name: train
image: registry.example.com/train:1
command: [python, train.py]
nodes: 2
mpi: pmix
time: 1h
mounts: ["imagenet:/data:ro"]
"""
SLURM = """
version: 1
name: {name}
scheduler: slurm
node_types: [{{type: {type}, hosts: "n[01-04]"}}]
container: pyxis
slurm: {{version: "23.11", pyxis: "0.20.0", mpi_plugin: {{pmix: pmix}}}}
network: {{socket_ifname: {ifname}}}
volumes: {{imagenet: {{path: {path}}}}}
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB, encoding="utf-8")
    return path


def slurm(
    folder: Path, name: str, machine: str = "dgx-a100", ifname: str = "ib0", path: str = "/data"
) -> Path:
    site = folder / f"{name}.yaml"
    site.write_text(SLURM.format(name=name, type=machine, ifname=ifname, path=path), encoding="utf-8")
    return site


def test_slurm_and_kubernetes_launch_the_same(job: Path) -> None:
    done = hpclaunch("diff", job, "--site", "superpod-a100", "--site", "k8s-superpod-a100")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("the same launch: 16 ranks on 2 nodes\n")
    rows = [re.split(r"  +", line) for line in done.stdout.splitlines()]
    assert ["environment NCCL_SOCKET_IFNAME", "ib0", "eth0", "set by each site, or for its nodes"] in rows


def test_the_readme_shows_what_it_prints() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command, *shown = text.partition("```\n$ hpclaunch diff")[2].partition("\n```")[0].splitlines()
    done = hpclaunch("diff", *command.split(), cwd=ROOT)
    assert done.returncode == 0
    assert set(shown) - {"..."} <= set(done.stdout.splitlines())


def test_two_sites_of_slurm_and_json(job: Path, tmp_path: Path) -> None:
    sites = slurm(tmp_path, "one"), slurm(tmp_path, "two", ifname="ib1", path="/gpfs/data")
    done = hpclaunch("diff", job, "--site", sites[0], "--site", sites[1], "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["same"] is True
    assert said["compared"] == [str(site) for site in sites]
    assert [launch["argv"] for launch in said["launches"]] == [["python", "train.py"]] * 2
    by_name = {each["what"]: each for each in said["differences"]}
    assert {each["kind"] for each in by_name.values()} == {"place"}
    assert by_name["mount /data"]["a"] == "imagenet (path /data)"
    assert by_name["mount /data"]["b"] == "imagenet (path /gpfs/data)"


def test_other_machines_have_other_cores(job: Path, tmp_path: Path) -> None:
    sites = slurm(tmp_path, "one"), slurm(tmp_path, "two", machine="dgx-1v")
    done = hpclaunch("diff", job, "--site", sites[0], "--site", sites[1], "--json")
    assert done.returncode == 1
    by_name = {each["what"]: each for each in json.loads(done.stdout)["differences"]}
    assert by_name["node type"]["kind"] == "place"
    assert by_name["cores of each rank"]["why"] == "dgx-1v and dgx-a100 differ"
    assert (by_name["cores of each rank"]["a"], by_name["cores of each rank"]["b"]) == ("16 CPUs", "10 CPUs")
    assert by_name["compute HCAs of a node"]["b"].startswith("4: mlx5_0/")


def test_what_one_site_cannot_launch_is_listed_with_its_line(job: Path, tmp_path: Path) -> None:
    (tmp_path / "x.sqsh").touch()
    site = ("--site", "superpod-a100", "--site", "k8s-superpod-a100")
    done = hpclaunch("diff", job, *site, "--set", "image=./x.sqsh")
    assert done.returncode == 1
    assert re.search(r"^--set image +launched +- +\S*x\.sqsh is a squashfs file", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("not the same launch: 1 difference\n")


def test_a_site_that_is_wrong_is_no_difference(job: Path, tmp_path: Path) -> None:
    sites = slurm(tmp_path, "one"), slurm(tmp_path, "two", machine="dgx-a101")
    refused("two.yaml:5:21: no node type is named", job, "--site", sites[0], "--site", sites[1])


def test_what_only_slurm_has_is_listed(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(JOB + 'sites: {superpod-a100: {sbatch: ["--switches=1"]}}\n', encoding="utf-8")
    done = hpclaunch("diff", job, "--site", "superpod-a100", "--site", "k8s-superpod-a100")
    assert done.returncode == 1
    assert re.search(r"^--switches=1 +yes +- +Kubernetes has no word", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--site", "superpod-a100"], "give one job and two sites"),
        (["--site", "superpod-a100", "--site", "local"], "local runs jobs on this machine alone"),
        (["--site", "superpod-a100", "--site", "nowhere"], "nowhere"),
        (["--site", "superpod-a100", "--site", "k8s-superpod-a100", "--set", "nodes=0"], "nodes"),
    ],
)
def test_wrong_input_is_one_line(job: Path, words: list[str], said: str) -> None:
    refused(said, job, *words)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff", "cannot be read: it is not UTF-8"),
        (b"#!/bin/bash\ntrue\n", "no srun in it starts ranks"),
        (b"a: [", "text:2:1: not YAML"),
    ],
)
def test_a_text_that_is_none_is_one_line(tmp_path: Path, text: bytes | None, said: str) -> None:
    if text is not None:
        (tmp_path / "text").write_bytes(text)
    refused(said, tmp_path / "text", tmp_path / "text")


def refused(said: str, *words: str | Path) -> None:
    done = hpclaunch("diff", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_two_rendered_texts(job: Path, tmp_path: Path) -> None:
    texts = tmp_path / "job.sh", tmp_path / "pods.yaml"
    for text, site in zip(texts, ("superpod-a100", "k8s-superpod-a100"), strict=True):
        assert hpclaunch("render", job, "--site", site, "-o", text).returncode == 0
    done = hpclaunch("diff", texts[0], texts[0])
    assert done.returncode == 0, done.stdout
    changed = texts[1].read_text(encoding="utf-8").replace("backoffLimit: 0", "backoffLimit: 3")
    (tmp_path / "changed.yaml").write_text(changed, encoding="utf-8")
    done = hpclaunch("diff", texts[1], tmp_path / "changed.yaml")
    assert done.returncode == 1
    assert re.search(r"^retries after a failure +0 +3$", done.stdout, re.MULTILINE)
    # Without their sites nothing is put down to these.
    done = hpclaunch("diff", *texts, "--json")
    assert done.returncode == 1
    others = {each["what"] for each in json.loads(done.stdout)["differences"] if each["kind"] != "place"}
    assert others == {
        f"environment {name}"
        for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "OMPI_MCA_btl_tcp_if_include")
    }


def test_render_does_not_pay_for_the_readers(job: Path) -> None:
    env = {"PYTHONPROFILEIMPORTTIME": "1", "PATH": "/usr/bin:/bin"}
    done = hpclaunch("render", job, "--site", "superpod-a100", env=env, cwd=ROOT)
    assert done.returncode == 0
    assert "hpclaunch.render.script" in done.stderr
    assert "hpclaunch.readback" not in done.stderr
