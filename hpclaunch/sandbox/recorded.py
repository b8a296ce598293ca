"""What the sandbox's Slurm decided and was given, read from the records that the daemons wrote."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from hpclaunch.sandbox.layout import at
from hpclaunch.values import cpulist


class Task(Struct, frozen=True):
    """Which task: the step ("0", "1", "batch"), the node's name, and the rank in the step."""

    step: str
    node: str
    rank: int


class Affinity(Struct, frozen=True):
    """What Slurm asked the kernel for on behalf of a task, just before it began, or the task itself.

    `cpus` are OS CPU numbers, None where nobody bound them; `mems` the NUMA nodes of a memory policy and
    `policy` its kind ("bind", "preferred"), () and "" where none was asked for. `restart` counts requeues.
    """

    local_rank: int
    cpus: tuple[int, ...] | None
    mems: tuple[int, ...]
    policy: str
    restart: int


class Given(Struct, frozen=True):
    """One option of Pyxis: its value (None: it takes none), and whether it came from PYXIS_CONTAINER_*."""

    name: str
    value: str | None
    from_environment: bool


def affinity(folder: Path, job_id: int) -> dict[Task, Affinity]:
    """Every task of this job as Slurm bound it, of its last run where it was requeued; empty while none has
    begun."""
    return _last_run(
        {_task(line): _by_slurm(line) for line in _lines(at(folder).affinity, job_id) if "by" not in line}
    )


def bound(folder: Path, job_id: int) -> dict[Task, Affinity]:
    """Every task of this job as it is bound in the end: as Slurm did it, or the rank itself where it called
    taskset or numactl."""
    found: dict[Task, Affinity] = {}
    for line in _lines(at(folder).affinity, job_id):
        task = _task(line)
        # The stand-ins run before the rank's command, and after Slurm's own line.
        if line.get("by") != "rank":
            found[task] = _by_slurm(line)
        elif "cpu_list" in line:
            found[task] = structs.replace(found[task], cpus=cpulist.parse(line["cpu_list"]))
        else:
            mems = cpulist.parse(line["mem_list"])
            found[task] = structs.replace(found[task], mems=mems, policy=line["mem_policy"])
    return _last_run(found)


def _task(line: dict[str, Any]) -> Task:
    return Task(line["step"], line["node"], line["rank"])


def _by_slurm(line: dict[str, Any]) -> Affinity:
    mask, policy = line["cpu_mask"], line.get("mem_policy", "default")
    asked = policy != "default"
    return Affinity(
        local_rank=line["local_rank"],
        cpus=None if mask is None else _bits(mask),
        mems=_bits(line["mem_mask"]) if asked else (),
        policy=policy if asked else "",
        restart=line["restart"],
    )


def _last_run(found: dict[Task, Affinity]) -> dict[Task, Affinity]:
    last = max((task.restart for task in found.values()), default=0)
    return {task: got for task, got in found.items() if got.restart == last}


def pyxis(folder: Path, job_id: int) -> dict[tuple[str, int], tuple[Given, ...]]:
    """(step, node's number in the step) -> the options of Pyxis there. Steps without any are absent."""
    return {
        (line["step"], line["node_id"]): tuple(
            Given(option["name"], option["value"], option["from_environment"]) for option in line["options"]
        )
        for line in _lines(at(folder).pyxis, job_id)
    }


def _lines(path: Path, job_id: int) -> Iterator[dict[str, Any]]:
    # A value may hold any bytes: what is not UTF-8 comes back as the surrogates that os.fsencode undoes.
    with path.open(encoding="utf-8", errors="surrogateescape") as lines:
        for text in lines:
            line = json.loads(text)
            if line["job"] == job_id:
                yield line


def _bits(mask: str) -> tuple[int, ...]:
    value = int(mask, 16)
    return tuple(bit for bit in range(value.bit_length()) if value >> bit & 1)
