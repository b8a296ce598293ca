"""Options that srun takes of the environment where its command line does not say them (srun(1), "INPUT
ENVIRONMENT VARIABLES"), which the script sets itself."""

from collections.abc import Iterator, Sequence

from hpclaunch.convert.mapping.slurm.asked import Asked, origin_of
from hpclaunch.convert.reading import Command, ShellReading

# Those that are read nowhere else; SLURM_NTASKS and the like are sizes.
_OPTIONS = {
    "SLURM_CPUS_PER_GPU": "cpus-per-gpu",
    "SLURM_CPUS_PER_TASK": "cpus-per-task",
    "SLURM_DISTRIBUTION": "distribution",
    "SLURM_EXCLUSIVE": "exclusive",
    "SLURM_GPU_BIND": "gpu-bind",
    "SLURM_HINT": "hint",
    "SLURM_KILL_BAD_EXIT": "kill-on-bad-exit",
    "SLURM_LABELIO": "label",
    "SLURM_OVERCOMMIT": "overcommit",
    "SLURM_OVERLAP": "overlap",
    "SLURM_THREADS": "threads-per-core",
    "SLURM_TRES_BIND": "tres-bind",
    "SLURM_UNBUFFEREDIO": "unbuffered",
    "SLURM_WAIT": "wait",
}


def asked(reading: ShellReading, command: Command, given: Sequence[Asked]) -> Iterator[Asked]:
    """Those that the script exports to the srun, but for what its own options say."""
    names = {each.name for each in given}
    told_elsewhere = {each.place for each in reading.directives}  # which sbatch sets itself
    prefix = dict(command.prefix)
    for variable, value in {**dict(command.environment), **prefix}.items():
        name = _OPTIONS.get(variable)
        in_front = variable in prefix
        each = reading.last(variable)
        if name is None or name in names:
            continue
        if not in_front and (each is None or each.place in told_elsewhere):
            continue
        if each is not None and each.place.file.startswith("--env "):
            continue
        lines = (command.place,) if in_front else origin_of(reading, variable, command.place)
        yield Asked(name, value, variable, lines or (command.place,), "variable")
