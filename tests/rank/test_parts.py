"""The wrapper has only the parts that a job needs: with whichever, it runs."""

import shutil
import subprocess
from itertools import chain, combinations

import pytest
from made_up_node import Node
from running import Runner, environment

from hpclaunch.rank import PARTS, wrapper_text

HCAS = ("hcas=mlx5_0/0000:0c:00.0/1/InfiniBand", "near=;;;1:0")
GROUPS = (
    ("rendezvous=torch",),
    ("memlock=64",),
    ("hosts=dgx[001-004]",),
    HCAS,
    ("cpus=;;;1", "membind=;;;0"),
    ("cores=0.0:0-1", "gpus=0000:07:00.0|0|0", "seats=;;;0", "part=cpus,membind"),
    ("verify=1",),
)


@pytest.mark.parametrize(
    "groups", list(chain.from_iterable(combinations(GROUPS, size) for size in (0, 1, 2, len(GROUPS))))
)
def test_any_of_them_together(on_node: Runner, node: Node, groups: tuple[tuple[str, ...], ...]) -> None:
    node.allowed("0-1")
    node.gpu("0000:07:00.0", 0)
    node.hca("mlx5_3", "0000:0c:00.0", 0)
    env = {"SLURMD_NODENAME": "dgx004", "SLURM_CPUS_ON_NODE": "2"}
    result = on_node("from=slurm", *chain.from_iterable(groups), "--", "A=1", "--", "env", "-0", env=env)
    got = environment(result)
    said = [line.split(" ")[0] for line in result.stderr.decode().splitlines()]
    assert said == (["hpclaunch-verify"] if ("verify=1",) in groups else [])
    assert got.get("UCX_NET_DEVICES") == ("mlx5_3:1" if HCAS in groups else None)
    assert ("MASTER_ADDR" in got) == (("rendezvous=torch",) in groups)
    assert (node.cores() is not None) == any("cpus" in text for group in groups for text in group)


def test_nodes_of_a_type_without_hcas_or_a_part_beside_ones_that_have_them(on_node: Runner) -> None:
    tables = ("hosts=a", *HCAS, *GROUPS[5], "hosts=b", "strict=1", "cpus=;;;")
    env = {"SLURMD_NODENAME": "b", "SLURM_LOCALID": "0"}
    result = on_node("from=slurm", *tables, "--", "--", "env", "-0", env=env)
    assert "NCCL_IB_HCA" not in environment(result)
    assert result.stderr == b""


def test_a_setting_whose_part_is_missing_is_no_silent_loss(shell: list[str]) -> None:
    """Host tables without the part that reads host lists."""
    text = wrapper_text(["from=local"])
    arguments = ["from=local", "rank=0", "ranks=1", "hosts=dgx001", "--", "--", "=echo", "=ran"]
    result = subprocess.run([*shell, "-c", text, "rank", *arguments], capture_output=True, timeout=20)
    assert (result.returncode, result.stdout) == (121, b"")


# Settings whose parts only help those of another one.
WITH = {"besteffort": "cpus", "from=openmpi": "hcas", "from=hydra": "hcas", "from=local": "hcas"}


@pytest.mark.parametrize("setting", sorted({setting for _, needed in PARTS for setting in needed}))
def test_shellcheck_finds_nothing_in_what_one_setting_needs(setting: str) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    # As in the Makefile; also what a part that is not there would use or set.
    known = "SC1007,SC2015,SC2034,SC2086,SC2163,SC3045"
    command = ["shellcheck", "--shell=sh", f"--exclude={known}", "-"]
    text = wrapper_text([setting, WITH.get(setting, "")])
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
