"""What binds the ranks of a pod where no launcher's options do: their command, or nobody, as Kubernetes
leaves cores to whoever starts processes."""

import re

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.workload import Workload
from hpclaunch.convert.manifests.running import command
from hpclaunch.convert.manifests.running.launch import Launch
from hpclaunch.convert.mapping.bind import by_ranks
from hpclaunch.convert.programs.bind import BINDERS, OF_MLPERF, UNREAD_BINDERS
from hpclaunch.convert.programs.names import any_of
from hpclaunch.readback.shell.values import known

_BINDS = re.compile(rf"\b({any_of(BINDERS, UNREAD_BINDERS)})\b")
_TO_CORES = re.compile(
    rf"\b(numactl(?= .*(?:--cpu|--physcpubind|-[NC]))|taskset|{any_of(OF_MLPERF, UNREAD_BINDERS)})\b",
    re.DOTALL,
)
# mpirun(1), --bind-to; srun(1), --cpu-bind. A program of one's own may hand them on.
_OF_LAUNCHERS = re.compile(r"(?<!\S)--?(?:bind-to|cpu[-_]bind)[ =][\w:,+-]+")
_COMMENT = re.compile(r"(?<!\S)#.*")


def put(workload: Workload, launch: Launch, draft: Draft) -> None:
    """Put the binding where nothing was said of it."""
    by_ranks.of_env([workload.kind_place], draft)
    fact = draft.facts.get(("command",))
    own = fact is not None and _BINDS.search(str(fact.value))
    to_cores = _TO_CORES.search(command.in_one(fact.value)) if fact is not None and not fact.is_open else None
    if fact is not None and to_cores and ("bind", "cpus") not in draft.facts:
        draft.findings[:] = [each for each in draft.findings if each.became != "bind: cpus: local"]
        why = "the command binds itself, and two that bind get in each other's way"
        for kind in ("cpus", "memory"):
            draft.put(("bind", kind), "none", fact.places, f"{to_cores[1]} in the command", why=why)
    elif (
        fact is not None
        and fact.is_open
        and ("bind", "cpus") not in draft.facts
        and (option := _unread_option(launch))
    ):
        question = f"what ranks are bound to: {option} is in what is asked for as `command`"
        draft.ask(("bind", "cpus"), question, launch.places, option)
    elif not own and not any("bind" in f"{each.became} {each.todo}" for each in draft.findings):
        by_mpi = "Intel MPI pinned them in its own way"
        draft.say(
            "assumed",
            [workload.kind_place],
            "no line binds ranks to cores",
            became="bind.cpus: local, the default: the cores beside the rank's GPU",
            why=by_mpi if workload.mpi == "intel" else "in pods they ran on any core",
            todo="where the program chooses its cores itself write bind: {cpus: none, memory: none}",
        )


def _unread_option(launch: Launch) -> str:
    """The option of a launcher that binds ranks, in words of which nobody knows what starts them; else ""."""
    text = " ".join((*(known(word.value) or "" for word in launch.words), launch.unread.text))
    found = _OF_LAUNCHERS.search(_COMMENT.sub("", text))
    return found[0] if found is not None else ""
