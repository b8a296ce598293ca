"""How many ranks mpirun starts where no option counts them: one in each slot, or in several of them."""

import re
from collections.abc import Iterable

from hpclaunch.convert.mapping.ranks.mpi import mapped_by_parameter
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.shell.values import shown

_CPUS_OF_RANK = re.compile(r":pe=([^:,]+)", re.IGNORECASE)
# A module or a folder of an Open MPI before 5.
_BEFORE_5 = re.compile(r"(?:open[-_]?mpi|(?<![a-z])ompi)(?:/(?:gcc|intel|pgi|64))*[-_/@]?v?[1-4]\.\d")


def divided(layer: Layer, names: Iterable[str]) -> tuple[Option, str] | None:
    """The mapping by which a rank may take several slots (--map-by socket:PE=8), and what is not told of it:
    Open MPI 4 starts one in each slot all the same (orte/mca/rmaps/base/rmaps_base_map_job.c), Open MPI 5
    divides the slots by these CPUs (`slots / options.cpus_per_rank` there, of PRRTE 3.0.1 to 3.0.12). `names`
    are those of modules and folders, which may tell the release."""
    mapped = layer.option("map-by") or mapped_by_parameter(layer)
    text = shown(mapped.value or ()) if mapped is not None else ""
    cpus = _CPUS_OF_RANK.search(text)
    if mapped is None or cpus is None or cpus[1] in ("0", "1") or layer.program != "mpirun":
        return None
    if text.lower().startswith("ppr:") or any(_BEFORE_5.search(name.lower()) for name in names):
        return None
    doubt = f"without -np Open MPI 4 starts one in each slot, and Open MPI 5 one in {cpus[1]} slots, "
    return mapped, f"{doubt}by {mapped.written}"
