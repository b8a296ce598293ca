"""The rank wrapper of groups that differ in nodes or ranks, under every shell that an image may have."""

import os
import subprocess
import sys

import pytest
from running import RECORD, SLURM, recorded

from hpclaunch.rank import wrapper_text

# As Slurm 22.05 tells it to rank 5 of a world of 3 + 4, whose first group is on the last of the nodes.
ONE_WORLD = {
    **SLURM,
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "2",
    "SLURM_STEP_NUM_TASKS": "7",
    "SLURM_STEP_NUM_NODES": "3",
    "SLURM_STEP_NODELIST": "dgx[1-3]",
    "SLURM_JOB_NODELIST_HET_GROUP_0": "dgx3",
    "SLURM_JOB_NODELIST_HET_GROUP_1": "dgx[1-2]",
}
# The same rank in a world of its group alone.
ITS_OWN = {
    **ONE_WORLD,
    "SLURM_PROCID": "2",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NODELIST": "dgx[1-2]",
}


@pytest.mark.parametrize(
    ("member", "told", "master"),
    [((), ONE_WORLD, "dgx3"), (("member=1",), ITS_OWN, "dgx1")],
    ids=["one world", "a world of its own"],
)
def test_a_rank_finds_its_group_and_where_the_first_one_is(
    shell: list[str], member: tuple[str, ...], told: dict[str, str], master: str
) -> None:
    settings = ("local_ranks=2", "from=slurm", "rendezvous=torch", *member, "groups=train:3 evaluate:4")
    groups = ("--", "=x", "--", "B=2", f"={sys.executable}", "=-c", f"={RECORD}")
    command = [*shell, "-c", wrapper_text(settings), "hpclaunch-rank", *settings, "--", "A=1", *groups]
    env = {"PATH": os.environ["PATH"], **told}
    _, found = recorded(subprocess.run(command, env=env, capture_output=True, timeout=20))
    got = {name.decode(): value.decode() for name, value in found.items()}
    assert (got["HPCLAUNCH_GROUP"], got["HPCLAUNCH_GROUP_RANK"], got["B"]) == ("evaluate", "2", "2")
    assert (got["MASTER_ADDR"], got["LOCAL_WORLD_SIZE"], got["A"]) == (master, "2", "1")


def test_one_node_with_more_ranks_than_another_has_its_own_number(shell: list[str]) -> None:
    settings = ("local_ranks=3", "from=slurm", "rendezvous=torch", "groups=train:3 evaluate:2")
    groups = ("--", f"={sys.executable}", "=-c", f"={RECORD}", "--", "=x")
    command = [*shell, "-c", wrapper_text(settings), "hpclaunch-rank", *settings, "--", *groups]
    told = {"SLURM_PROCID": "2", "SLURM_LOCALID": "2", "SLURM_NODEID": "0", "SLURM_STEP_NUM_TASKS": "5"}
    env = {"PATH": os.environ["PATH"], **SLURM, **told}  # in one allocation, without HET_GROUP
    _, found = recorded(subprocess.run(command, env=env, capture_output=True, timeout=20))
    assert (found[b"LOCAL_WORLD_SIZE"], found[b"WORLD_SIZE"], found[b"MASTER_ADDR"]) == (
        b"3",
        b"5",
        b"dgx003",
    )
