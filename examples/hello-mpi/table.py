"""The rank table of a hello-mpi job: what each rank got beside what `hpclaunch explain` planned.

    table.py PLAN.json [--sandbox FOLDER --job ID] < LOG

In a sandbox the nodes are fake, so the kernel there cannot bind to their cores; the masks and memory nodes
are then those that Slurm itself computed and asked for. Elsewhere they are what the kernel says of each rank.
Exit status: 0 where all ranks are as planned, 1 where one is not.
"""

import argparse
import json
import sys
from pathlib import Path

from hpclaunch.report.table import aligned
from hpclaunch.values.cpulist import format_list

HEADER = ("rank", "node", "local", "cores", "memory", "GPU", "HCA", "visible GPUs", "")
Rank = dict  # one line of hello.py, or one rank of `explain --json`
ANY = "any"


def main() -> int:
    """Reads the plan, the log and the sandbox's records, and prints the table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("plan", type=Path)
    options.add_argument("--sandbox", type=Path)
    options.add_argument("--job", type=int)
    arguments = options.parse_args()
    if (arguments.sandbox is None) != (arguments.job is None):
        options.error("--sandbox and --job go together")
    planned = {rank["rank"]: rank for rank in json.loads(arguments.plan.read_text())["ranks"]}
    said = {line["rank"]: line for line in map(json.loads, filter(is_hello, sys.stdin))}
    if arguments.sandbox is not None:
        use_records(said, arguments.sandbox, arguments.job)

    rows, different = [], 0
    for number in sorted(planned.keys() | said.keys()):
        plan = plan_row(planned[number]) if number in planned else None
        seen = seen_row(said[number], planned.get(number)) if number in said else None
        if seen is not None and seen == plan:
            rows.append((str(number), node_of(said[number]), *seen, visible(said[number]), "ok"))
            continue
        different += 1
        line = (node_of(said[number]), *seen, visible(said[number])) if seen else ("-",) * 7
        rows.append((str(number), *line, "DIFFERENT"))
        rows.append(("", "", *(plan or ("-",) * 5), "", "<- the plan"))
    print(aligned(HEADER, rows))
    faults = together(planned, said)
    for fault in faults:
        print(f"DIFFERENT: {fault}")
    print("\n".join(sorted({line["mpi"] for line in said.values()})))
    if different or faults:
        print(f"DIFFERENT: {different} of {len(planned)} ranks")
        return 1
    nodes = len({node_of(line) for line in said.values()})
    print(f"ok: {len(said)} ranks on {nodes} node{'s' if nodes > 1 else ''}, as planned")
    return 0


def is_hello(line: str) -> bool:
    """Is this a line of hello.py, and not something else in the job's log?"""
    return line.startswith('{"hello": ')


def use_records(said: dict[int, Rank], folder: Path, job: int) -> None:
    """Puts what Slurm asked the kernel for in place of what the kernel of this machine could do."""
    from hpclaunch.sandbox.recorded import affinity

    steps = {(task.node, task.rank): got for task, got in affinity(folder, job).items() if task.step == "0"}
    for rank, line in said.items():
        got = steps.get((line["node"], rank))
        line["cpus_allowed"] = ANY if got is None or got.cpus is None else format_list(got.cpus)
        line["memory_policy"] = f"bind:{format_list(got.mems)}" if got is not None and got.mems else ANY


def plan_row(rank: Rank) -> tuple[str, ...]:
    """Local rank, cores, memory, GPU and HCA, as planned."""
    return (
        str(rank["local_rank"]),
        rank["cpus"] or ANY,
        rank["mems"] or ANY,
        ",".join(map(str, rank["gpus"])) or "-",
        ",".join(rank["hcas"]) or "-",
    )


def seen_row(line: Rank, plan: Rank | None) -> tuple[str, ...]:
    """The same of a rank that ran. Where the plan leaves cores or memory open, any are as planned."""
    policy, _, nodes = line["memory_policy"].partition(":")
    memory = nodes if policy.startswith(("bind", "prefer")) else line["mems_allowed"]
    hcas = [name.partition(":")[0] for name in (line["UCX_NET_DEVICES"] or "").split(",") if name]
    return (
        str(line["local_rank"]),
        ANY if plan and not plan["cpus"] else line["cpus_allowed"],
        ANY if plan and not plan["mems"] else ANY if policy == ANY else memory,
        own_gpus(line, plan),
        ",".join(hcas) or "-",
    )


def own_gpus(line: Rank, plan: Rank | None) -> str:
    """A rank sees all GPUs of its job, and takes those that the plan gives to its local rank."""
    listed = line["CUDA_VISIBLE_DEVICES"]
    own = [str(gpu) for gpu in plan["gpus"]] if plan else []
    # CUDA shows every GPU where the variable is not set.
    return ",".join(gpu for gpu in own if listed is None or gpu in listed.split(",")) or "-"


def visible(line: Rank) -> str:
    """CUDA_VISIBLE_DEVICES as it was."""
    listed = line["CUDA_VISIBLE_DEVICES"]
    return "all" if listed is None else listed or "none"


def node_of(line: Rank) -> str:
    """The node's name."""
    return str(line["node"])


def together(planned: dict[int, Rank], said: dict[int, Rank]) -> list[str]:
    """What must hold among the ranks: who shares a node, one rendezvous, MPI where it was started."""
    faults = []
    names: dict[int, set[str]] = {}
    for number in planned.keys() & said.keys():
        names.setdefault(planned[number]["node"], set()).add(node_of(said[number]))
    if any(len(hosts) != 1 for hosts in names.values()) or len(set().union(*names.values())) != len(names):
        faults.append(f"the nodes: {names}")
    for name in ("MASTER_ADDR", "MASTER_PORT", "NCCL_IB_HCA"):
        values = {line[name] for line in said.values()}
        if len(values) > 1:
            faults.append(f"{name} is not the same for all ranks: {values}")
    faults += sorted({line["mpi"] for line in said.values() if line["mpi"].startswith("WRONG")})
    return faults


if __name__ == "__main__":
    sys.exit(main())
