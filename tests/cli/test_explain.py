"""`hpclaunch explain`: the file and line that set each value, and where pictures and pages go."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from command import hpclaunch

NODE_TYPE = """\
version: 1
name: box
description: two sockets
numa:
  - {node: 0, socket: 0, threads: ["0-3", "8-11"]}
  - {node: 1, socket: 1, threads: ["4-7", "12-15"]}
gpus:
  - {pci: "0000:01:00.0", numa: 0}
  - {pci: "0000:81:00.0", numa: 1}
hcas:
  - {pci: "0000:02:00.0", numa: 0}
  - {pci: "0000:03:00.0", numa: 0, use: storage}
  - {pci: "0000:82:00.0", numa: 1}
variants:
  only: {when: always, default: true, names: {"0000:02:00.0": a0, "0000:03:00.0": a1, "0000:82:00.0": a2}}
env:
  FROM_NODE_TYPE: "1"
  FROM_BOTH: node type
"""
BASE = """\
version: 1
name: base
scheduler: slurm
node_types:
  - {type: TYPE, hosts: "n[1-9]", reserved_cpus: "3"}
container: pyxis
slurm:
  version: "22.05"
  pyxis: "0.20.0"
  partition: batch
  account: everybody
  mpi_plugin: {pmix: pmix_v4}
volumes:
  data: {path: /raid/data}
"""
SITE = """\
version: 1
name: mine
extends: base.yaml
slurm:
  partition: quick   # over the one of base
network:
  socket_ifname: ib0
env:
  FROM_SITE: site
  FROM_BOTH: site
"""
JOB = """\
version: 1
name: train
command: [python, train.py]
image: nvcr.io/nvidia/pytorch:24.07-py3
nodes: 2
mpi: pmix
time: 30m
env:
  FROM_JOB: job
  FROM_SET: file
inherit: [HTTPS_PROXY]
mounts:
  - data:/data:ro
  - /scratch:/scratch
sites:
  mine:
    account: adas
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "box.yaml").write_text(NODE_TYPE)
    (tmp_path / "base.yaml").write_text(BASE.replace("TYPE", str(tmp_path / "box.yaml")))
    (tmp_path / "site.yaml").write_text(SITE)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def explain(folder: Path, *words: str) -> Any:
    """What `explain` says in the folder, without anything of the user's own."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return hpclaunch("explain", "job.yaml", "--site", "./site.yaml", *words, cwd=folder, env=env)


def origins(folder: Path, *words: str) -> dict[str, tuple[str, str]]:
    """what -> (value, from)"""
    done = explain(folder, "--json", *words)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["origins"]
    found = {row["what"]: (row["value"], row["from"]) for row in rows}
    assert len(found) == len(rows)
    return found


def line(file: Path, words: str) -> int:
    """The one line of the file that has these words, from 1."""
    (number,) = [at for at, text in enumerate(file.read_text().splitlines(), 1) if words in text]
    return number


def test_each_value_has_the_line_that_set_it(folder: Path) -> None:
    def job(words: str) -> str:
        return f"job.yaml:{line(folder / 'job.yaml', words)}"

    def site(words: str) -> str:
        return f"./site.yaml:{line(folder / 'site.yaml', words)}"

    def base(words: str) -> str:
        return f"./base.yaml:{line(folder / 'base.yaml', words)}"

    def box(words: str) -> str:
        return f"{folder}/box.yaml:{line(folder / 'box.yaml', words)}"

    found = origins(folder, "--set", "env.FROM_SET=set", "--set", "rendezvous=torch")
    assert found["name"] == ("train", job("name: train"))
    assert found["nodes"] == ("2", job("nodes: 2"))
    assert found["time"] == ("30 minutes", job("time: 30m"))
    assert found["image"][1] == job("image:")
    assert found["command"] == ("python train.py", job("command:"))
    assert found["mpi"] == ("pmix (plugin pmix_v4)", f"{job('mpi:')}; {base('mpi_plugin')}")
    assert found["rendezvous"] == ("torch", "--set rendezvous")
    assert found["node type"] == (str(folder / "box.yaml"), base("type:"))
    assert found["reserved_cpus"] == ("3", base("type:"))
    assert found["gpus_per_node"] == (
        "2",
        f"default: all; {folder}/box.yaml:{line(folder / 'box.yaml', 'gpus:') + 1}",
    )
    assert found["ranks_per_node"] == ("2", "default: one for each GPU")
    assert found["mounts[0]"] == ("/raid/data:/data:ro", f"{job('data:/data')}; {base('/raid/data')}")
    assert found["mounts[1]"] == ("/scratch:/scratch", job("/scratch"))
    # The site's own line over the one that it extends, the job's over both.
    assert found["partition"] == ("quick", site("partition:"))
    assert found["account"] == ("adas", job("account: adas"))
    assert found["slurm.version"] == ("22.05", base('version: "22.05"'))
    assert found["exclusive"] == ("true", "default: the job takes whole nodes")
    # Cores and memory: the rule, and the lines of the machine that they were worked out from.
    numa = line(folder / "box.yaml", "node: 0")
    assert found["cores"] == ("local", f"default; {folder}/box.yaml:{numa}-{numa + 1}")
    assert found["memory"] == ("local", f"default; {folder}/box.yaml:{numa}-{numa + 1}")
    gpu = line(folder / "box.yaml", "01:00.0")
    assert found["GPU"][1] == f"default: one for each rank; {folder}/box.yaml:{gpu}-{gpu + 1}"
    first, last = line(folder / "box.yaml", '{pci: "0000:02'), line(folder / "box.yaml", '{pci: "0000:82')
    assert found["HCA"] == ("nearest", f"default; {folder}/box.yaml:{first},{last}")
    # The environment, layer by layer.
    assert found["env.FROM_NODE_TYPE"] == ("1", box("FROM_NODE_TYPE"))
    assert found["env.FROM_BOTH"] == ("site", site("FROM_BOTH"))
    assert found["env.FROM_SITE"] == ("site", site("FROM_SITE"))
    assert found["env.FROM_JOB"] == ("job", job("FROM_JOB"))
    assert found["env.FROM_SET"] == ("set", "--set env.FROM_SET")
    assert found["env.NCCL_SOCKET_IFNAME"] == ("ib0", site("socket_ifname"))
    assert found["env.CUDA_DEVICE_ORDER"] == ("PCI_BUS_ID", "hpclaunch")
    assert found["env.MASTER_ADDR"][1] == "--set rendezvous"
    assert found["env.HTTPS_PROXY"][1] == job("inherit:")


def test_whose_word_counts_for_how_pmix_waits(folder: Path) -> None:
    what = "srun.SLURM_PMIX_FENCE"
    assert origins(folder)[what] == ("ring", "hpclaunch")
    assert what not in origins(folder, "--set", "mpi=none")
    with (folder / "site.yaml").open("a") as file:
        file.write("  SLURM_PMIX_FENCE: tree\n")
    number = line(folder / "site.yaml", "SLURM_PMIX_FENCE")
    assert origins(folder)[what] == ("tree", f"./site.yaml:{number}")
    found = origins(folder, "--set", "env.SLURM_PMIX_FENCE=mixed")
    assert found[what] == found["env.SLURM_PMIX_FENCE"] == ("mixed", "--set env.SLURM_PMIX_FENCE")


def test_lists_name_a_line_for_each_rank(folder: Path) -> None:
    with (folder / "job.yaml").open("a") as file:
        file.write("bind:\n  cpus:\n    - 0-1\n    - 4-5\n  hcas: all\n  memory: none\n")
    found = origins(folder)
    assert found["cores of rank 0"] == ("0-1", f"job.yaml:{line(folder / 'job.yaml', '- 0-1')}")
    assert found["cores of rank 1"] == ("4-5", f"job.yaml:{line(folder / 'job.yaml', '- 4-5')}")
    assert found["memory"] == ("none", f"job.yaml:{line(folder / 'job.yaml', 'memory: none')}")
    assert found["HCA"][1].startswith(f"job.yaml:{line(folder / 'job.yaml', 'hcas: all')}; ")


def test_every_value_of_the_environment_has_an_origin(folder: Path) -> None:
    done = explain(folder, "--json")
    data = json.loads(done.stdout)
    values = {row["what"]: row["value"] for row in data["origins"]}
    for variable in data["environment"]:
        assert values[f"env.{variable['name']}"] == variable["value"]


def test_the_table_has_the_same_rows_as_the_json(folder: Path) -> None:
    found = origins(folder, "--set", "env.LONG=" + "x" * 300, "--set", "env.LINES=a\nb")
    table = explain(folder, "--set", "env.LONG=" + "x" * 300, "--set", "env.LINES=a\nb").stdout
    lines = table.splitlines()
    start = lines.index(next(row for row in lines if row.split() == ["what", "value", "from"]))
    rows = lines[start + 1 :]
    place = lines[start].index("from")
    assert [row[place:] for row in rows] == [place for _, place in found.values()]
    assert max(len(row[:place]) for row in rows) < 100


def test_pictures_and_pages_go_where_they_are_told(folder: Path) -> None:
    plain = explain(folder)
    both = explain(folder, "--svg", "a.svg", "--html", "a.html")
    assert (both.returncode, both.stdout) == (0, plain.stdout)
    assert ET.parse(folder / "a.svg").getroot().tag.endswith("svg")
    for option, file in (("--svg", "a.svg"), ("--html", "a.html")):
        printed = explain(folder, option, "-")
        assert (printed.returncode, printed.stdout) == (0, (folder / file).read_text("utf-8"))
    data = explain(folder, "--json", "--svg", "b.svg")
    assert json.loads(data.stdout)["job"] == "train"
    assert (folder / "b.svg").read_bytes() == (folder / "a.svg").read_bytes()


@pytest.mark.parametrize(
    "words", [("--svg", "-", "--html", "-"), ("--json", "--svg", "-"), ("--json", "--html", "-")]
)
def test_standard_output_takes_one_result(folder: Path, words: tuple[str, ...]) -> None:
    done = explain(folder, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "one result" in done.stderr


@pytest.mark.parametrize("option", ["--svg", "--html"])
@pytest.mark.parametrize("file", ["no/such/folder", ".", "/dev/full"])
def test_a_file_that_cannot_be_written(folder: Path, option: str, file: str) -> None:
    done = explain(folder, option, file)
    assert (done.returncode, done.stdout) == (2, "")
    (message,) = done.stderr.splitlines()
    assert file in message


def test_several_node_types_have_a_picture_each(folder: Path) -> None:
    small = NODE_TYPE.replace("name: box", "name: small").replace('["0-3", "8-11"]', '["0-3"]')
    small = small.replace('["4-7", "12-15"]', '["4-7"]')
    (folder / "small.yaml").write_text(small)
    text = (folder / "base.yaml").read_text()
    group = f"  - {{type: {folder}/small.yaml, hosts: m1}}\ncontainer"
    (folder / "base.yaml").write_text(text.replace("container", group))
    done = explain(folder, "--svg", "both.svg")
    assert done.returncode == 0, done.stderr
    root = ET.parse(folder / "both.svg").getroot()
    pages = [child for child in root if child.tag.endswith("}g")]
    cpus = [
        sum((title.text or "").startswith("CPU ") for title in page.iter() if title.tag.endswith("}title"))
        for page in pages
    ]
    assert cpus == [16, 8]


def test_topo_show_draws_a_node_type(folder: Path) -> None:
    done = hpclaunch("topo", "show", folder / "box.yaml", "--svg", folder / "box.svg")
    assert done.returncode == 0, done.stderr
    assert done.stdout == hpclaunch("topo", "show", folder / "box.yaml").stdout
    words = {element.text for element in ET.parse(folder / "box.svg").iter() if element.tag.endswith("}text")}
    assert {"GPU 0", "GPU 1", "a0", "a1", "a2"} <= words
    printed = hpclaunch("topo", "show", folder / "box.yaml", "--svg", "-").stdout
    assert printed == (folder / "box.svg").read_text("utf-8")
    for wrong in (["--svg", "-", "--json"], ["--variant", "only"], ["--svg", "-", "--variant", "none"]):
        assert hpclaunch("topo", "show", folder / "box.yaml", *wrong).returncode == 2


def test_a_table_needs_nothing_of_the_pictures(folder: Path) -> None:
    """They cost an import that nobody waits for who only wants the table."""
    heavy = ("xml.etree.ElementTree", "hpclaunch.report.layout", "jinja2")
    program = (
        "import sys\nfrom hpclaunch.cli.main import hpclaunch\n"
        "hpclaunch(['explain', 'job.yaml', '--site', './site.yaml', '--json'], standalone_mode=False)\n"
        f"print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True)
    assert json.loads(done.stdout)["origins"]
    assert done.stderr.split() == []
