"""Whether a script is for Slurm: where it is not, nothing is said of what the operator gave sbatch."""

from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.reading import ShellReading, once


@once
def is_of_slurm(reading: ShellReading) -> bool:
    """Whether the script is for Slurm."""
    return (
        any(each.system == "SBATCH" for each in reading.directives)
        or bool(reading.of("scontrol", "sbatch", "squeue"))
        or any(layer.program == "srun" for each in reading.starting for layer in layers(each.words))
    )
