"""What the ranks bind themselves by, whatever starts them: variables that their library of MPI or their
OpenMP reads, and options of the program -> `bind`.

Intel MPI's Developer Reference, "Environment Variables for Process Pinning"; MVAPICH2's user guide,
"Efficient Process Mapping"; the sources of the others stand beside them.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from hpclaunch.convert.draft import Draft
from hpclaunch.readback.shell.values import Value, known
from hpclaunch.values.conversion import Place

Places = Sequence[Place]

# What a library of MPI reads in each rank, and binds it by.
_OF_LIBRARY = re.compile(
    r"I_MPI_PIN_(?:DOMAIN|PROCESSOR_LIST|PROCS|PROCESSOR_EXCLUDE_LIST|ORDER|CELL)"
    r"|MV2_CPU_(?:MAPPING|BINDING_POLICY|BINDING_LEVEL)|MV2_HYBRID_BINDING_POLICY"
)
# CPUs by number, to which the OpenMP of a rank binds its threads (libgomp's manual, GOMP_CPU_AFFINITY; OpenMP
# 5.2, 21.1.6; Intel's compiler reference, "Thread Affinity Interface").
_BY_NUMBER = {
    "GOMP_CPU_AFFINITY": re.compile(r"\s*\d"),
    "KMP_AFFINITY": re.compile(r".*\bproclist="),
    "OMP_PLACES": re.compile(r"\s*\{"),
}
_SWITCHES = ("I_MPI_PIN", "MV2_ENABLE_AFFINITY")
OFF = frozenset(("0", "off", "no", "disable"))


def of_library(given: Mapping[str, Value], places: Places, draft: Draft, *, by_mpirun: bool) -> bool:
    """Whether variables tell the ranks' own library how to bind them: the job then binds nobody. That it is
    switched off counts where an mpirun (`by_mpirun`) would have bound by it."""
    off = [name for name in _SWITCHES if (known(given.get(name, ())) or "").lower() in OFF]
    names = [name for name in given if _OF_LIBRARY.fullmatch(name)]
    numbered = [name for name, value in given.items() if _has_numbers(name, value)]
    if numbered:
        what = ", ".join(numbered)
        why = (
            "each rank's OpenMP binds its threads to these CPUs, of which a rank that is bound may have none"
        )
    elif off and by_mpirun:
        what, why = (
            off[0],
            "no rank was bound; without these keys hpclaunch gives each the cores beside its GPU",
        )
    elif names and not off:
        what = ", ".join(names)
        why = "the ranks' MPI reads it and binds each rank itself, and two that bind get in each other's way"
    else:
        return False
    for kind in ("cpus", "memory"):
        draft.put(("bind", kind), "none", places, what, why=why)
    return True


def _has_numbers(name: str, value: Value) -> bool:
    return name in _BY_NUMBER and _BY_NUMBER[name].match(known(value) or "") is not None


def of_env(places: Places, draft: Draft) -> None:
    """Put the same where the job's env has them, and nothing else has told who binds."""
    given = {
        str(key[1]): (fact.value,)
        for key, fact in draft.facts.items()
        if key[0] == "env" and isinstance(fact.value, str)
    }
    reads = {*_SWITCHES, *_BY_NUMBER}
    names = [name for name in given if name in reads or _OF_LIBRARY.fullmatch(name)]
    its = [place for name in names for place in draft.facts["env", name].places]
    if ("bind", "cpus") not in draft.facts and of_library(given, its or places, draft, by_mpirun=True):
        draft.findings[:] = [each for each in draft.findings if each.became != "bind: cpus: local"]


def of_program(words: Sequence[Value], places: Places, draft: Draft, *, by_numactl: bool = False) -> None:
    """A program that puts its threads on cores itself: Charm++'s +setcpuaffinity and +pemap (its manual, "Cpu
    affinity"), GROMACS's mdrun -pin on (its user guide, "Pinning threads to physical cores"). `by_numactl`:
    that stands in front of it, and says of its memory."""
    texts = [known(word) or "" for word in words]
    own = next((text for text in texts if text in ("+setcpuaffinity", "+pemap")), "")
    if ("-pin", "on") in pairwise(texts):
        own = "-pin on"
    why = "the program binds its threads itself, and two that bind get in each other's way"
    if own and ("bind", "cpus") not in draft.facts:
        draft.put(("bind", "cpus"), "none", places, own, why=why)
        if not by_numactl:
            draft.put(("bind", "memory"), "none", places, own, why=why)
