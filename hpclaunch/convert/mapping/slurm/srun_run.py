"""The srun that is the job's own command -> sizes, MPI, container, binding, environment and command."""

from collections.abc import Iterator, Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import beyond, steps, surroundings, sweeps, trials
from hpclaunch.convert.mapping.bind import binding, of_mpirun, rank_script
from hpclaunch.convert.mapping.container import enroot, images, mounts
from hpclaunch.convert.mapping.container import options as container_options
from hpclaunch.convert.mapping.environment import exported, handed_on
from hpclaunch.convert.mapping.ranks import launchers, mpi, numbers, parameter_files, rendezvous
from hpclaunch.convert.mapping.slurm import (
    alone,
    gpu_binding,
    perhaps,
    pyxis_variables,
    run_command,
    run_mpi,
    run_sizes,
    step_options,
)
from hpclaunch.convert.mapping.slurm.asked import OF_ALLOCATION, Asked, of_batch, outside_allocation
from hpclaunch.convert.mapping.slurm.settled import by_role
from hpclaunch.convert.mapping.slurm.sizes import Allocation
from hpclaunch.convert.mapping.slurm.sruns import Step
from hpclaunch.convert.mapping.words import inputs
from hpclaunch.convert.mapping.words.made import in_doubt
from hpclaunch.convert.mapping.words.texts import is_here
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import Unknown, shown

# srun starts ranks in the folder where it is called itself.
_OWN_FOLDER = {"$(pwd)": "PWD", "PWD": "PWD"}


def put(
    reading: ShellReading,
    run: Step,
    all_steps: Sequence[Step],
    found: Allocation,
    draft: Draft,
    options: Options,
    by: Layer | None = None,
) -> None:
    """Put the run, and what stands around it, into the draft. `by` is the mpirun that starts the ranks in
    srun's place."""
    files = by_role(reading)
    beyond.defaults(reading, draft)
    image = images.image_of(run, images.made(all_steps)) is not None or run.in_container
    lines = (run.command.place,)
    launcher = next((layer for layer in run.inner if launchers.is_launcher(layer)), None)
    per_node = run_sizes.put(reading, run, found, launcher, draft)
    run_sizes.put_gpus(reading, run, found, draft)
    is_alone = outside_allocation(reading) is run.command
    for each in run.asked:
        if not (is_alone and each.name in OF_ALLOCATION):
            _option(each, image, draft, options)
    gpu_binding.put(run.asked, of_batch(reading) if by is None else (), draft)
    if not image:
        _image_of_batch(reading, draft)
    else:
        images.put_image(reading, run, all_steps, reading.commands, draft)
        of_run = run.option("container-image")
        if of_run is not None and alone.cut_short(reading, of_run):
            question = f"the image: sbatch takes # for a comment, and so it was given {of_run.written} alone"
            draft.ask(("image",), question, of_run.places, of_run.written, todo="write it with / for the #")
        container_options.put(run, draft)
        asked = [each for each in run.asked if each.name == "container-mounts"]
        mounts.put(reading, run.command, asked, files.get("mounts", ()), draft)
    binding.of_srun((*_of_variables(reading), *run.asked), per_node, draft, options)
    tables = files.get("binding", ())
    inner = binding.of_layers(run.inner, run_command.lines_of(reading, run), per_node, tables, draft, options)
    if run.in_enroot is not None:
        enroot.say(run.in_enroot, inner, run.command, draft)
    inside = rank_script.put(run, files.get("rank script", ()), draft, reading.commands, tables)
    swept = sweeps.of(reading, run)
    found_trials = trials.find(reading, run.command, draft, run.words, swept, sweeps.variables(swept, run))
    found_trials = structs.replace(
        found_trials,
        stand_ins={
            **_doubtful(reading, image=image),
            **rendezvous.first_node(run.words, lines, draft),
            **({} if image else _OWN_FOLDER),
            **found_trials.stand_ins,
        },
    )
    ranks = exported.Ranks(
        run_command.export_of(reading, run),
        options=[each.written for each in run.asked if each.how == "variable"],
        slurm=found.numbers,
        read_inside=inside,
        trial=found_trials.seed,
        swept=[each.variable for each in swept],
        stand_ins=found_trials.stand_ins,
        gpus=draft.number("gpus_per_node"),
        container=image,
    )
    later = exported.put(reading, run.command, ranks, draft)
    if launcher is not None:
        launchers.put_launcher(reading, run.command, launcher, draft)
    of_mpirun.of_program(run.words, lines, draft)
    if by is not None:
        parameter_files.put(reading, draft)
        mpi.put_kind(run.command, by, draft)
        mpi.put_options(reading, run.command, by, draft)
        of_command = {name for name, _ in later}  # which it exports already
        handed = [
            each
            for each in handed_on.given(reading, run.command, by.all("x"), f"{by.program} -x")
            if each.value is not None or each.name not in of_command
        ]
        receivers = handed_on.Receivers(
            seed=found_trials.seed, slurm=found.numbers, stand_ins=found_trials.stand_ins
        )
        later += handed_on.put(reading, handed, draft, receivers)
    else:
        run_mpi.put(reading, run, launcher, draft)
        if ("bind", "cpus") not in draft.facts:
            handed_over = {**dict(run.command.environment), **dict(run.command.prefix)}
            of_mpirun.of_library(handed_over, lines, draft, by_mpirun=False)
    words = run_command.words_of(reading, run, inner, launcher, draft)
    if by is not None:
        later += numbers.exports(words, numbers.scripts_of(reading), lines, draft)
    before = surroundings.put(reading, run.command, draft, image=image)
    given = run_command.input_of(run, launcher or by, image=image)
    around = run_command.Around(later, before, given or inputs.Given(), found_trials.stand_ins)
    run_command.put(reading, run, words, around, draft, image=image)
    sweeps.put(swept, run, draft)
    trials.ask_rounds(reading, run.command, draft, found_trials.seed, swept)
    perhaps.ask(reading, run, draft)
    pyxis_variables.say(run.asked, draft)
    beyond.put(reading, run, draft, reads=given is not None)
    around_run = steps.Run(run.command, run.ranks.per_node, found_trials, image)
    steps.put(reading, around_run, all_steps, draft)


def _option(each: Asked, image: bool, draft: Draft, options: Options) -> None:
    folder = each.text or ""
    if each.name == "chdir" and not image and folder.startswith("/"):
        draft.put(("workdir",), folder, each.places, each.written)
    else:
        step_options.put(each, draft, options)


def _of_variables(reading: ShellReading) -> Iterator[Asked]:
    """Binding that srun takes of the environment where no option says it (srun(1), "INPUT ENVIRONMENT")."""
    for name, option in (("SLURM_CPU_BIND", "cpu-bind"), ("SLURM_MEM_BIND", "mem-bind")):
        each = reading.last(name)
        if each is not None and each.exported:
            yield Asked(option, each.value, name, (each.place,), "variable")


def _image_of_batch(reading: ShellReading, draft: Draft) -> None:
    """An image that sbatch was given, and srun was not."""
    for each in of_batch(reading):
        if each.name == "container-image":
            question = f"the image: the script was in {shown(each.value or ())}, and no line says so of srun"
            draft.ask(("image",), question, each.places, each.written)


def _doubtful(reading: ShellReading, *, image: bool) -> dict[str, str]:
    """What no text of a command can name: variables of which the script makes one thing or another, and in
    an image the folder where the job was submitted."""
    words = [word for command in reading.commands for word in command.words]
    here = [part.name for word in words for part in word if isinstance(part, Unknown) and is_here(part)]
    return dict.fromkeys([*in_doubt(reading, words), *(here if image else ())], "")
