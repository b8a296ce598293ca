"""Options that srun takes of the environment where its command line does not say them (srun(1), "INPUT
ENVIRONMENT VARIABLES"), which the script sets itself."""

from collections.abc import Iterator, Sequence

from hpclaunch.convert import shared_exports
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, origin_of
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known

# Those that are read nowhere else; SLURM_NTASKS and the like are sizes.
_OPTIONS = {
    "SLURM_CPUS_PER_GPU": "cpus-per-gpu",
    "SLURM_CPUS_PER_TASK": "cpus-per-task",
    "SLURM_DISTRIBUTION": "distribution",
    "SLURM_EXCLUSIVE": "exclusive",
    "SLURM_GPU_BIND": "gpu-bind",
    "SLURM_GPUS": "gpus",
    "SLURM_GPUS_PER_NODE": "gpus-per-node",
    "SLURM_GPUS_PER_SOCKET": "gpus-per-socket",
    "SLURM_GPUS_PER_TASK": "gpus-per-task",
    "SLURM_GRES": "gres",
    "SLURM_HINT": "hint",
    "SLURM_KILL_BAD_EXIT": "kill-on-bad-exit",
    "SLURM_LABELIO": "label",
    "SLURM_OVERCOMMIT": "overcommit",
    "SLURM_OVERLAP": "overlap",
    "SLURM_REMOTE_CWD": "chdir",
    "SLURM_STEP_GRES": "gres",
    "SLURM_THREADS": "threads-per-core",
    "SLURM_TIMELIMIT": "time",
    "SLURM_TRES_BIND": "tres-bind",
    "SLURM_UNBUFFEREDIO": "unbuffered",
    "SLURM_WAIT": "wait",
    "SRUN_CPUS_PER_TASK": "cpus-per-task",  # from Slurm 22.05 on
}
# Those that the readers of MPI and of binding look up themselves where the script exports them.
_OF_ONE_COMMAND = {"SLURM_CPU_BIND": "cpu-bind", "SLURM_MEM_BIND": "mem-bind", "SLURM_MPI_TYPE": "mpi"}
# Options without a value: what the variable says turns them on or off (slurm_process_option of Slurm's
# src/common/slurm_opt.c).
_FLAGS = frozenset(("label", "overcommit", "overlap", "unbuffered"))
_OFF = frozenset(("0", "no"))


def asked(reading: ShellReading, command: Command, given: Sequence[Asked]) -> Iterator[Asked]:
    """Those that the script exports to the srun, but for what its own options say."""
    names = {each.name for each in given}
    told_elsewhere = {each.place for each in reading.directives}  # which sbatch sets itself
    prefix = dict(command.prefix)
    its = {name: value for name, value in prefix.items() if _is_one(name) or name in _OF_ONE_COMMAND}
    for variable, value in {**shared_exports.picked(command, _is_one), **its}.items():
        name = _OPTIONS.get(variable) or _OF_ONE_COMMAND[variable]
        in_front = variable in prefix
        each = reading.last(variable)
        if name in names:
            continue
        if not in_front and (each is None or each.place in told_elsewhere):
            continue
        if each is not None and each.place.file.startswith("--env "):
            continue
        if name in _FLAGS and (known(value) or "").lower() in _OFF:
            continue
        lines = (command.place,) if in_front else origin_of(reading, variable, command.place)
        told = None if name in _FLAGS and known(value) is not None else value
        yield Asked(name, told, variable, lines or (command.place,), "variable")


def _is_one(variable: str) -> bool:
    return variable in _OPTIONS
