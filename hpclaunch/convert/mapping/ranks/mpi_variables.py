"""What variables of Open MPI and Intel MPI tell their mpirun, where no option does."""

from collections.abc import Mapping

from hpclaunch.convert.mapping.ranks.mpi import MAPPINGS, mapped_by_parameter
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.programs.mpirun import ENV_LIST, listed
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Value, join, known, shown

# Ranks on a node: of Open MPI 1.8 to 4.1 (ompi_info --param rmaps all), and of Intel MPI ("Hydra Environment
# Variables").
_OF_OPEN_MPI = ("OMPI_MCA_rmaps_ppr_n_pernode", "OMPI_MCA_rmaps_base_n_pernode")
_PER_NODE = {"mpirun": (*_OF_OPEN_MPI, "I_MPI_PERHOST"), "mpiexec.hydra": ("I_MPI_PERHOST",)}


def with_variables(layer: Layer, command: Command) -> Layer:
    """The layer with what the variables of the command give."""
    return with_given(layer, {**dict(command.environment), **dict(command.prefix)})


def with_given(layer: Layer, given: Mapping[str, Value]) -> Layer:
    """The layer with what variables give where no option does: the variables that are listed for its ranks,
    how many ranks a node has, and the mapping, which of Open MPI 4 is OMPI_MCA_rmaps_base_mapping_policy, of
    PRRTE PRTE_MCA_rmaps_default_mapping_policy (mpirun(1) of Open MPI 5, "Deprecated MCA parameters")."""
    layer = _with_ranks(layer, given)
    if layer.program != "mpirun":
        return layer
    variables = known(given.get(f"OMPI_MCA_{ENV_LIST}", ()))
    if variables and not any(ENV_LIST in each.written for each in layer.options):
        its = listed(variables, f"OMPI_MCA_{ENV_LIST}")
        layer = Layer(layer.program, (*layer.options, *its), layer.words)
    if layer.option("map-by") or mapped_by_parameter(layer):
        return layer
    for prefix in ("OMPI_MCA_", "PRTE_MCA_"):
        for name in MAPPINGS:
            value = given.get(f"{prefix}{name}")
            if value is not None:
                option = Option("mca", join([f"{name}=", *value]), f"{prefix}{name}={shown(value)}")
                return Layer(layer.program, (*layer.options, option), layer.words)
    return layer


def _with_ranks(layer: Layer, given: Mapping[str, Value]) -> Layer:
    if any(map(layer.option, ("npernode", "pernode", "npersocket", "map-by"))):
        return layer
    name = next((each for each in _PER_NODE.get(layer.program, ()) if each in given), None)
    if name is None:
        return layer
    option = Option("npernode", given[name], f"{name}={shown(given[name])}")
    return Layer(layer.program, (*layer.options, option), layer.words)
