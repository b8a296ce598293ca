"""The wrapper that runs beside every rank: one POSIX sh text with a small protocol.

Its arguments are SETTING=value... -- NAME=value... -- =word...: the settings below, the rank's environment,
and its command, each word with `=` before it.

    from=slurm|openmpi|hydra   where the rank's number comes from: srun, mpirun (4 and 5), or mpiexec of MPICH
                               and Intel MPI (Hydra, under which the wrapper stays, to end the job if the
                               command fails)
    from=local                 rank= and ranks= are the number
    rendezvous=torch           MASTER_ADDR and the rest; port= where no Slurm job id gives one. With several
                               pods HPCLAUNCH_MASTER is the first one (pod/)
    cwd=, memlock=KIB          working folder, and what InfiniBand must be able to pin
    strict=1, openib=1         an HCA that cannot be used ends the job; Open MPI 4 and older are told too
    besteffort=1               what a pod may not bind stays unbound, with one warning
    verify=1                   one line on standard error: what the rank has
    groups=NAME:RANKS ...      what follows the environment is for one of these groups each: -- NAME=value...
                               =word... of the first, then of the next; a rank has that of its group
    member=INDEX               all ranks of this world are of that group, from 0
    local_ranks=N              so many are on each node of this group, where groups differ: the first setting
    profile=RANK,...           these run under a profiler: profiler= are its words, one on each line, and the
                               last is continued by the file, profile_to=PREFIX with job id and rank
    root=DIR                   /sys, /proc and /dev are there, a made-up machine; else HPCLAUNCH_ROOT says it

Each `hosts=HOSTLIST` begins a table, up to the next; without any there is one table for all hosts. In tables,
with `;` between local ranks and indexes from 0:

    hcas=NAME/PCI/PORT/LINK ...     the compute HCAs in PCI order
    near=N:i,j,k;...                how many of them the rank uses, and which, from the nearest on; without it
                                    those of its GPUs
    cpus=, membind=, preferred=     CPUs and NUMA nodes, in the kernel's list form
    cores=POOL.NODE:LIST/LIST ...   on a part of a node: all cores, entry i of each LIST are siblings
    gpus=PCI|POOL,...|i,j,k ...     and all GPUs, with the pools and HCAs from the nearest on
    seats=0;1;2-3                   and the rank's among those that the job gets there
    part=cpus,membind               and what is bound: cpus, membind or preferred
"""

import os.path
from collections.abc import Sequence
from functools import cache

from msgspec import msgpack

_HERE = os.path.dirname(os.path.abspath(__file__))
# The build puts all parts into one file: to open one for each takes longer than all that is done with them.
_PACKED = os.path.join(os.path.dirname(_HERE), "_compiled", "texts")

_OUTSIDE_SLURM = "from=openmpi from=hydra from=local"

# The parts in their order, each with the settings that need it, by name or whole; none: every wrapper has it.
PARTS: tuple[tuple[str, frozenset[str]], ...] = tuple(
    (part, frozenset(needed.split()))
    for part, needed in (
        ("begin", ""),
        ("hosts", "hosts"),
        ("lists", "seats part verify"),
        ("profile-settings", "profile"),
        ("unlike-settings", "local_ranks"),
        ("settings", ""),
        ("mpirun", "from=openmpi from=hydra"),
        ("rank", ""),
        ("rendezvous", "rendezvous"),
        ("unlike", "local_ranks"),
        ("capability", _OUTSIDE_SLURM),
        ("limits", "memlock verify"),
        ("memlock", "memlock"),
        ("devices", "hcas seats part verify"),
        ("gpus", "seats part verify"),
        ("granted", "seats part"),
        ("virtual", _OUTSIDE_SLURM),
        ("hcas", "hcas"),
        ("cores", "part"),
        ("besteffort", "besteffort"),
        ("bind", "cpus membind preferred part"),
        ("report", "verify"),
        ("stay", "from=hydra"),
        ("groups", "groups"),
        ("profile", "profile"),
        ("run", ""),
    )
)

# The settings of many entries, with what stands between these. More white space may follow it, such as the
# end of a line.
SEPARATORS = {"hcas": " ", "near": ";", "cpus": ";", "cores": " ", "gpus": " "}


def wrapper_text(settings: Sequence[str]) -> str:
    """The wrapper as it is handed to `/bin/sh -c`: what its settings ("from=slurm") need, and no more."""
    given = {setting.partition("=")[0] for setting in settings}.union(settings)
    return "\n".join(read("wrapper", part) for part, needed in PARTS if not needed or needed & given)


@cache
def read(folder: str, part: str) -> str:
    """A part of a text, by its folder here."""
    name = f"{folder}/{part}.sh"
    packed = _packed()
    if packed:
        return packed[name]
    # As bytes: of files as small as these, text mode takes twice the time.
    with open(os.path.join(_HERE, name), "rb", buffering=0) as file:
        return file.read().decode()


@cache
def _packed() -> dict[str, str]:
    """The parts by the names of their files. In a checkout, where they change, there is no such file."""
    try:
        with open(_PACKED, "rb", buffering=0) as file:
            return msgpack.decode(file.read(), type=dict[str, str])
    except FileNotFoundError:
        return {}
