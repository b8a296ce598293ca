"""sbatch scripts without containers: steps of srun, mpirun in an allocation, or a command on the first
node; and mpirun or torchrun alone."""

from functools import partial

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import arrays, at_once, beyond, other_runs, preparations
from hpclaunch.convert.mapping.environment import sourced
from hpclaunch.convert.mapping.ranks import launchers
from hpclaunch.convert.mapping.slurm.batch import allocation, not_given
from hpclaunch.convert.mapping.slurm.numbers import no_run
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.scripts import several
from hpclaunch.convert.mapping.slurm.srun import srun_run, sruns
from hpclaunch.convert.mapping.slurm.starts import alone, by_mpirun, ended, kept_output, over_ssh
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import MPI, PER_GPU, Layer, layers
from hpclaunch.convert.reading import ShellReading
from hpclaunch.values.conversion import Place

_STARTS = frozenset(("srun", "sbatch", "salloc", *MPI))


def recognise(reading: ShellReading) -> Place | None:
    """The first srun, sbatch or mpirun, or the first line of #SBATCH, or else what starts a process for each
    GPU of its node, or such a line behind commands."""
    of_gpus = None
    for command in reading.starting:
        programs = {layer.program for layer in layers(command.words)}
        if not programs.isdisjoint(_STARTS):
            return command.place
        if of_gpus is None and not programs.isdisjoint(PER_GPU) and not command.within:
            of_gpus = command.place
    by_ssh = None if of_gpus is not None else over_ssh.recognise(reading)
    of_batch = (each.place for each in reading.directives if each.system == "SBATCH")
    return next(of_batch, of_gpus or by_ssh or alone.too_late(reading))


def convert(reading: ShellReading, draft: Draft, options: Options) -> None:
    """Put what the script launches into the draft."""
    arrays.put(reading, draft, options, partial(several.put, convert=_convert))


def _convert(reading: ShellReading, draft: Draft, options: Options) -> None:
    if alone.only_submits(reading):
        reading = structs.replace(reading, directives=())  # they are of the job that submits
    found = allocation.put(reading, draft)
    steps = sruns.steps(reading, found)
    run, by = _run(reading, steps, found)
    if run is None or (alone.is_one(run, by) and kept_output.may_outweigh(reading, run)):
        opened = kept_output.opened(reading)
        its_steps = sruns.steps(opened, found)
        kept, by_kept = _run(opened, its_steps, found)
        if kept is not None and (run is None or kept_output.outweighs(kept, run)):
            if run is not None:
                kept_output.say_taken(kept, run, draft)
            reading, steps, run, by = opened, its_steps, kept, by_kept
            kept_output.say(kept.command, draft)
    whole = reading
    if run is None and over_ssh.recognise(reading) is not None:
        reading = over_ssh.opened(reading)
        run, by = _run(reading, steps, found)
    run = run or alone.only(reading, found, draft)
    if run is None:
        _nothing(reading, found, draft)
        return
    if by is None and not any(layer.program == "srun" for layer in layers(run.command.words)):
        _on_first_node(run, found, draft)
    like = by_mpirun.like(reading, found, run, by) if by is not None else []
    srun_run.put(srun_run.Launch(reading, run, [*steps, *like], found, by), draft, options)
    over_ssh.say(whole, run.command, draft)
    at_once.ask(reading, run, steps, found.nodes, draft)
    if alone.is_one(run, by):
        alone.ask_text(reading, run, found, draft)
        other_runs.ask_for_one(run, alone.others(reading, run.command), draft)
    other_runs.put(run, [*steps, *by_mpirun.all_of(reading, found)], draft)
    preparations.ask_of_script(reading, run, steps, draft)


def _run(
    reading: ShellReading, steps: list[sruns.Step], found: Allocation
) -> tuple[sruns.Step | None, Layer | None]:
    """The step that is the job's command, and the mpirun that starts its ranks (None: srun does)."""
    of_srun = sruns.run_of(steps)
    of_mpirun = None if of_srun is not None and _has_more(of_srun) else by_mpirun.run_of(reading, found)
    if of_mpirun is not None:
        return of_mpirun
    if of_srun is not None:
        return of_srun, None
    test, own = sruns.test_of(steps), alone.step(reading, found)
    if test is not None and own is not None and _is_before(reading, own, test):
        return test, None  # as what puts the nodes into an order for it
    return own or test, None


def _is_before(reading: ShellReading, own: sruns.Step, test: sruns.Step) -> bool:
    """Whether a command of the script's own only leads up to a test on all nodes. A launcher does not."""
    order = [id(each) for each in reading.commands]
    at = [order.index(id(each)) for each in (own.command, test.command) if id(each) in order]
    return len(at) == 2 and at[0] < at[1] and not any(layer.program in PER_GPU for layer in own.inner)


def _has_more(step: sruns.Step) -> bool:
    """Whether a srun beside an mpirun is the run: it has several ranks, or MPI."""
    of_mpi = step.option("mpi")
    return (step.ranks.per_node or 0) > 1 or (of_mpi is not None and of_mpi.text != "none")


def _on_first_node(run: sruns.Step, found: Allocation, draft: Draft) -> None:
    launcher = any(launchers.is_launcher(layer) for layer in run.inner)
    if found.nodes is not None and found.nodes > 1 and run.ranks.nodes == 1:
        draft.say(
            "assumed",
            (run.command.place, *found.places.get("nodes", ())),
            run.text,
            became=at_once.ON_ONE,
            why=f"without srun it runs on the first node alone; the other {found.nodes - 1} do nothing",
            todo="where it goes to the others by itself write `nodes` in the job file"
            if not launcher
            else "",
        )


def _nothing(reading: ShellReading, found: Allocation, draft: Draft) -> None:
    command = not_given.submitted(reading)
    if command is not None:
        not_given.put(reading, command, found, draft)
        return
    place = recognise(reading) or Place(reading.script)
    by_variable = beyond.started_by_variable(reading) or beyond.started_in_rounds(reading)
    unread = alone.naming_starter(reading)
    files = sourced.not_given(reading)
    why, todo = "no line is known to start any", ""
    places: tuple[Place, ...] = (place,)
    if by_variable is not None:
        why, places = by_variable
    elif unread is not None:
        why, places = f"{unread.written} may start them, and it is not read what it starts", (unread.place,)
    elif (end := ended.before_the_run(reading)) is not None:
        (why, todo), places = ended.said(end, reading), (end.place,)
    elif (by_words := beyond.started_by_arguments(reading)) is not None:
        not_told = "of which not all is told" if reading.started else "which is not told"
        what = by_words.brief()
        its = f"{what} is" if len(by_words.words[0]) == 1 else f"the program of {what} is made of"
        why = f"{its} what stands behind the script's name, {not_told}"
        places = (by_words.place,)
    elif (unknown := beyond.started_by_unknown(reading)) is not None:
        command, name = unknown
        why = f"what {command.brief()} starts is not told, as nothing gives {name}"
        todo, places = f"convert again with --env {name}='...'", (command.place,)
    elif files:
        names = " and ".join(dict.fromkeys(file for _, file in files))
        why, todo = f"no line is known to start any but what {names} may start", f"convert again with {names}"
        places = tuple(each for each, _ in files)
    elif beside := reading.of("srun"):
        has_command = bool(layers(beside[0].words)[-1].words)
        does = "prepares or looks at the nodes" if has_command else "has no command behind its options"
        which = f"{beside[0].brief()}, which {does}"
        why, places = f"no line is known to start any but {which}", (beside[0].place,)
    no_run.put(reading, found, no_run.Unknown(place, places, why, todo=todo), draft)
