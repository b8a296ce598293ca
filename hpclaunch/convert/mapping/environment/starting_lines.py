"""Variables that hold a line which starts ranks, for a program that runs it: VASP_COMMAND="mpirun -np 8 vasp"
of ASE (`ase.calculators.vasp`). No key of the job says anything about the ranks of such a line."""

from collections.abc import Collection, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.draft import shown as in_one_line
from hpclaunch.convert.mapping.environment.reached import Handed
from hpclaunch.convert.programs.names import BY_JSRUN, BY_MPI, GPU_LAUNCHERS, STEPS
from hpclaunch.readback.shell.values import program_of, shown

_STARTERS = frozenset((*STEPS, *BY_MPI, *BY_JSRUN, *GPU_LAUNCHERS))
_LONGEST = 60  # characters of a value that are shown
_TODO = (
    "where ranks start by it see that the job has the cores and GPUs for them; on more than one node "
    "write the program as `command`, with ranks_per_node and mpi"
)


def say(handed: Sequence[Handed], used: Collection[str], draft: Draft) -> None:
    """Say those of what reaches the ranks. `used` are the variables of which the line of the run is made."""
    for each in handed:
        text = shown(each.value)
        words = text.split()
        starter = program_of([(words[0],)]) if len(words) > 1 else ""
        if each.name in used or starter not in _STARTERS:
            continue
        why = f"a program that reads it starts the ranks of that {starter} beside those of the job, and no"
        why += " key of the job counts them"
        what = f"{each.name}={in_one_line(text, _LONGEST)}"
        draft.say("question", each.places, what, why=why, todo=_TODO)
