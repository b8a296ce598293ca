"""Containers of docker that a script starts on each node, and reaches by docker exec: over ssh, with mpirun
or with a launcher of PyTorch (MLPerf v0.5 and v0.6, and what vendors made of them)."""

import re
from collections.abc import Iterable, Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import arrays, at_once, beyond, preparations
from hpclaunch.convert.mapping.docker import beside, config_env, container, handed_over, launch, nodes, sizes
from hpclaunch.convert.mapping.docker.steps import Started, one_by_one, started
from hpclaunch.convert.mapping.ranks import launchers
from hpclaunch.convert.mapping.slurm.batch import allocation
from hpclaunch.convert.mapping.slurm.batch.asked import of_batch
from hpclaunch.convert.mapping.slurm.batch.of_slurm import is_of_slurm
from hpclaunch.convert.mapping.slurm.scripts.submitted import unwrapped
from hpclaunch.convert.mapping.words.hosts import loops_of_trials
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.layers import MPI, Layer, layers
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import known, program_of, shown
from hpclaunch.values.conversion import Place

_SHOWS = that("says", "looks", "devices") - {"sleep"}
_SLEEPS = ("sleep", "tail", "bash", "sh")  # what is done in it docker exec says
_IN_A_TEXT = re.compile(r"\b(docker|podman)\b")


def recognise(reading: ShellReading) -> Place | None:
    """The first command that runs something in a container of docker, where the script starts it on several
    nodes or under Slurm."""
    reading = unwrapped(reading)
    of_slurm = any(each.system == "SBATCH" for each in reading.directives)
    its = [(command, layers(command.words)) for command in reading.starting]
    first = _first(its)
    if first is not None and of_slurm:
        return None if are_beside(reading) else first
    if any(
        _IN_A_TEXT.search(shown(word))
        for command in reading.commands
        for word in (*command.words[-1:], command.stdin or ())
    ):
        steps = ((step.command, step.layers) for step in one_by_one(reading))
        if of_slurm:
            return _first(steps)
        its += steps
        first = first or _first(its)
    if first is None:
        return None
    several = bool(reading.of("scontrol", "sbatch")) or any(
        _has(layer, "srun", "ssh")
        or command.program in ("scontrol", "sbatch")
        or any((each.program in MPI and _has_hosts(each)) or _has_nodes(each) for each in layer)
        for command, layer in its
    )
    return first if several and not reading.directives and not _are_beside(reading) else None


def _first(its: Iterable[tuple[Command, Sequence[Layer]]]) -> Place | None:
    return next((command.place for command, layer in its if _has(layer, "docker run", "docker exec")), None)


def are_beside(reading: ShellReading) -> bool:
    """Whether all containers of a script for Slurm are started to go on beside what srun or mpirun starts
    outside of them, such as one that watches the node, or have ended before it."""
    return any(each.system == "SBATCH" for each in reading.directives) and _are_beside(reading)


def _are_beside(reading: ShellReading) -> bool:
    its = [layers(command.words) for command in reading.starting]
    of_docker = [layer for layer in its if _has(layer, "docker run", "docker exec")]
    outside = [layer for layer in its if layer not in of_docker]
    if not any(_has(layer, "srun", *MPI) for layer in outside):
        return False
    by_mpirun = any(_has(layer, *MPI) for layer in outside)
    return all(_goes_on_here(layer) or _ends_here(layer, by_mpirun) for layer in of_docker)


def _goes_on_here(its: Sequence[Layer]) -> bool:
    """Whether it is a container that the script starts on its own node alone, and that does something."""
    first, program = its[0], its[-1].words
    is_sleeper = bool(program) and known(program[0]) in _SLEEPS
    return first.program == "docker run" and first.option("detach") is not None and not is_sleeper


def _ends_here(its: Sequence[Layer], by_mpirun: bool) -> bool:
    """Whether it is a container that only shows something, on the script's own node, and ends: where mpirun
    starts the ranks, also one that nobody gives a command, on a terminal or not at all."""
    first, words = its[0], its[-1].words
    if first.program != "docker run" or any(map(first.option, ("detach", "interactive", "tty"))):
        return False
    return program_of(words) in _SHOWS if words else by_mpirun


def _has_hosts(mpirun: Layer) -> bool:
    return any(mpirun.option(name) is not None for name in sizes.OF_HOSTS)


def _has_nodes(launcher: Layer) -> bool:
    """Whether it is told of several nodes (--nnodes 2): the same script is started on each by hand."""
    option = launcher.option("nnodes") if launchers.is_launcher(launcher) else None
    return option is not None and (known(option.value or ()) or "1") not in ("1", "1:1")


def _has(its: Sequence[Layer], *programs: str) -> bool:
    return any(each.program in programs for each in its)


def convert(reading: ShellReading, draft: Draft, options: Options) -> None:
    """Put the job into the draft."""
    if is_of_slurm(reading) and any(each.name == "array" for each in of_batch(reading)):
        arrays.put(reading, draft, options, _convert)
        draft.walked = None  # it is that of one index, and others may come to other lines
    else:
        _convert(reading, draft, options)


def _convert(reading: ShellReading, draft: Draft, options: Options) -> None:
    draft.walked = sizes.told(reading, draft, options)
    reading = config_env.told(unwrapped(draft.walked))
    steps = started(reading)
    main = main_of(steps)
    if main is None:  # nothing else of the script is in a container
        steps = started(reading, values=True)
        main = main_of(steps)
    by_slurm = is_of_slurm(reading)
    found = allocation.put(reading, draft) if by_slurm else nodes.put(reading, steps, main, draft)
    found = sizes.with_ranks(reading, found)
    beyond.defaults(reading, draft)
    if main is None:
        home = container.put_image(reading, steps, draft)
        beside.put(reading, steps, None, home, draft)
        question = "what each rank executes: no command in a container looks like the job's own"
        first = recognise(reading) or Place(reading.script)
        draft.ask(("command",), question, (first,), "docker exec")
        return
    home = container.container_of(steps, main)
    launch.put(launch.Launch(reading, steps, main, home), found, draft, options)
    beside.put(reading, steps, main, home, draft)
    others = (each for each in steps if each is not main and each.roles == {"run"})
    preparations.ask(_candidate(main), map(_candidate, others), draft)
    handed_over.ask(steps, main, draft)
    at_once.ask_in_containers(reading, main.command, draft)
    for each in reading.sourced:
        if each.file:
            became = "its values are in the commands that use them"
            draft.say("carried", (each.place,), f"source {each.file}", became=became)


def _candidate(step: Started) -> preparations.Candidate:
    return preparations.Candidate(step.layers, step.command.place)


def main_of(steps: Sequence[Started]) -> Started | None:
    """The job's own command: with mpirun or a launcher for GPUs, in the loop of trials, the last of all."""
    best: tuple[int, int] | None = None
    for index, step in enumerate(steps):
        if "run" not in step.roles or step.roles & {"caches", "compliance", "sleeper", "pull"}:
            continue
        if step.container is None and not step.is_parallel:
            continue
        parallel = step.is_parallel or any(piece.is_parallel for piece in step.pieces)
        text = step.text
        weight = -1 if step.looks else 8 * parallel
        weight += 4 * bool(loops_of_trials(step.command)) + 2 * ("run_and_time" in text)
        weight += ("train" in text) + 2 * (step.container is not None) + 2 * _is_of_all_tasks(step)
        if best is None or weight > best[0] or (weight == best[0] and not _is_eval(text)):
            best = (weight, index)
    return steps[best[1]] if best is not None else None


def _is_of_all_tasks(step: Started) -> bool:
    """Whether srun starts the container for as many tasks as the job asks for, and not once on each node or
    on one alone."""
    srun = step.layer("srun")
    if srun is None or srun.option("nodelist") is not None:
        return False
    counts = (srun.option(name) for name in ("ntasks", "ntasks-per-node"))
    return all(known(each.value or ()) != "1" for each in counts if each is not None)


def _is_eval(text: str) -> bool:
    return "eval" in text or "test" in text or "valid" in text
