"""`hpclaunch topo discover` as a user calls it: what goes where, with which exit status."""

import json
from pathlib import Path

import captured
import pytest
from command import hpclaunch

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.read import parse_node_type
from hpclaunch.topology import catalogue

A100 = catalogue.load("dgx-a100").value


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder as a user has it: file names say nothing, and one file is of another kind."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    for name, text in (
        ("1", captured.lscpu_e(A100)),
        ("2.log", captured.topo_m(A100)),
        ("3", captured.ibdev2netdev(A100)),
        ("4.out", captured.lspci_vmm(A100)),
        ("hostname", "dgx001\n"),
    ):
        (folder / name).write_text(text)
    (folder / "core").write_bytes(b"\x7fELF\0\0\0")
    return folder


def node_type(text: str) -> NodeType:
    return parse_node_type(text, "out.yaml").value


def test_a_folder_becomes_a_node_type(files: Path) -> None:
    done = hpclaunch("topo", "discover", files, "--name", "mine", "--description", "our nodes")
    assert done.returncode == 0, done.stderr
    found = node_type(done.stdout)
    assert (found.name, found.description) == ("mine", "our nodes")
    assert [(gpu.pci, gpu.numa) for gpu in found.gpus] == [(gpu.pci, gpu.numa) for gpu in A100.gpus]
    assert f"not used: {files}/hostname: lines 1-2 fit no known format" in done.stderr
    assert f"not used: {files}/core: this is not text" in done.stderr
    assert "not known: the distances between NUMA nodes" in done.stderr


def test_the_name_is_good_for_a_site_that_names_the_file(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.yaml"
    done = hpclaunch("topo", "discover", files, "-o", out)
    assert (done.returncode, done.stdout) == (0, "")
    shown = hpclaunch("topo", "show", out, "--json")
    assert json.loads(shown.stdout)["name"] == "captured"
    again = hpclaunch("topo", "discover", files, "-o", out)
    assert again.returncode == 2
    assert f"{out} is there already" in again.stderr


def test_standard_input(files: Path) -> None:
    bundle = "".join(f"$ {name}\n{captured.FORMATS[name](A100)}\n" for name in ("lscpu -e", "hwloc 2"))
    done = hpclaunch("topo", "discover", "-", input=bundle)
    assert done.returncode == 0, done.stderr
    assert len(node_type(done.stdout).gpus) == 8
    assert "read: standard input (lscpu); standard input (hwloc XML)" in done.stderr


def test_a_pipe_as_a_file(files: Path) -> None:
    """What a shell makes of <(ssh dgx001 lscpu -e)."""
    with (files / "1").open() as stream:
        done = hpclaunch("topo", "discover", f"/dev/fd/{stream.fileno()}", pass_fds=(stream.fileno(),))
    assert done.returncode == 0, done.stderr
    assert len(node_type(done.stdout).numa) == 8


def test_json_has_all_of_it(files: Path) -> None:
    done = hpclaunch(
        "topo", "discover", files, "--json", "--storage", "mlx5_4,mlx5_5", "--storage", "mlx5_10"
    )
    value = json.loads(done.stdout)
    assert {capture["format"] for capture in value["captures"]} == {
        "lscpu",
        "nvidia-smi topo",
        "ibdev2netdev",
        "lspci -vmm",
    }
    assert value["reasons"]["0000:61:00.0"] == "you said so"
    assert value["unknown"]
    assert len(value["node_type"]["gpus"]) == 8


def test_contradictions_are_refused_one_line_each(files: Path) -> None:
    (files / "5").write_text(captured.topo_m(A100).replace("\t48-63,176-191\t3", "\t48-63,176-191\t2"))
    done = hpclaunch("topo", "discover", files)
    assert (done.returncode, done.stdout) == (2, "")
    lines = [line for line in done.stderr.splitlines() if "contradiction: NUMA node of GPU" in line]
    assert len(lines) == 2
    assert f"3 in {files}/2.log:2 (nvidia-smi topo), but 2 in {files}/5:2 (nvidia-smi topo)" in lines[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["{}/hostname"], "hostname: no known capture is in it. Known: lscpu (also -e, -p, -J)"),
        (["{}/core"], "core: this is not text. Known captures: lscpu"),
        (["{}/absent"], "absent: No such file or directory"),
        (["{}/2.log"], "missing: the CPUs of each NUMA node: no capture tells them; add `lscpu -e`"),
        (["{}", "--storage", "mlx5_77"], "no HCA is named mlx5_77; the captures show: mlx5_0"),
        (["{}", "--storage", "mlx5_0", "--compute", "mlx5_0"], "mlx5_0 cannot be both compute and storage"),
        (["{}", "--site", "local"], "--site takes captures by itself"),
        (["--site", "local"], "the site local has no Slurm"),
        (["--partition", "x"], "--partition belongs to --site"),
        (["/dev/null"], "neither a file nor a folder"),
    ],
)
def test_what_is_refused(files: Path, words: list[str], says: str) -> None:
    done = hpclaunch("topo", "discover", *(word.format(files) for word in words))
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_this_machine() -> None:
    done = hpclaunch("topo", "discover")
    assert done.returncode == 0, done.stderr
    local = json.loads(hpclaunch("topo", "show", "local", "--json").stdout)
    found = node_type(done.stdout)
    assert [node.node for node in found.numa] == [node["node"] for node in local["numa"]]
    assert [gpu.pci for gpu in found.gpus] == [gpu["pci"] for gpu in local["gpus"]]
