"""Variables of libraries that a script sets and exports to nobody: no program sees them."""

import re
from collections.abc import Iterator

from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.shell.names import used as used_in
from hpclaunch.readback.shell.values import shown
from hpclaunch.values.conversion import Finding

# Read by OpenMP, MKL, NCCL, UCX, libfabric, Open MPI, Intel MPI, MPICH, CUDA and PyTorch of the environment.
# NCCL_TEST is a switch of MLPerf's launchers, and no library's.
_OF_LIBRARIES = re.compile(
    r"(?!NCCL_TEST$)(?:OMP|MKL|KMP|OPENBLAS|NCCL|UCX|FI|OMPI_MCA|I_MPI|MPICH|CUDA|PYTORCH|TORCH)_[A-Z]\w*"
)
_OF_SLURM = "CUDA_VISIBLE_DEVICES"
_WHY_OF_SLURM = (
    "where Slurm gave the job GPUs it had exported it, and what the script started without srun saw these; "
    "srun gives each rank its own"
)
_TODO_OF_SLURM = f"where the ranks are to see these alone write env.{_OF_SLURM}, or fewer GPUs"
_WHY = "it is not exported: no program that the script starts sees it"


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """Each of them once, where it gets its last value."""
    used = {name for each in reading.commands for name in each.uses}
    used |= {name for each in reading.assigned for name in each.uses}
    used |= _used_elsewhere(reading)
    for name in dict.fromkeys(each.name for each in reading.assigned):
        last = reading.last(name)
        if last is None or last.exported or name in used:
            continue
        if last.place.file == reading.script and name == _OF_SLURM:
            text = f"{name}={shown(last.value)}"
            yield Finding("left", (last.place,), text, why=_WHY_OF_SLURM, todo=_TODO_OF_SLURM)
        elif last.place.file == reading.script and _OF_LIBRARIES.fullmatch(name):
            yield Finding("defect", (last.place,), f"{name} is set", why=_WHY, todo=f"export {name}")


def _used_elsewhere(reading: ShellReading) -> set[str]:
    """Those that a statement names to which the script does not come, but for one that only gives them their
    default (: "${NAME:=1}")."""
    return {
        name
        for each in reading.statements
        if each.written.partition(" ")[0] != ":"
        for name in used_in(each.written)
    }
