"""Which of the exported variables mpirun hands on to ranks on other hosts, where it does not hand on all."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks.mpi_library import OPEN_MPI, Library
from hpclaunch.convert.mapping.slurm.starts import chosen_hosts
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.programs.mpirun import is_list
from hpclaunch.readback.shell.values import shown
from hpclaunch.values.conversion import Place

_MOST_NAMED = 5
BY_NAME = "mpirun hands on to other hosts what -x names alone: ranks there did not have the rest"
_BY_LIST = "it hands on what its options name alone: ranks did not have the rest"


def is_by_name(library: Library | None) -> bool:
    """Whether the library's mpirun hands on what is named alone. That of Intel MPI, MPICH or MVAPICH2 is
    Hydra, which hands on all (-genvall, its default)."""
    return library is None or library.name == OPEN_MPI


def say(
    by: Layer, lines: Sequence[Place], library: Library | None, draft: Draft, *, under_slurm: bool
) -> None:
    """Of what is exported Open MPI hands on what -x names alone, where no Slurm starts its daemons there
    (mpirun(1), "Exported environment variables"). Its own parameters (-mca) all processes have (mpirun(1),
    "MCA"). Hydra hands on all of it, unless -genvnone or a list says which (mpiexec -help)."""
    exported = [str(key[1]) for key in draft.facts if key[0] == "env" and len(key) == 2]
    if by.program == "mpiexec.hydra":
        limits = [each.written for each in by.options if each.name == "genvnone" or is_list(each)]
        named = {shown(each.value or ()).partition("=")[0] for each in by.all("x")}
        what, why = (limits or [""])[0], _BY_LIST
    else:
        hosts = next((each for each in by.options if each.name in ("host", "hostfile")), None)
        here = hosts is not None and hosts.name == "host" and chosen_hosts.are_this_one(hosts.value or ())
        applies = by.program == "mpirun" and hosts is not None and not under_slurm and not here
        applies = applies and is_by_name(library)
        named = {f"OMPI_MCA_{shown(each.value or ()).partition('=')[0]}" for each in by.all("mca")}
        what, why = hosts.written if hosts is not None and applies else "", BY_NAME
    others = [name for name in exported if name not in named]
    if what and others:
        todo = "take out of env what they are not to have"
        what = f"{what}: {', '.join(others[:_MOST_NAMED])}"
        draft.say("assumed", lines, what, became="env of all ranks", why=why, todo=todo)
