"""`site check` and `site init` against a real Slurm."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import hpclaunch
from controller import controller
from realslurm import Slurm

from hpclaunch.sandbox.packages import slurm_version
from hpclaunch.spec.read import read_site

POD = """\
version: 1
name: pod
scheduler: slurm
node_types: [{type: dgx-h100, hosts: "dgx[01-44]"}]
slurm: {version: "VERSION", partition: batch, mpi_plugin: {pmi2: pmi2}, exclusive: true}
fabric: {unit: 20, topology: tree}
"""


def drifts(site: Path, slurm_conf: Path, status: int = 1) -> list[str]:
    """What `site check` prints about drift; the exit status must be `status`."""
    done = hpclaunch("site", "check", site, env=env(slurm_conf))
    assert done.returncode == status, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("drift: ")]


def env(slurm_conf: Path) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "SLURM_CONF": str(slurm_conf)}


def test_a_sandbox_and_its_own_site_agree(slurm_a100: Slurm) -> None:
    assert drifts(slurm_a100.site, slurm_a100.slurm_conf, status=0) == []


def test_a_first_site_is_like_the_cluster(slurm_a100: Slurm, tmp_path: Path) -> None:
    file = tmp_path / "first.yaml"
    done = hpclaunch("site", "init", "--name", "first", "-o", file, env=env(slurm_a100.slurm_conf))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    site, own = read_site(str(file)).value, read_site(str(slurm_a100.site)).value
    assert site.name == "first"
    assert [(group.type, group.hosts) for group in site.node_types] == [("dgx-a100", "dgx[1-2]")]
    assert site.slurm is not None
    assert own.slurm is not None
    assert (site.slurm.version, site.slurm.pyxis) == (own.slurm.version, own.slurm.pyxis)
    assert (site.slurm.partition, site.slurm.conf) == ("batch", str(slurm_a100.slurm_conf))
    assert drifts(file, slurm_a100.slurm_conf, status=0) == []
    job = tmp_path / "job.yaml"
    job.write_text("version: 1\nname: two\nimage: /x.sqsh\ncommand: [true]\nnodes: 2\nmpi: pmix\n")
    done = hpclaunch("check", job, "--site", file, env=env(slurm_a100.slurm_conf))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("key", "change", "said"),
    [
        ("slurm.version", {"slurm": {"version": "20.11"}}, "20.11"),
        ("slurm.partition", {"slurm": {"partition": "gpu"}}, "there are: batch"),
        ("slurm.pyxis", {"slurm": {"pyxis": "0.15.0"}}, "newer"),
        ("slurm.pyxis", {"slurm": {"pyxis": "0.24.0"}}, "older"),
        ("slurm.mpi_plugin.pmix", {"slurm": {"mpi_plugin": {"pmix": "pmix_v9"}}}, "no MPI plugin pmix_v9"),
        ("slurm.exclusive", {"slurm": {"exclusive": False}}, "ConstrainDevices"),
        ("container", {"container": "none"}, "there is Pyxis"),
        ("node_types.0", {"node_types": {"hosts": "dgx[1-5]"}}, "dgx[3-5]: not known"),
        ("node_types", {"node_types": {"hosts": "dgx1"}}, "dgx2: in the partition batch"),
        (
            "node_types.0",
            {"node_types": {"hosts": None, "count": 3}},
            "the cluster has 2 like them",
        ),
        ("node_types.0", {"node_types": {"type": "dgx-h100"}}, "2x64x2"),
        ("node_types.0", {"node_types": {"mig": {"1g.5gb": 56}}}, "56 1g.5gb"),
        ("fabric.topology", {"fabric": {"topology": "tree"}}, "plugin is none"),
    ],
)
def test_drift_is_named(
    slurm_a100: Slurm, tmp_path: Path, key: str, change: dict[str, Any], said: str
) -> None:
    site = yaml.safe_load(slurm_a100.site.read_text())
    for name, value in change.items():
        into = site["node_types"][0] if name == "node_types" else site.get(name)
        site[name] = {**into, **value} if isinstance(into, dict) else value
        if name == "node_types":
            site[name] = [site[name]]
    file = tmp_path / "site.yaml"
    file.write_text(yaml.safe_dump(site))
    found = drifts(file, slurm_a100.slurm_conf)
    assert [line for line in found if line.startswith(f"drift: {key}: ") and said in line], found
    done = hpclaunch("site", "check", file, "--json", env=env(slurm_a100.slurm_conf))
    assert key in {each["key"] for each in json.loads(done.stdout)["drift"]}


@pytest.mark.parametrize(
    ("key", "form", "old", "new", "said"),
    [
        ("node_types.0", "slurm.conf", "Sockets=2", "Sockets=4", "dgx[01-44]: 4x56x2"),
        ("node_types.0", "slurm.conf", r"RealMemory=\d+", "RealMemory=200000", "200000 MiB"),
        ("node_types.0", "slurm.conf", "gpu:h100:8", "gpu:h100:4", "4 h100, and a dgx-h100 has 8 h100"),
        ("node_types.0", "slurm.conf", "gpu:h100:8", "gpu:a100:8", "8 a100, and"),
        ("node_types.0", "slurm.conf", r"Nodes=\S+", "Nodes=dgx[01-40]", "dgx[41-44]: not in the partition"),
        ("slurm.exclusive", "slurm.conf", "=EXCLUSIVE", "=FORCE:4", "FORCE:4"),
        ("scheduler", "slurm.conf", "task/affinity", "task/none", "without task/affinity"),
        ("fabric.topology", "slurm.conf", "TopologyPlugin=.*", "", "plugin is none"),
        ("fabric.unit", "topology.conf", r"(?s)Switch.*", "SwitchName=all Nodes=dgx[01-44]\n", "44"),
    ],
)
def test_drift_of_the_cluster_is_named(
    slurm_possible: None, tmp_path: Path, key: str, form: str, old: str, new: str, said: str
) -> None:
    """What was exported from the site agrees with it; what an administrator then changed does not."""
    site = pod(tmp_path)
    files = exported(site)
    changed = re.sub(old, new, files[form], count=1)
    assert changed != files[form]
    with controller(tmp_path / "slurm", {**files, form: changed}) as made:
        found = drifts(site, made.folder / "etc" / "slurm.conf")
    assert [line for line in found if line.startswith(f"drift: {key}: ") and said in line], found


def test_what_was_exported_agrees_with_its_site(slurm_possible: None, tmp_path: Path) -> None:
    site = pod(tmp_path)
    with controller(tmp_path / "slurm", exported(site)) as made:
        conf = made.folder / "etc" / "slurm.conf"
        assert drifts(site, conf, status=0) == []
        first = tmp_path / "first.yaml"
        done = hpclaunch("site", "init", "-o", first, env=env(conf))
        assert (done.returncode, done.stderr) == (0, "")
        assert drifts(first, conf, status=0) == []
    assert read_site(str(first)).value.fabric == read_site(str(site)).value.fabric


def test_numa_nodes_as_sockets_are_the_same_machine(slurm_possible: None, tmp_path: Path) -> None:
    """What the exported comment advises is no drift, and `site init` knows the machine in it."""
    site = pod(tmp_path)
    site.write_text(site.read_text().replace("dgx-h100", "dgx-a100"))
    files = exported(site)
    advised = re.search(r"# .*(Sockets=\d+ CoresPerSocket=\d+)", files["slurm.conf"])
    assert advised
    text = re.sub(
        r"(?m)^(NodeName=\S+) Sockets=\d+ CoresPerSocket=\d+", rf"\1 {advised[1]}", files["slurm.conf"]
    )
    with controller(tmp_path / "slurm", {**files, "slurm.conf": text}) as made:
        conf = made.folder / "etc" / "slurm.conf"
        assert drifts(site, conf, status=0) == []
        done = hpclaunch("site", "init", env=env(conf))
    (tmp_path / "first.yaml").write_text(done.stdout)
    (group,) = read_site(str(tmp_path / "first.yaml")).value.node_types
    assert group.type == "dgx-a100"


def test_nodes_that_no_node_type_is_like(slurm_possible: None, tmp_path: Path) -> None:
    files = exported(pod(tmp_path))
    nodes = "NodeName=cpu[1-4] Sockets=2 CoresPerSocket=20 ThreadsPerCore=1 RealMemory=1000"
    twice = "NodeName=big[1-2] Sockets=2 CoresPerSocket=24 ThreadsPerCore=2 RealMemory=1000 Gres=gpu:v100:16"
    text = files["slurm.conf"].replace("\nPartitionName=", f"\n{nodes}\n{twice}\nPartitionName=")
    text = re.sub(r"Nodes=\S+", "Nodes=ALL", text).replace("TopologyPlugin", "# TopologyPlugin")
    with controller(tmp_path / "slurm", {"slurm.conf": text}) as made:
        done = hpclaunch("site", "init", env=env(made.folder / "etc" / "slurm.conf"))
    assert done.returncode == 0, done.stderr
    file = tmp_path / "first.yaml"
    file.write_text(done.stdout)
    assert [group.type for group in read_site(str(file)).value.node_types] == ["dgx-h100"]
    assert "# cpu[1-4]: 2 sockets of 20 cores" in done.stdout
    assert "srun --exclusive --nodelist=cpu1 sh" in done.stdout
    assert "take the right one: dgx-2, dgx-2h" in done.stdout


def test_a_cluster_that_cannot_be_asked(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "slurm.conf"
    for words in (("check", pod(tmp_path)), ("init",)):
        done = hpclaunch("site", *words, env=env(nowhere))
        assert (done.returncode, done.stdout) == (3, "")
        assert str(nowhere) in done.stderr


def pod(tmp_path: Path) -> Path:
    """The site file, for the Slurm that is here."""
    file = tmp_path / "pod.yaml"
    file.write_text(POD.replace("VERSION", slurm_version()))
    return file


def exported(site: Path) -> dict[str, str]:
    """The configuration that follows from it, and what a site sets besides."""
    forms = ("slurm.conf", "gres.conf", "topology.conf")
    files = {form: hpclaunch("site", "export", form, "--site", site).stdout for form in forms}
    files["slurm.conf"] += "TaskPlugin=task/affinity\n"
    return files
