"""A command within a job that runs: where one of its ranks is, through a step of Slurm's beside its own."""

import os
from collections.abc import Sequence

from hpclaunch.records import checks
from hpclaunch.records.record import Record
from hpclaunch.schedulers.environment import closed
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.values.errors import InputError
from hpclaunch.values.rankplaces import RankPlace


def command(
    record: Record,
    task: int | None,
    rank: RankPlace,
    text: str,
    words: Sequence[str],
    terminal: bool,
    commands: Commands,
) -> tuple[list[str], dict[str, str]]:
    """The srun that runs `words` beside a rank, and its environment. `text` is what finds the rank on its
    node, and `terminal` gives the command one; `commands` are those of the cluster. Raises SchedulerError,
    and InputError for a job that does not run."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # jobs elsewhere do not pay for it

    conf = record.intent.slurm_conf
    number = str(record.state().job_id) + (f"_{task}" if task is not None else "")
    asked = ["squeue", "--noheader", "--states=RUNNING", f"--jobs={number}", "--format=%A|%i|%N"]
    rows = [row.split("|") for row in commands.query(asked).splitlines()]
    component = []
    if rank.allocation is not None:
        rows = [[number, each, nodes] for _, each, nodes in rows if each == f"{number}+{rank.allocation}"]
        component = [f"--het-group={rank.allocation}"]
    if not rows:
        raise InputError(f"job {number} does not run, so there is nothing to run a command in")
    if len(rows) > 1:
        raise InputError(f"several tasks of job {number} run: say which, as in {number}_0")
    job, _, nodes = rows[0]
    nodes = checks.chosen(record.folder, rank.allocation) or nodes
    # As the ranks are laid out: block by block over the nodes in their order.
    hosts = list(NodeSet(nodes, resolver=RESOLVER_NOGROUP))
    host = hosts[min(rank.node, len(hosts) - 1)]
    argv = [
        "srun",
        f"--jobid={job}",
        *component,
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
