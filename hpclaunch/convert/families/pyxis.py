"""sbatch scripts whose srun has options of Pyxis: MLPerf v0.7 to v1.1's run.sub, and their like."""

from collections.abc import Sequence
from functools import partial

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import arrays, at_once, other_runs, preparations
from hpclaunch.convert.mapping.slurm.batch import allocation
from hpclaunch.convert.mapping.slurm.numbers import no_run
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation, sizes
from hpclaunch.convert.mapping.slurm.scripts import several
from hpclaunch.convert.mapping.slurm.scripts.submitted import unwrapped
from hpclaunch.convert.mapping.slurm.srun import srun_run, sruns
from hpclaunch.convert.mapping.slurm.starts import alone, by_mpirun, kept_output
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import srun
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Value
from hpclaunch.values.conversion import Place

_SHOWN = 4


def recognise(reading: ShellReading) -> Place | None:
    """The first srun, sbatch or salloc with an option of Pyxis, or such a line of #SBATCH."""
    reading = unwrapped(reading)
    for command in reading.of("srun", "sbatch", "salloc"):
        if _has_container(command.words):
            return command.place
    for step in sruns.steps(reading, sizes(reading)):
        if step.in_container and step.in_enroot is None:
            return step.command.place
    for directive in reading.directives:
        if any(word.startswith("--container-") for word in directive.words):
            return directive.place
    return None


def _has_container(words: Sequence[Value]) -> bool:
    return any(each.name.startswith("container-") for each in srun.read(words)[0].options)


def convert(reading: ShellReading, draft: Draft, options: Options) -> None:
    """Put what the script launches into the draft."""
    arrays.put(reading, draft, options, partial(several.put, convert=_convert))


def _convert(reading: ShellReading, draft: Draft, options: Options) -> None:
    found = allocation.put(reading, draft)
    steps = sruns.steps(reading, found)
    run, by = sruns.run_of(steps), None
    of_script = alone.of_container(reading)
    if run is None and of_script:
        of_mpirun = by_mpirun.run_of(reading, found, of_script)
        run, by = of_mpirun or (alone.step(reading, found), None)
    run = run or sruns.test_of(steps)
    if run is None:
        opened = kept_output.opened(reading)
        its_steps = sruns.steps(opened, found)
        run = sruns.run_of(its_steps) or sruns.test_of(its_steps)
        if run is not None:
            reading, steps = opened, its_steps
            kept_output.say(run.command, draft)
    run = run or (alone.only(reading, found, draft) if of_script else None)
    if run is None:
        _nothing(reading, steps, found, draft)
        return
    srun_run.put(srun_run.Launch(reading, run, steps, found, by), draft, options)
    at_once.ask(reading, run, steps, found.nodes, draft)
    if alone.is_one(run, by):
        alone.ask_text(reading, run, found, draft)
        other_runs.ask_for_one(run, alone.others(reading, run.command), draft)
    other_runs.put(run, steps, draft)
    preparations.ask_of_script(reading, run, steps, draft)


def _nothing(reading: ShellReading, steps: Sequence[sruns.Step], found: Allocation, draft: Draft) -> None:
    """What a script is asked for that has no run: one of its commands in the container of sbatch, or else any
    command, in the container of its last step that has one."""
    place = recognise(reading) or Place(reading.script)
    of_batch = bool(alone.of_container(reading))
    unknown = alone.unknown_of(reading) if of_batch else []
    if unknown:
        listed = "; ".join(each.brief() for each in unknown[:_SHOWN])
        why, what = f"which of these is the run ({listed})", f"{len(unknown)} commands"
        todo = "write it there; what the others do goes into setup, or into a script that does all of it"
        places = tuple(dict.fromkeys(each.place for each in unknown))
        inside = [alone.of_script(reading, unknown[-1])]
    else:
        why, what, todo, places = "no srun starts anything but preparations", "the run", "", (place,)
        inside = [step for step in steps if step.option("container-image")]
        if not inside and of_batch:
            why = "no command of the script is known for more than preparations"
            inside = [alone.of_script(reading, each) for each in reading.commands[-1:]]
    told = no_run.Unknown(place, places, why, what, todo, image=bool(inside) and not of_batch)
    no_run.put(reading, found, told, draft)
    if inside:
        srun_run.put_container(reading, inside[-1], draft)
