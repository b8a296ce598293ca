"""Intel MPI's mpirun in a job of Slurm: by default it places ranks as Slurm tells it, whatever -ppn says
("Intel MPI Library Developer Reference", "Hydra Environment Variables", I_MPI_JOB_RESPECT_PROCESS_PLACEMENT).
"""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import mpi_library, mpi_variables
from hpclaunch.convert.mapping.slurm.batch.asked import number
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known

_VARIABLE = "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"
_OFF = frozenset(("0", "off", "no", "disable"))


def say(reading: ShellReading, command: Command, by: Layer, found: Allocation, draft: Draft) -> None:
    """That sbatch was asked for another number of ranks on a node than mpirun: which of them counted is not
    told by the lines. Not where the two are alike, or the script turns that off."""
    layer = mpi_variables.with_variables(by, command)
    option, library = layer.option("npernode"), mpi_library.of(reading, command, by)
    if option is None or library is None or library.name != mpi_library.INTEL_MPI:
        return
    given = {**dict(command.environment), **dict(command.prefix)}
    if (known(given.get(_VARIABLE, ())) or "").lower() in _OFF:
        return
    asked, own = found.numbers.get("SLURM_NTASKS"), number(option.value, reading, found.numbers)
    if not asked or not found.nodes or not own or own * found.nodes == asked:
        return
    why = (
        f"sbatch was asked for {asked} tasks on {found.nodes} nodes, and Intel MPI's mpirun places ranks by "
    )
    why += f"that and not by {option.written}, unless {_VARIABLE} is off"
    todo = "where it did so write nodes and ranks_per_node as they were"
    places = (command.place, *found.places.get("per_node", ()), *found.places.get("tasks", ()))
    draft.say("question", tuple(dict.fromkeys(places)), option.written, why=why, todo=todo)
