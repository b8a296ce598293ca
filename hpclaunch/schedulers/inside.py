"""A command within a job that runs: where one of its ranks is, through a step of Slurm's beside its own."""

import os
from collections.abc import Sequence

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from msgspec import Struct

from hpclaunch.records import checks
from hpclaunch.records.record import Record
from hpclaunch.schedulers.environment import closed
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.values.errors import InputError


class Rank(Struct, frozen=True):
    """A rank of a job: its number, and how many there are, on each node and in all."""

    number: int
    per_node: int
    total: int


def command(
    record: Record,
    task: int | None,
    rank: Rank,
    text: str,
    words: Sequence[str],
    terminal: bool,
    commands: Commands,
) -> tuple[list[str], dict[str, str]]:
    """The srun that runs `words` beside a rank, and its environment. `text` is what finds the rank on its
    node, and `terminal` gives the command one; `commands` are those of the cluster. Raises SchedulerError,
    and InputError for a job that does not run."""
    conf = record.intent.slurm_conf
    number = str(record.state().job_id) + (f"_{task}" if task is not None else "")
    asked = ["squeue", "--noheader", "--states=RUNNING", f"--jobs={number}", "--format=%A|%N"]
    rows = [row.split("|") for row in commands.query(asked).splitlines()]
    if not rows:
        raise InputError(f"job {number} does not run, so there is nothing to run a command in")
    if len(rows) > 1:
        raise InputError(f"several tasks of job {number} run: say which, as in {number}_0")
    job, nodes = rows[0]
    nodes = checks.chosen(record) or nodes
    # As the ranks are laid out: block by block over the nodes in their order.
    hosts = list(NodeSet(nodes, resolver=RESOLVER_NOGROUP))
    host = hosts[min(rank.number // rank.per_node, len(hosts) - 1)]
    argv = [
        "srun",
        f"--jobid={job}",
        "--overlap",
        "--nodes=1",
        "--ntasks=1",
        f"--nodelist={host}",
        "--cpu-bind=none",
        "--mpi=none",
        "--export=ALL",
        "--propagate=NONE",
        *(["--pty"] if terminal else []),
        *("/bin/bash", "-p", "-c", text, "hpclaunch-inside", str(rank.number), str(rank.total)),
        *(f"={word}" for word in words),
    ]
    kept = {name: os.environ[name] for name in ("TERM",) if name in os.environ}
    return argv, closed(os.environ, kept, conf)
