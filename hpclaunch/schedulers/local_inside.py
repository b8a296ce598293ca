"""A command beside a rank of a job of this machine: with the rank's environment and in its folder."""

import contextlib
import os
from collections.abc import Sequence
from typing import NoReturn

from hpclaunch.records.record import Record
from hpclaunch.schedulers import becoming, processes
from hpclaunch.schedulers.processes import PROC
from hpclaunch.schedulers.supervisor import read_running
from hpclaunch.values.errors import HpclaunchError, InputError

_NUMBER, _RANKS = b"OMPI_COMM_WORLD_RANK", b"OMPI_COMM_WORLD_SIZE"


def become(record: Record, number: int, ranks: int, by_mpirun: bool, words: Sequence[str]) -> NoReturn:
    """This process becomes the command. Raises InputError where the rank does not run here, and
    HpclaunchError where the command cannot be started."""
    process = _find(record, number, ranks, by_mpirun)
    try:
        os.chdir(PROC / str(process) / "cwd")
        environment = _variables(process)
    except OSError as error:
        raise HpclaunchError(f"rank {number} cannot be entered: {error.strerror}") from None
    for name in [each for each in environment if each.startswith((b"PMIX_", b"PMI_"))]:
        del environment[name]  # what starts processes of MPI is the rank's alone
    try:
        becoming.become(words, environment)
    except OSError as error:
        raise HpclaunchError(f"{words[0]} cannot be started: {error.strerror}") from None


def _find(record: Record, number: int, ranks: int, by_mpirun: bool) -> int:
    job = record.state().job_id
    running = read_running(record.folder)
    if running and not processes.is_here(running.supervisor):
        raise InputError(f"job {job} is on {running.supervisor.host}: run the command there")
    if running is None or not processes.is_running(running.supervisor):
        raise InputError(f"job {job} does not run, so there is nothing to run a command in")
    below = [
        stat for pid in processes.descendants(running.supervisor.pid) if (stat := processes.read_stat(pid))
    ]
    if by_mpirun:
        mark = {_NUMBER: b"%d" % number, _RANKS: b"%d" % ranks}
        found = {stat.pid: stat.parent for stat in below if mark.items() <= _seen(stat.pid).items()}
        begun = [pid for pid, parent in found.items() if parent not in found and not _is_wrapper(pid)]
    else:
        begun = _started_by_script(below, running.supervisor.pid)
        # They have no mark, but their order.
        if len(begun) != ranks:
            raise InputError(
                f"{len(begun)} of the {ranks} ranks of job {job} run now, which are not told apart"
            )
        begun = [pid for pid in begun[number : number + 1] if not _is_wrapper(pid)]
    if not begun:
        raise InputError(f"rank {number} of job {job} does not run: perhaps it has not begun, or has ended")
    return begun[0]


def _started_by_script(below: Sequence[processes.Stat], supervisor: int) -> list[int]:
    """The script starts its ranks one after the other, each in a process group of its own."""
    scripts = {stat.pid for stat in below if stat.parent == supervisor}
    groups = {}
    for stat in below:
        with contextlib.suppress(ProcessLookupError):
            groups[stat.pid] = os.getpgid(stat.pid)
    ranks = [
        stat
        for stat in below
        if groups.get(stat.pid) == stat.pid and stat.pid not in scripts and groups.get(stat.parent) in scripts
    ]
    return [stat.pid for stat in sorted(ranks, key=lambda stat: (stat.started, stat.pid))]


def _is_wrapper(pid: int) -> bool:
    """Whether it has not become its command yet, and so has not all of its environment."""
    return _read(pid, "cmdline").split(b"\0")[3:4] == [b"hpclaunch-rank"]


def _seen(pid: int) -> dict[bytes, bytes]:
    try:
        return _variables(pid)
    except OSError:
        return {}


def _variables(pid: int) -> dict[bytes, bytes]:
    lines = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return {
        name: value for name, is_one, value in (line.partition(b"=") for line in lines) if name and is_one
    }


def _read(pid: int, name: str) -> bytes:
    try:
        return (PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
