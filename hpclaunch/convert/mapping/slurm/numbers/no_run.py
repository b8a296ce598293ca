"""What is told of a launch whose run is not found: its ranks, GPUs and MPI, as far as sbatch was asked for
them, and what the script exports."""

import re
from collections.abc import Collection

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.environment import of_no_run
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.slurm.batch import hints
from hpclaunch.convert.mapping.slurm.numbers import run_sizes, step_ranks
from hpclaunch.convert.mapping.slurm.numbers.sizes import OF_GPUS, Allocation
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.srun import TELL_TASKS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Place

_OTHERS = (
    "the tasks that Slurm is asked for: what starts the ranks is not known, and may start another number"
)
# Options of srun, which ask for what it starts and not for the job (srun(1)).
THE_RUN = "the run"
_MOST_NAMES = 12
_WORD = re.compile(r"\w+")
_NOT_GIVEN = (
    "no line gives it a value: the script has it from the shell of who submits, where no module and no file "
    "that it sources sets it, and the command, which is asked for, may need it"
)
_GIVE = "convert again with --env NAME=VALUE, or write the name in `inherit` where the command reads it"


class Unknown(Struct, frozen=True):
    """Why the run is not found, by which lines, what stands there and what to do. `place` is that of the
    launcher; `image`: the ranks are in one."""

    place: Place
    places: tuple[Place, ...]
    why: str
    what: str = THE_RUN
    todo: str = ""
    image: bool = False


def put(reading: ShellReading, found: Allocation, unknown: Unknown, draft: Draft) -> None:
    """Put what is told, and ask for the rest."""
    of_no_run.put(reading, found, draft, image=unknown.image)
    question = f"what each rank executes: {unknown.why}"
    draft.ask(("command",), question, unknown.places, unknown.what, todo=unknown.todo)
    if ("gpus_per_node",) not in draft.facts:
        doubt = _beside(reading, OF_GPUS) or hints.no_gpus(reading)
        run_sizes.no_gpus(reading, found, unknown.places, draft, doubt)
    _ranks(reading, found, unknown, draft)
    _of_the_submitter(reading, unknown, draft)
    if draft.number("ranks_per_node") != 1 or draft.number("nodes") != 1:
        none = f"none for ranks that do not use MPI{hints.of_mpi(reading)}"
        question = f"pmix, pmi2 or none: {unknown.why}; {none}"
        draft.ask(("mpi",), question, unknown.places, "the run")


def _ranks(reading: ShellReading, found: Allocation, unknown: Unknown, draft: Draft) -> None:
    """The ranks that the script asks Slurm for: a job file that says nothing of them has one for each GPU."""
    ranks = step_ranks.ranks(reading, (), found, unknown.place)
    if ranks.per_node is not None and not {"tasks", "per_node", "tasks_per_gpu"}.isdisjoint(found.places):
        why = _OTHERS if ranks.per_node > 1 else ""
        draft.put(("ranks_per_node",), ranks.per_node, ranks.places, "what is asked of sbatch", why=why)
    else:
        theirs = _beside(reading, TELL_TASKS) or "no line asks Slurm for so many tasks"
        doubt = ranks.doubt or f"{unknown.why}, and {theirs}"
        draft.ask(("ranks_per_node",), f"how many ranks on each node: {doubt}", ranks.places, "the run")


def _of_the_submitter(reading: ShellReading, unknown: Unknown, draft: Draft) -> None:
    """The script's own names that no line gives a value: sbatch hands on the shell of who submits (sbatch(1),
    --export), and a job inherits only what it names."""
    asked = frozenset(_WORD.findall(f"{unknown.why} {unknown.todo}"))
    names = {
        name: min(places)
        for name, places in reading.wanted.items()
        if places and not owner(name) and name not in asked and not reading.given(name)
    }
    if names:
        listed = list(names)[:_MOST_NAMES]
        more = f" and {len(names) - len(listed)} more" if len(names) > len(listed) else ""
        lines = tuple(dict.fromkeys(names[name] for name in listed))
        draft.say("left", lines, ", ".join(listed) + more, why=_NOT_GIVEN, todo=_GIVE)


def _beside(reading: ShellReading, names: Collection[str]) -> str:
    """What one of the srun that are not the run asks for by these options, "" where none does."""
    its = ((each, layer) for each in reading.of("srun") for layer in layers(each.words)[:1])
    found = ((each, option) for each, layer in its for option in layer.options if option.name in names)
    first = next(found, None)
    if first is None:
        return ""
    command, option = first
    return f"{option.written} of the srun in line {command.place.line} is for what that one starts"
