"""What variables of Open MPI tell its mpirun, where no option does."""

from collections.abc import Mapping

from hpclaunch.convert.mapping.ranks.mpi import MAPPINGS, mapped_by_parameter
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.convert.programs.mpirun import ENV_LIST, listed
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Value, join, known, shown


def with_variables(layer: Layer, command: Command) -> Layer:
    """The layer with what the variables of the command give."""
    return with_given(layer, {**dict(command.environment), **dict(command.prefix)})


def with_given(layer: Layer, given: Mapping[str, Value]) -> Layer:
    """The layer with what variables give where no option does: the variables that are listed for its ranks,
    and the mapping, which of Open MPI 4 is OMPI_MCA_rmaps_base_mapping_policy, of PRRTE
    PRTE_MCA_rmaps_default_mapping_policy (mpirun(1) of Open MPI 5, "Deprecated MCA parameters")."""
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
