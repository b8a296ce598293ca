"""What -l of PBS, Torque and Moab asks for (pbs_resources(7B) of OpenPBS 23, qsub(1B) of Torque 6)."""

import re
from collections.abc import Iterable, Iterator, Sequence

from hpclaunch.convert.cores import MEMORY
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import threads
from hpclaunch.convert.mapping.schedulers.asked_values import (
    Places,
    put_number,
    put_seconds,
    say_gpu_kind,
    say_rest,
)
from hpclaunch.convert.reading import Command, Directive
from hpclaunch.values.conversion import Place

_OF_NODES = {
    **dict.fromkeys(("ngpus", "gpus"), "gpus_per_node"),
    **dict.fromkeys(("mpiprocs", "ppn"), "ranks_per_node"),
}
_MEMORY = ("mem", "pmem", "vmem", "pvmem")
# What of a node is put here or by `put_threads`, or is no fact of a launch.
_READ = frozenset((*_OF_NODES, *_MEMORY, "ncpus", "ompthreads"))
# A node, or what it is to have, in the place of their number: no word of capitals, as those are to fill in.
_NAME = re.compile(r"[a-z](?=.*[\d.])[\w.-]*")
_THREADS = re.compile(r"\bompthreads=(\d+)")
_WHY_THREADS = "PBS sets it in the job to what ompthreads says"
_OWN_THREADS = "commands of the script have numbers of their own, and which of them is the run is not told"
# place=free and place=pack, alone or with how a host is shared behind it (pbs_resources(7B), "place").
_PLACE = re.compile(r"\bplace=(free|pack)(?![\w-])[\w:=]*")
_TOGETHER = {"free": "several of its chunks may be on one host", "pack": "all of its chunks are on one host"}
# Where no line says place, the server's own setting counts, and without one free (the same, "place").
_NO_PLACE = (
    "each of its chunks is taken for a node: no line says place=, and where the server does not either "
    "several of them may be on one host"
)
_NODES_OF = "where several are on one host write nodes, with the ranks and GPUs of each"
_UNLIKE = "its nodes are not alike, and a job has the same ranks and GPUs on each of its nodes"


def put_resources(value: str, places: Places, what: str, draft: Draft) -> bool:
    """-l select=2:ncpus=64:ngpus=8:mpiprocs=8 and -l nodes=2:ppn=8:gpus=8, with walltime=H:M:S among them."""
    found = False
    rest: list[str] = []
    for part in value.split(","):
        name, _, text = part.partition("=")
        if name == "walltime":
            found |= put_seconds(text, places, part, draft)
        elif name == "ngpus":  # without select they are of one chunk (qsub(1B) of OpenPBS, -l)
            found |= put_number("gpus_per_node", text, places, part, draft)
        elif name in ("select", "nodes"):
            found |= _nodes(text, places, part, draft, rest)
        elif name in _MEMORY:
            draft.say("replaced", places, part, why=MEMORY)
            found = True
        elif _PLACE.fullmatch(part):  # that is said by `say_places`
            found = True
        else:
            rest.append(part)
    if found:
        say_gpu_kind(value, places, draft)
        say_rest(rest, "PBS", places, draft)
    return found


def say_places(directives: Sequence[Directive], draft: Draft) -> None:
    """Chunks that need no host each, of which as many nodes are told."""
    nodes = draft.number("nodes") or 1
    if nodes > 1 and not any("place=" in word for directive in directives for word in directive.words):
        for what, place in _chunks(directives):
            became = f"nodes: {nodes}"
            draft.say("assumed", [place], what, became=became, why=_NO_PLACE, todo=_NODES_OF)
    for directive in directives:
        for found in _PLACE.finditer(" ".join(directive.words)):
            if (draft.number("nodes") or 1) > 1:
                why = f"{_TOGETHER[found[1]]}, and as many nodes are told as it has of them"
                todo = "write nodes, with the ranks and GPUs of each"
                draft.say("left", [directive.place], found[0], why=why, todo=todo)
            else:
                draft.say("without effect", [directive.place], found[0], why="no more than one node is told")


def _chunks(directives: Sequence[Directive]) -> Iterator[tuple[str, Place]]:
    """What is asked for by select= of which a chunk has cores or ranks of its own, with its line. One without
    them (select=2:system=NAME) is of whole nodes of its site."""
    for directive in directives:
        for part in (each for word in directive.words for each in word.split(",")):
            _, mark, text = part.partition("select=")
            if "ncpus=" in text or "mpiprocs=" in text:
                yield f"{mark}{text}", directive.place


def put_threads(directives: Sequence[Directive], commands: Iterable[Command], draft: Draft) -> None:
    """ompthreads=8 of a chunk, which PBS sets as OMP_NUM_THREADS; to be put when the whole environment is in
    the draft, as the script may set another number, and any of its commands where none is the run."""
    for directive in directives:
        found = (
            set(_THREADS.findall(" ".join(directive.words))) if directive.system in ("PBS", "MSUB") else ()
        )
        if len(found) == 1:
            (number,) = found
            if ("command",) not in draft.facts and any(map(threads.has_own, commands)):
                draft.say("left", [directive.place], f"ompthreads={number}", why=_OWN_THREADS)
                continue
            threads.put_asked(number, [directive.place], f"ompthreads={number}", _WHY_THREADS, draft)


def _nodes(text: str, places: Places, what: str, draft: Draft, rest: list[str]) -> bool:
    """2:ppn=8, and others behind a plus sign. What else a node is to have goes to `rest`."""
    kinds = [_kind(each) for each in text.split("+")]
    numbers = [count for count, _ in kinds if count is not None]
    if len(numbers) < len(kinds) and len(kinds) > 1:
        return False
    found = bool(numbers) and put_number("nodes", str(sum(numbers)), places, what, draft)
    its = kinds[0][1]
    if any(each != its for _, each in kinds):
        draft.say("left", places, what, why=_UNLIKE, todo="write groups in the job file")
        return True
    for resource, count in its.items():
        if resource in _OF_NODES:
            found |= put_number(_OF_NODES[resource], count, places, what, draft)
        elif resource not in _READ:
            rest.append(f"{resource}={count}" if count else resource)
    return found


def _kind(text: str) -> tuple[int | None, dict[str, str]]:
    """How many nodes, None where that is not told, and what each of them has."""
    first, *others = text.split(":")
    if "=" in first:
        first, others = "1", [first, *others]
    count = int(first) if first.isdecimal() else 1 if _NAME.fullmatch(first) else None
    return count, dict(each.partition("=")[::2] for each in others)
