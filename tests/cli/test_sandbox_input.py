"""What `hpclaunch sandbox` is asked for and cannot be had ends before anything starts."""

import json
import os
from pathlib import Path

import pytest
from command import hpclaunch

NUMA = {
    "sizes": '[{node: 0, socket: 0, threads: ["0-3"]}, {node: 1, socket: 1, threads: ["4-5"]}]',
    "memory-only": '[{node: 0, socket: 0, threads: ["0-3"]}, {node: 2, socket: 0, threads: []}]',
    "one-socket": '[{node: 0, socket: 0, threads: ["0-1"]}, {node: 1, socket: 0, threads: ["2-5"]}]',
}


@pytest.mark.parametrize("wrong", [["--node-type", "dgx-a1000"], ["--pyxis", "latest"], ["--name", "../Up"]])
def test_a_bad_node_type_release_or_name_is_an_input_error(tmp_path: Path, wrong: list[str]) -> None:
    refused = hpclaunch("sandbox", "up", "--dir", tmp_path / "it", *wrong)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert wrong[1] in refused.stderr
    assert not (tmp_path / "it").exists()


@pytest.mark.parametrize(
    ("numa", "why"),
    [
        ("sizes", "sockets of one size"),
        ("memory-only", "NUMA node 2 has no CPUs"),
        ("one-socket", "NUMA nodes of one size"),
    ],
)
def test_a_machine_that_slurm_cannot_be_told_of_is_named_with_its_line(
    tmp_path: Path, numa: str, why: str
) -> None:
    odd = tmp_path / "odd.yaml"
    odd.write_text(f"version: 1\nname: odd\ndescription: made up\nnuma: {NUMA[numa]}\n", encoding="utf-8")
    refused = hpclaunch("sandbox", "up", "--dir", tmp_path / "it", "--node-type", odd)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"{odd}:4:7: odd: ")
    assert why in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "it").exists()


def test_the_default_folder_is_in_the_home_of_the_records(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "HPCLAUNCH_HOME": "~/launches"}
    seen = json.loads(hpclaunch("sandbox", "status", "--json", "--name", "demo-2", env=env).stdout)
    assert seen["folder"] == str(tmp_path / "launches" / "sandbox" / "demo-2")
