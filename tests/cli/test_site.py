"""`hpclaunch site`: exports and their errors. `check` and `init` are before a real Slurm in tests/sandbox."""

import stat
from pathlib import Path

import pytest
import yaml
from command import hpclaunch

from hpclaunch.cluster.export import FORMATS, OF_KUBERNETES

BASE = """\
version: 1
name: base
scheduler: slurm
node_types: [{type: dgx-a100, hosts: "dgx[001-140]", mig: {1g.5gb: 56}}]
slurm: {version: "25.11", partition: batch}
fabric: {unit: 20, topology: tree, sharp: {network: sharp, env: {A: "1", B: "2"}}}
"""
OVER = """\
version: 1
name: over
extends: ./base.yaml
fabric: {topology: block, sharp: {env: {B: "3"}}}
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    file = tmp_path / "base.yaml"
    file.write_text(BASE)
    return file


def test_show_puts_in_what_a_site_extends(base: Path) -> None:
    over = base.parent / "over.yaml"
    over.write_text(OVER)
    shown = yaml.safe_load(hpclaunch("site", "show", over).stdout)
    assert shown["fabric"] == {
        "unit": 20,
        "topology": "block",
        "sharp": {"network": "sharp", "env": {"A": "1", "B": "3"}},
    }
    assert shown["node_types"][0]["mig"] == {"1g.5gb": 56}


def test_a_site_takes_sharp_away_again(base: Path) -> None:
    over = base.parent / "over.yaml"
    over.write_text("version: 1\nname: over\nextends: ./base.yaml\nfabric: {sharp: null}\n")
    assert "sharp" not in yaml.safe_load(hpclaunch("site", "show", over).stdout)["fabric"]


OPENSHIFT = """\
version: 1
name: openshift
scheduler: kubernetes
node_types: [{type: dgx-a100, count: 2}]
kubernetes: {namespace: adas, openshift: true, service_account: mpi, rdma: {mlx5_0: shared_ib0}}
volumes: {data: {claim: data, size: 1Ti}}
"""


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_has_what_is_printed(base: Path, form: str) -> None:
    if form in OF_KUBERNETES:
        base.write_text(OPENSHIFT)
    file = base.parent / "out"
    printed = hpclaunch("site", "export", form, "--site", base)
    written = hpclaunch("site", "export", form, "--site", base, "-o", file)
    assert (printed.returncode, written.returncode, written.stdout) == (0, 0, "")
    assert file.read_text() == printed.stdout != ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


@pytest.mark.parametrize(
    ("words", "old", "new", "said"),
    [
        (["slurm.cfg"], "", "", "known: slurm.conf, gres.conf"),
        (["slurm.conf"], 'hosts: "dgx[001-140]"', "count: 140", "base.yaml:4:14: "),
        (["topology.conf"], "topology: tree", "topology: none", "base.yaml:6:30: "),
        (["topology.yaml"], '"25.11"', '"24.11"', "base.yaml:5:18: "),
        (["nccl", "--node-type", "dgx-2"], "", "", "it has: dgx-a100"),
        (["nccl"], "dgx-a100", "dell-xe8545", "PCI addresses"),
        (["slurm.conf"], "dgx-a100", "no-such-type", "base.yaml:4:21: "),
        (["slurm.conf", "-o", "/no/such/folder/file"], "", "", "cannot be written"),
        (["rbac"], "", "", "has no Kubernetes that rbac could be for"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    base: Path, words: list[str], old: str, new: str, said: str
) -> None:
    base.write_text(BASE.replace(old, new) if old else BASE)
    done = hpclaunch("site", "export", *words, "--site", base.name, cwd=base.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_only_a_cluster_can_be_checked() -> None:
    done = hpclaunch("site", "check", "local")
    assert done.returncode == 2
    assert "scheduler: local" in done.stderr


def test_a_first_site_file_is_not_written_over(base: Path) -> None:
    """Its owner has gone on to edit it."""
    done = hpclaunch("site", "init", "-o", base)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is there already" in done.stderr
    assert base.read_text() == BASE
