"""What a text says of GPUs and of MPI where no option tells them: a question has it beside it."""

import re
from collections.abc import Iterator

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks.mpi_library import (
    CRAY,
    INTEL_MPI,
    MPICH,
    MVAPICH2,
    OPEN_MPI,
    is_before_pmix,
    modules,
    named,
)
from hpclaunch.convert.mapping.slurm.batch.of_slurm import is_of_slurm
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import known

_DEVICES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_LIST = re.compile(r"\d+(?:,\d+)*")
_MAP = re.compile(r"(?:v|verbose)?,?map_gpu:(\d+(?:,\d+)*)")
# Slurm's "MPI Users Guide" (mpi_guide.html); Open MPI 5 has PMIx alone (its documentation, "Launching with
# Slurm"), an older one what it was built with. Intel MPI loads the library that I_MPI_PMI_LIBRARY names.
_FITS = {
    OPEN_MPI: "pmix, or pmi2 where it was built with that alone",
    MVAPICH2: "pmi2, with which it is built for srun",
    INTEL_MPI: "pmi2 with its libpmi2 in I_MPI_PMI_LIBRARY",
    CRAY: "pmi2, where the site's Slurm has not Cray's own (cray_shasta)",
    MPICH: "pmi2 or pmix, as it was built",
}
_FIT_OLD = "pmi2, where it was built with it: Open MPI 1 knows no PMIx"
_MOST = 3
NO_GPUS = "no line asks Slurm for any (0 where the job uses none), and sbatch may have been given --gres"
_NO_GPUS_TOLD = "no line tells it (0 where the job uses none)"
_GPUS = re.compile(r"--(?:gres|gpus)\b|-G\b")


def no_gpus(reading: ShellReading) -> str:
    """That no line asks for GPUs, as a question has it; one that a script puts together may."""
    for each in reading.directives:
        may = each.system == "SBATCH" and len(each.words) == 1 and each.words[0].startswith("$")
        if may and _GPUS.search(each.words[0]):
            return f"{each.place} may ask Slurm for some, and what it stands for is not told"
    return NO_GPUS if is_of_slurm(reading) else _NO_GPUS_TOLD


def of_gpus(run: Step, draft: Draft) -> str:
    """What fits for GPUs on each node, as it stands behind the question."""
    return "".join(f"; {each}" for each in _of_gpus(run, draft))


def _of_gpus(run: Step, draft: Draft) -> Iterator[str]:
    given = {**dict(run.command.environment), **dict(run.command.prefix)}
    for name in _DEVICES:
        text = known(given.get(name, ())) or ""
        if _LIST.fullmatch(text):
            yield f"{name}={text} is of {_several(text)} on each node, at the least"
    bind = run.option("gpu-bind")
    listed = _MAP.fullmatch(bind.text or "") if bind is not None else None
    if bind is not None and listed:
        yield f"{bind.written} is of {_several(listed[1])} on each node, at the least"
    ranks = draft.number("ranks_per_node")
    if ranks is not None and ranks > 1:
        yield f"{ranks} where each rank has one of its own"


def _several(text: str) -> int:
    return max(map(int, text.split(","))) + 1


def of_mpi(reading: ShellReading) -> str:
    """What fits for `mpi`, as it stands behind the question."""
    found = []
    for text in modules(reading):
        library = named(text)
        if library:
            fits = _FIT_OLD if is_before_pmix(text) else _FITS[library]
            found.append(f"; {text} is loaded: {fits}")
    return "".join(dict.fromkeys(found[:_MOST]))


def library(run: Step) -> str:
    """The libpmi2 that the ranks' Intel MPI is told to load, "" for none. PMIx has one too, for its own."""
    given = {**dict(run.command.environment), **dict(run.command.prefix)}
    text = known(given.get("I_MPI_PMI_LIBRARY", ())) or ""
    return text if re.search(r"(?:^|/)libpmi2\.so[.\d]*$", text) and "pmix" not in text else ""
