"""Ranks of jobs with groups, which write down who they are and what reached them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

# Debian's own Python, which python3-mpi4py belongs to. Each rank says who it is, what reached it as bytes,
# and what the ranks of its world and of its group have in sum.
# Groups end one after the other: where components of a step end at the same moment, srun of Slurm before
# 24.11 may stay (ticket 16817), and jobs end it only after some minutes.
PYTHON = "/usr/bin/python3"
RANK = """\
import json, os, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
hexed = lambda words: [os.fsencode(word).hex() for word in words]
env = os.environ
group = world.Split(int(env["HPCLAUNCH_GROUP_INDEX"]), world.rank)
found = {
    "argv": hexed(sys.argv[2:]),
    "LR": os.environb[b"LR"].hex(),
    "SHARED": os.environb[b"SHARED"].hex(),
    "OWN": env.get("OWN"),
    "host": env["SLURMD_NODENAME"],
    "rank": world.rank,
    "size": world.size,
    "sum": world.allreduce(world.rank),
    "of_group": [env["HPCLAUNCH_GROUP_INDEX"], env["HPCLAUNCH_GROUP_RANK"], env["HPCLAUNCH_GROUP_SIZE"]],
    "in_group": [group.rank, group.size, group.allreduce(1)],
    "groups": env["HPCLAUNCH_GROUPS"],
    "torch": [env["RANK"], env["WORLD_SIZE"], env["LOCAL_RANK"]],
    "local": [env["LOCAL_WORLD_SIZE"], env["NODE_RANK"]],
    "master": [env["MASTER_ADDR"], env["MASTER_PORT"]],
    "hcas": env.get("NCCL_IB_HCA"),
}
name = env["HPCLAUNCH_GROUP"]
with open(os.path.join(sys.argv[1], "%s.%s" % (name, env["HPCLAUNCH_GROUP_RANK"])), "w") as file:
    json.dump(found, file)
print("I am %s" % name, flush=True)
MPI.Finalize()
time.sleep(int(env["HPCLAUNCH_GROUP_INDEX"]))
"""
# The last rank comes to a barrier of PMIx's a second after all others wait at it. Each says whether it left
# the barrier before that one was there.
BARRIER = """\
import ctypes, os, sys, time
class Process(ctypes.Structure):
    _fields_ = [("namespace", ctypes.c_char * 256), ("rank", ctypes.c_uint32)]
pmix, me, none = ctypes.CDLL("libpmix.so.2"), Process(), ctypes.c_size_t(0)
assert pmix.PMIx_Init(ctypes.byref(me), None, none) == 0
last = me.rank + 1 == int(os.environ["WORLD_SIZE"])
if last:
    while len(os.listdir(sys.argv[1])) < me.rank:
        time.sleep(0.1)
    time.sleep(1)
open(os.path.join(sys.argv[1], str(me.rank)), "w").close()
assert pmix.PMIx_Fence(None, none, None, none) == 0
print("early" if len(os.listdir(sys.argv[1])) < int(os.environ["WORLD_SIZE"]) else "together", flush=True)
pmix.PMIx_Finalize(None, none)
"""
SPECIAL = "a b\t'q' \"d\" $HOME $(id) `id` \\ \n x"
UNICODE = "é\u2028 *?[a] {1,2} #;&|"
HOSTILE = ["", ":", "--", "=x", SPECIAL, UNICODE, "\r\x1b=--"]

Run = Callable[..., Any]


def write(folder: Path, name: str, **keys: Any) -> Path:
    """A job file of MPI ranks, two on a node."""
    path = folder / f"{name}.yaml"
    job = {"version": 1, "name": name, "mpi": "pmix", "rendezvous": "torch", "ranks_per_node": 2, "time": 5}
    path.write_text(yaml.safe_dump({**job, **keys}, sort_keys=False), encoding="utf-8")
    return path


def two_groups(folder: Path) -> dict[str, Any]:
    """Keys of a job whose groups, train and evaluate, run RANK with other words and variables."""
    (folder / "rank.py").write_text(RANK)
    (folder / "out").mkdir(mode=0o777)
    command = [PYTHON, str(folder / "rank.py"), str(folder / "out")]
    train = {"nodes": 2, "command": [*command, *HOSTILE], "env": {"LR": SPECIAL, "OWN": "1"}}
    evaluate = {"nodes": 1, "command": [*command, "--other"]}
    env = {"LR": "0.1", "SHARED": UNICODE}
    return {"env": env, "groups": {"train": train, "evaluate": evaluate}}


def ranks(folder: Path, group: str) -> list[dict[str, Any]]:
    """What the ranks of a group have written, in their order."""
    files = sorted((folder / "out").glob(f"{group}.*"), key=lambda file: int(file.suffix[1:]))
    return [json.loads(file.read_text()) for file in files]


def arrived(words: list[str]) -> list[str]:
    """Texts that a rank wrote as bytes."""
    return [bytes.fromhex(word).decode() for word in words]
