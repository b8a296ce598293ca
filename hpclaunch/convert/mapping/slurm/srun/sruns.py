"""The srun commands of a script as steps, and which of them is the job's own command."""

import re
from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from hpclaunch.convert.mapping.around.rounds import counts_trials
from hpclaunch.convert.mapping.container import enroot
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, of_options
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import Ranks, ranks
from hpclaunch.convert.mapping.slurm.srun import pyxis_variables, srun_variables
from hpclaunch.convert.mapping.slurm.starts import in_text
from hpclaunch.convert.mapping.words import hosts
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs import srun
from hpclaunch.convert.programs.beside import PREPARES, that
from hpclaunch.convert.programs.layers import Layer, layers
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, SHELLS, STEPS, any_of
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.walk import inner as inside_of
from hpclaunch.readback.shell.values import Value, base_name, program_of, shown

# What is never the job: besides programs that prepare, what only makes their containers and environments.
_BESIDE = PREPARES | that("compiles") | {"enroot", "numactl", "conda", "pip"}
_ENDS = that("ends")
_OF_NO_CONDITION = 3
_COPIES = re.compile(r"copy[-_]\w+\.sh")
_ENROOT_EXEC = re.compile(r"(?:\S*/)?enroot\s+exec\b")  # a command in a container made before
_TESTS = re.compile(r"^\w+_perf(_mpi)?$")
# mlperf_log is a module of mlperf_compliance; mlperf_log_accuracy.json and its like are what LoadGen writes
# of a run (loadgen/README.md of mlcommons/inference).
_PREPARES = re.compile(
    r"drop_caches|cache_clear|submission_log|mlperf_log(?!_(?:accuracy|detail|summary|trace)\b)|mllog|CACHE_CLEAR",
    re.IGNORECASE,
)
# A shell that only removes containers, and a script that watches the nodes while others run there.
_CLEANS = re.compile(r"\benroot\s+(?:list|remove)\b")
_CONTAINS = re.compile(r"\benroot\s+(?:start|exec)\b")
_WATCHES = re.compile(r"^(?:(?:ba)?sh\s+)?(?:'\s*')?\S*monitor\.(?:sh|py)\b")
# A condition of the walk that holds where something that was started has failed.
_STARTS = rf"\b{any_of(STEPS, BY_MPI, BY_TORCH)}\b"
_FAILED = re.compile(
    rf":\d+(?:-\d+)?: (?:not \((?!\s*!).*{_STARTS}|if\s+!.*{_STARTS}"
    r"|not \(.*\$\?\W*(?:-eq|==?)\W*0\b|if .*\$\?\W*(?:-ne|!=|-gt)\W*0\b|.*\(\(\s*\$\?\s*\)\))",
    re.DOTALL,
)
_OF_LAUNCHES = re.compile(rf"a loop$|{_STARTS}")  # conditions of each round, or of what was started before
_TRAINS = re.compile(r"run_and_time|train|torchrun|torch\.distributed|horovod|bench|\.py\b|main|run")
# A program, or a script of one, that brings the data into their place: python scripts/stage_data.py.
_BRINGS = re.compile(
    r"^(?:\S*(?:python[\d.]*|sh)(?:\s+-\S+)*\s+)?(?:\S*/)?"
    r"(?:preprocess|prepare|download|tokeni[sz]e|stage|balance)(?:[-_.]|\b)",
    re.IGNORECASE,
)


class Step(Struct, frozen=True, dict=True):
    """A srun command: its options, its sizes, and the layers of what it starts, the innermost last.
    `in_enroot` is the `enroot start` that was among them, whose options are told as Pyxis's, and `front` what
    a shell does before it starts them."""

    command: Command
    asked: tuple[Asked, ...]
    ranks: Ranks
    inner: tuple[Layer, ...]
    before: tuple[Layer, ...] = ()
    in_enroot: Layer | None = None
    front: in_text.Front | None = None

    @property
    def words(self) -> tuple[Value, ...]:
        """The command without what surrounds it."""
        return self.inner[-1].words

    @property
    def started(self) -> tuple[Value, ...]:
        """The command with what srun starts in front of it: sudo, timeout, numactl, torchrun."""
        its = layers(self.command.words)
        index = next((index for index, layer in enumerate(its) if layer.program == "srun"), len(its))
        if len(self.inner) < 2 or its[index + 1 :] != self.inner:
            return self.words
        start = next(index for index, word in enumerate(self.command.words) if base_name(word) == "srun")
        return tuple(srun.read(self.command.words[start:])[1])

    @property
    def in_container(self) -> bool:
        """Whether it runs in a container of Pyxis."""
        return _has_container(self.asked)

    @property
    def is_one_task(self) -> bool:
        """Whether it says so itself: in a job of one node all steps may be on one."""
        says_one = any(each.text == "1" for each in self.asked if each.name in ("ntasks", "nodes"))
        return says_one and self.ranks.nodes == 1 and self.ranks.per_node == 1

    def option(self, name: str) -> Asked | None:
        """The last one of that name."""
        return next((each for each in reversed(self.asked) if each.name == name), None)

    @cached_property
    def text(self) -> str:
        """The command for people."""
        return " ".join(map(shown, self.words))


def _has_container(asked: Sequence[Asked]) -> bool:
    return any(each.name in ("container-image", "container-name") for each in asked)


def steps(reading: ShellReading, found: Allocation) -> list[Step]:
    """All srun commands that start something, but for the one that starts the launcher itself."""
    result = []
    around = {each.place for each in reading.started}
    for command in reading.starting:
        step = step_of(reading, command, found)
        if step is not None and command.place not in around:
            result.append(step)
    return result


def step_of(reading: ShellReading, command: Command, found: Allocation) -> Step | None:
    """The command as a step, None where it is no srun, or one that starts nothing."""
    all_layers = layers(command.words)
    index = next((index for index, layer in enumerate(all_layers) if layer.program == "srun"), None)
    if index is None or not (all_layers[-1].words or len(all_layers) > index + 2):
        return None
    asked = of_options(reading, command, all_layers[index].options)
    variables = (
        *pyxis_variables.asked(reading, command, asked),
        *srun_variables.asked(reading, command, asked),
    )
    asked = (*variables, *asked)
    of_enroot, inner, of_container = enroot.of(reading, command, all_layers[index + 1 :])
    asked = (*asked, *of_container)
    inner, folder, front = in_text.unfolded(reading, command, inner, in_container=_has_container(asked))
    return Step(
        command,
        (*asked, *folder),
        ranks(reading, asked, found, command.place),
        inner,
        all_layers[:index],
        of_enroot,
        front,
    )


def run_of(found: Sequence[Step]) -> Step | None:
    """The step that is the job's command: what runs on most ranks, in the loop of trials, with MPI, and does
    not only prepare or test."""
    instead = fallbacks([step.command for step in found])
    first = [step for step in found if id(step.command) not in instead] or found
    weights = ((_weight(step), not _has_own_values(step), index) for index, step in enumerate(first))
    best = max(weights, default=None)
    if best is None or best[0] < 0:
        return None
    weight, run, test = best[0], first[best[-1]], test_of(first)
    # Beside checks of the nodes a test is the job.
    return test if test is not None and _likeness(test) > weight and not _TRAINS.search(run.text) else run


def fallbacks(commands: Sequence[Command]) -> set[int]:
    """Those, by their id, that run only where another command failed."""
    return {id(each) for each in commands if any(map(_FAILED.search, each.conditions))}


def is_another(command: Command, run: Command) -> bool:
    """Whether a command is not the run itself: it stands elsewhere, or another call of the function around
    both gives it other words or variables."""
    its, of_run = ((each.words, each.prefix, each.environment) for each in (command, run))
    return command.place != run.place or its != of_run


def test_of(found: Sequence[Step]) -> Step | None:
    """The last of NCCL's tests: it is the job of a script that starts nothing else."""
    return next((step for step in reversed(found) if _is_test(step)), None)


def _is_test(step: Step) -> bool:
    return step.command.within != "output" and bool(_TESTS.match(program_of(step.words)))


def is_preparation(step: Step) -> bool:
    """Whether a step never is the job's own command."""
    return _weight(step) < 0


def prepares(step: Step) -> bool:
    """Whether it drops caches, or writes what a log of MLPerf begins with."""
    return bool(_PREPARES.search(step.text))


def likelier(steps: Sequence[Step], run: Step) -> list[Step]:
    """Those that are started on a condition, and but for that look more like the job's own command than the
    one that was taken."""
    if run.command.conditions:
        return []
    weight = _weight(run) - _OF_NO_CONDITION
    return [step for step in steps if step.command.conditions and _weight(step) > max(weight, 0)]


def alike(steps: Sequence[Step], run: Step) -> list[Step]:
    """Those that may be the job's own command as well as the one that was taken, by all that tells them. A
    loop alone does not: checks and tests are repeated too."""
    weight, text = _weight(run, by_loops=False), run.text
    return [step for step in steps if 0 <= weight <= _weight(step, by_loops=False) and step.text != text]


def _weight(step: Step, *, by_loops: bool = True) -> int:
    """How much a step looks like the job's own command; below 0 for what never is."""
    program = program_of(step.words)
    text = step.text
    if _ends_others(step, program) or (step.inner and not step.words and not step.in_container):
        return -1  # the second shows what a node has: numactl -H
    if step.command.within == "output" or step.command.signals or prepares(step):
        return -1
    if (_CLEANS.search(text) and not _CONTAINS.search(text)) or _WATCHES.match(text):
        return -1
    prepares_or_tests = program in _BESIDE or _COPIES.fullmatch(program) or _TESTS.match(program)
    is_beside = prepares_or_tests and not _ENROOT_EXEC.match(text)
    alone = all(layer.program in (*IN_FRONT, "sudo") for layer in step.inner[:-1])
    return -1 if is_beside and alone else _likeness(step, by_loops=by_loops)


def _ends_others(step: Step, program: str) -> bool:
    """Whether it ends what other runs have left on the nodes, and does nothing else."""
    if program not in SHELLS:
        return program in _ENDS
    if not any(each in step.text for each in _ENDS):
        return False
    programs = [each.program for each in inside_of(step.command, step.words)]
    return any(each in _ENDS for each in programs) and all(each in _ENDS | _BESIDE for each in programs)


def _has_own_values(step: Step) -> bool:
    """Whether a loop around the step gives it other words in each round, and no number of the trial."""
    names = {name for word in step.words for name in names_in(word)}
    loops = hosts.loops_of_trials(step.command)
    return any(each.variable in names and each.count != 1 and not counts_trials(each) for each in loops)


def _likeness(step: Step, *, by_loops: bool = True) -> int:
    weight = 0
    weight += 4 * (step.ranks.per_node is None or step.ranks.per_node > 1)
    weight += 3 * (step.option("mpi") is not None)
    repeated = by_loops and bool(hosts.loops_of_trials(step.command))
    weight += 3 * (repeated and not _has_own_values(step))
    weight += 2 * step.in_container
    weight += 2 * bool(_TRAINS.search(step.text))
    weight += _OF_NO_CONDITION * all(map(_OF_LAUNCHES.search, step.command.conditions))
    weight += 2 * any(layer.program for layer in step.inner)
    weight += 1 * (step.ranks.nodes is None or step.ranks.nodes > 1)
    return max(0, weight - 6 * bool(_BRINGS.match(step.text)))
