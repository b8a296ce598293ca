"""Finding node types: by name in several folders, by path, and on the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hpclaunch.cli.topo import topo
from hpclaunch.topology import catalogue
from hpclaunch.values.errors import InputError

OWN = """\
version: 1
name: {name}
description: made up
numa:
  - {{node: 0, socket: 0, threads: ["0-1"]}}
  - {{node: 1, socket: 0, threads: ["{second}"]}}
"""


def write(folder: Path, name: str, second: str = "2-3", inside: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.yaml"
    file.write_text(OWN.format(name=inside or name, second=second))
    return file


@pytest.fixture(autouse=True)
def no_types_of_this_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's configuration folder, empty; returned for tests that put something there."""
    monkeypatch.delenv("HPCLAUNCH_NODE_TYPES", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(tmp_path / "system"))
    return tmp_path / "config/hpclaunch/node-types"


def test_shipped_names_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {"dgx-a100", "dgx-h100"} <= set(catalogue.names())
    assert catalogue.load("dgx-h100").value.name == "dgx-h100"


def test_own_types_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_types_of_this_user: Path
) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    monkeypatch.setenv("HPCLAUNCH_NODE_TYPES", f"{a}:{tmp_path / 'missing'}:{b}")
    first = write(a, "lab")
    write(b, "lab")
    config = write(no_types_of_this_user, "dgx-a100")
    (a / ".hidden.yaml").write_text("")
    (a / "notes.txt").write_text("")
    (b / "short.yml").write_text(OWN.format(name="short", second="2-3"))
    names = catalogue.names()
    assert {"dgx-a100", "dgx-h100", "lab", "short"} <= set(names)
    assert names == tuple(sorted(set(names)))
    assert not {".hidden", "notes"} & set(names)
    assert catalogue.load("lab").file == str(first)
    assert catalogue.load("dgx-a100").file == str(config)


def test_the_system_offers_types_after_the_user(tmp_path: Path, no_types_of_this_user: Path) -> None:
    system = tmp_path / "system/hpclaunch/node-types"
    cluster = write(system, "cluster")
    write(system, "both")
    own = write(no_types_of_this_user, "both")
    assert catalogue.load("cluster").file == str(cluster)
    assert catalogue.load("both").file == str(own)


def test_a_path_needs_no_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "box", inside="of-another-name")
    monkeypatch.chdir(tmp_path)
    assert catalogue.load("box.yaml").value.name == "of-another-name"
    assert catalogue.load(f"{tmp_path}/box.yaml").value.name == "of-another-name"


def test_an_unknown_name_is_refused_with_the_nearest_and_the_list() -> None:
    with pytest.raises(InputError) as caught:
        catalogue.load("dgx-a10")
    assert "'dgx-a10' (did you mean 'dgx-a100'?)" in str(caught.value)
    assert f"Known: {', '.join(catalogue.names())}, local." in str(caught.value)


def test_a_file_of_another_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "box", inside="bax")
    monkeypatch.setenv("HPCLAUNCH_NODE_TYPES", str(tmp_path))
    with pytest.raises(InputError) as caught:
        catalogue.load("box")
    assert str(caught.value).startswith(f"{file}:2:")


def test_a_file_that_contradicts_itself_is_refused_at_the_place(tmp_path: Path) -> None:
    file = write(tmp_path, "box", second="1-2")
    with pytest.raises(InputError) as caught:
        catalogue.load(str(file))
    assert str(caught.value).startswith(f"{file}:6:")


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.yaml"):
        catalogue.load(str(tmp_path / "missing.yaml"))


def test_local_is_this_machine() -> None:
    assert catalogue.load("local").value.variants["this-machine"].default


def test_topo_list() -> None:
    run = CliRunner().invoke(topo, ["list", "--json"], catch_exceptions=False)
    names = json.loads(run.stdout)
    assert {"dgx-a100", "dgx-h100"} <= set(names)
    header, *rows = CliRunner().invoke(topo, ["list"], catch_exceptions=False).stdout.splitlines()
    assert header.split() == ["NAME", "GPUS", "HCAS", "CPUS", "NUMA", "NODES", "DESCRIPTION"]
    assert [row.split()[0] for row in rows] == names
    # GPUs, HCAs for compute alone, CPUs and NUMA nodes.
    numbers = {row.split()[0]: row.split()[1:5] for row in rows}
    assert numbers["dgx-a100"] == ["8", "8", "256", "8"]
    assert numbers["dgx-2"] == ["16", "8", "96", "2"]
    assert numbers["supermicro-4029gp-tvrt"] == ["8", "0", "80", "2"]


def test_a_file_that_is_wrong_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "box", second="1-2")
    monkeypatch.setenv("HPCLAUNCH_NODE_TYPES", str(tmp_path))
    run = CliRunner().invoke(topo, ["list"], catch_exceptions=False)
    assert run.exit_code == 0
    assert f"{file}:6:" in run.stderr
    rows = [line.split() for line in run.stdout.splitlines()]
    assert ["box", "-", "-", "-", "-", "-"] in rows
    assert {"dgx-a100", "gb200-tray"} <= {row[0] for row in rows}


def test_topo_show_json_is_the_node_type() -> None:
    run = CliRunner().invoke(topo, ["show", "dgx-a100", "--json"], catch_exceptions=False)
    shown = json.loads(run.stdout)
    assert shown["numa"][3]["threads"] == ["48-63", "176-191"]
    assert shown["gpus"][0]["pci"] == "0000:07:00.0"


def test_topo_show_tables_have_a_row_for_each_device() -> None:
    run = CliRunner().invoke(topo, ["show", "dgx-a100"], catch_exceptions=False)
    rows = [line.split() for line in run.stdout.splitlines()]
    assert ["3", "0", "48-63,176-191", "12", "12", "12", "10", "32", "32", "32", "32"] in rows
    assert ["3", "48-51,176-179", "52-55,180-183", "56-59,184-187", "60-63,188-191"] in rows
    assert "SMT: 2 CPUs to a core, such as 0,128." in run.stdout
    assert ["4", "0000:87:00.0", "7", "pex2/0"] in rows
    assert ["0000:8d:00.0", "7", "pex2/1", "compute", "InfiniBand", "200", "Gb/s", "mlx5_6", "mlx5_4"] in rows
    assert ["0000:61:00.1", "0", "-", "storage", "Ethernet", "mlx5_5", "-"] in rows


def test_topo_show_says_what_is_not_known_and_how_sure_the_rest_is() -> None:
    run = CliRunner().invoke(topo, ["show", "dell-dss8440-10"], catch_exceptions=False)
    rows = [line.split() for line in run.stdout.splitlines()]
    # Even CPUs are on socket 0; long lists with a step are cut short.
    assert ["0", "0", "0,2,...,46,48,50,...,94", "not", "known"] in rows
    assert ["9", "not", "known", "1", "-"] in rows
    assert "[confidence: low]" in run.stdout
    assert "- not known: PCI addresses" in run.stdout


def test_topo_show_has_the_environment() -> None:
    run = CliRunner().invoke(topo, ["show", "azure-ndv2"], catch_exceptions=False)
    assert ["NCCL_IGNORE_CPU_AFFINITY", "1"] in [line.split() for line in run.stdout.splitlines()]


def test_topo_show_of_a_bare_machine_has_no_empty_tables(tmp_path: Path) -> None:
    file = write(tmp_path, "box")
    run = CliRunner().invoke(topo, ["show", str(file)], catch_exceptions=False)
    assert run.stdout.splitlines() == [
        "box: made up",
        "",
        "NUMA node  socket  CPUs  distances",
        "0          0       0-1   not known",
        "1          0       2-3   not known",
    ]
