"""Steps and trials of one job file: what runs, in which order, where and with which environment is the same
under Slurm and in pods, byte for byte."""

import ast
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import left_out
import pytest
import yaml
from both_sides import EVERYTHING, Place, in_pods, submit, under_slurm
from msgspec import Struct

HOSTILE = [
    "",
    "two  words",
    "$(KUBERNETES_PORT) $$ $HOME `id`",
    "new\nline",
    "it's",
    ":",
    "--",
    "=",
    "setup=node",
]
SHELL = {"OF_MY_SHELL": "'a' $(x) $$\nb", "TOKEN": "s3cret $(OF_MY_SHELL)"}
PYTHON = "/usr/bin/python3"  # which the pods have too
# Each process adds what it is given, with the time, and ends with the status of its second word.
RECORD = """
import os, sys, time
folder, status, *argv = sys.argv[1:]
host = os.uname()[1]
node = os.environ.get("SLURM_NODEID") or (host[-1] if "-worker-" in host else "0")
seen = (time.monotonic(), node, argv, os.getcwd(), dict(os.environb))
file = os.open(os.path.join(folder, "seen"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
os.write(file, repr(seen).encode() + b"\\n")
sys.exit(eval(status))
"""


class Seen(Struct, frozen=True, order=True):
    """A process."""

    time: float
    node: str
    argv: list[str]
    cwd: str
    env: dict[bytes, bytes]

    @property
    def when(self) -> tuple[str, bytes, bytes]:
        return self.argv[0], self.env.get(b"HPCLAUNCH_TRIAL", b""), self.env.get(b"SEED", b"")


class Job:
    """A job whose processes are recorded in a folder that both sides see."""

    def __init__(self, place: Place, folder: Path):
        self.place, self.folder = place, folder
        self.seen = place.image / f"steps-{folder.name}"
        self.seen.mkdir()
        self.seen.chmod(0o777)

    def command(self, what: str, *words: str, status: str = "0") -> list[str]:
        return [PYTHON, "-c", RECORD, str(self.seen), status, what, *words]

    def run(self, job: dict[str, Any], nodes: int) -> "tuple[Side, Side]":
        path = self.folder / "job.yaml"
        full = {"version": 1, "name": "steps", "image": "made/up:1", "time": 5, "nodes": nodes, **job}
        path.write_text(yaml.safe_dump(full), encoding="utf-8")
        both = submit(self.place, path, shell=SHELL)
        here = under_slurm(self.place, both)
        of_slurm = self._taken(left_out.SLURM)
        there = in_pods(self.place, both, {node: EVERYTHING[node] for node in range(nodes)})
        return (
            Side(here.status, of_slurm, here.said),
            Side(there.status, self._taken(left_out.PODS), there.said),
        )

    def _taken(self, patterns: dict[str, str]) -> list[Seen]:
        file = self.seen / "seen"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        own = {"OURS", "SEED", "HPCLAUNCH_TRIAL", *SHELL}
        return sorted(
            Seen(when, node, argv, cwd, {
                name.encode(): value for name, value in left_out.compared(env, patterns, own).items()
            })
            for when, node, argv, cwd, env in map(ast.literal_eval, lines)
        )  # fmt: skip


class Side(Struct, frozen=True):
    """How the job ended, and what ran in its order."""

    status: int
    seen: list[Seen]
    log: str

    def order(self) -> list[tuple[tuple[str, bytes, bytes], Counter[str]]]:
        """What ran, of which trial, and how many processes on each node."""
        return [
            (when, Counter(each.node for each in group))
            for when, group in itertools.groupby(self.seen, lambda each: each.when)
        ]

    def said(self) -> list[str]:
        """What hpclaunch said of steps and trials."""
        words = ("trial ", "setup ", "before_each ", "after ")
        lines = (line.removeprefix("hpclaunch: ") for line in self.log.splitlines() if "hpclaunch: " in line)
        return [line for line in lines if line.startswith(words)]


def steps(job: Job, **statuses: str) -> dict[str, Any]:
    """Steps of every kind; `statuses` are those of some, in Python."""

    def command(what: str, *words: str) -> list[str]:
        return job.command(what, *words, status=statuses.get(what, "0"))

    return {
        "command": command("train", *HOSTILE),
        "env": {"OURS": HOSTILE[2]},
        "inherit": ["OF_MY_SHELL"],
        "secrets": ["TOKEN"],
        "setup": [
            {"run": command("install", *HOSTILE), "name": "it's $x"},
            {"run": command("once"), "per": "job", "optional": True},
        ],
        "before_each": [{"run": command("warm"), "per": "rank"}, {"run": command("drop"), "name": "drop"}],
        "after": [{"run": command("collect"), "per": "job"}, {"run": command("tidy")}],
    }


def alike(here: Side, there: Side) -> None:
    assert there.order() == here.order(), there.log
    for mine, theirs in zip(here.seen, there.seen, strict=True):
        assert (mine.argv, mine.cwd) == (theirs.argv, theirs.cwd)
    # Ranks of one start come in any order.
    for one, other in zip(_grouped(here), _grouped(there), strict=True):
        assert one == other
    assert here.said() == there.said()
    assert here.status == there.status


NETWORK = {b"NCCL_SOCKET_IFNAME", b"GLOO_SOCKET_IFNAME", b"OMPI_MCA_btl_tcp_if_include"}


def _grouped(side: Side) -> list[list[dict[bytes, bytes]]]:
    """The environments of what ran at once, but for the network's interface, which is the site's."""
    groups = itertools.groupby(side.seen, lambda each: each.when)
    return [
        sorted(
            ({name: value for name, value in each.env.items() if name not in NETWORK} for each in group),
            key=lambda env: sorted(env.items()),
        )
        for _, group in groups
    ]


@pytest.mark.parametrize(
    ("nodes", "more"),
    [
        (2, {"mpi": "pmix", "ranks_per_node": 2}),
        (2, {"ranks_per_node": 2, "container": {"mpi": "mpich"}}),
        (1, {"ranks_per_node": 2, "mpi": "pmix"}),
        (1, {"ranks_per_node": 1}),
    ],
)
def test_every_kind_of_step(place: Place, tmp_path: Path, nodes: int, more: dict[str, Any]) -> None:
    job = Job(place, tmp_path)
    trials = {"count": 2, "first_seed": 40}
    here, there = job.run({**steps(job), **more, "trials": trials}, nodes)
    assert here.status == 0, here.log
    ranks = nodes * more["ranks_per_node"]
    assert [(when[0], count.total()) for when, count in here.order()] == [
        *[("install", nodes), ("once", 1)],
        *[("warm", ranks), ("drop", nodes), ("train", ranks)] * 2,
        *[("collect", 1), ("tidy", nodes)],
    ]
    alike(here, there)


@pytest.mark.parametrize(
    ("statuses", "keep_going", "status"),
    [
        ({"install": "3", "tidy": "4"}, False, 3),
        ({"once": "3"}, False, 0),
        ({"train": "7 if os.environ['HPCLAUNCH_TRIAL'] == '1' else 8"}, False, 7),
        ({"train": "7 if os.environ['HPCLAUNCH_TRIAL'] == '1' else 8"}, True, 7),
        ({"drop": "5 if os.environ['HPCLAUNCH_TRIAL'] == '1' else 0"}, True, 5),
        ({"collect": "6"}, False, 6),
    ],
)
def test_failures(
    place: Place, tmp_path: Path, statuses: dict[str, str], keep_going: bool, status: int
) -> None:
    job = Job(place, tmp_path)
    trials = {"count": 2, "first_seed": 1, "keep_going": keep_going}
    here, there = job.run({**steps(job, **statuses), "ranks_per_node": 1, "trials": trials}, 1)
    assert here.status == status, here.log
    alike(here, there)
