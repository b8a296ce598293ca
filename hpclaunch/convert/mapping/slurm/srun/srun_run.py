"""The srun that is the job's own command -> sizes, MPI, container, binding, environment and command."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from posixpath import join, normpath

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import (
    beyond,
    one_step,
    steps,
    surroundings,
    sweeps,
    trials,
    working_folder,
)
from hpclaunch.convert.mapping.bind import binding, by_ranks, rank_script
from hpclaunch.convert.mapping.container import enroot, images, in_texts, joined, mounts
from hpclaunch.convert.mapping.container import options as container_options
from hpclaunch.convert.mapping.environment import (
    by_rank_scripts,
    exported,
    handed_on,
    of_the_node,
    reached,
    set_again,
    sourced,
)
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.ranks import (
    launchers,
    mpi,
    mpi_library,
    named_hosts,
    numbers,
    parameter_files,
    placement,
    read_by_programs,
    rendezvous,
    threads,
)
from hpclaunch.convert.mapping.slurm.batch import batch_options, gpu_binding
from hpclaunch.convert.mapping.slurm.batch.asked import OF_ALLOCATION, Asked, of_batch, outside_allocation
from hpclaunch.convert.mapping.slurm.numbers import numbers_in_texts, run_sizes, size_variables
from hpclaunch.convert.mapping.slurm.numbers.settled import by_role
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.srun import (
    found_there,
    perhaps,
    pyxis_variables,
    run_command,
    run_mpi,
    step_options,
)
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.slurm.starts import alone, inner_launchers, reach
from hpclaunch.convert.mapping.words import inputs, login
from hpclaunch.convert.mapping.words.made import in_doubt
from hpclaunch.convert.mapping.words.texts import NAMES_OF_HERE, is_here, path
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import Loop, ShellReading, Source
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Place

# The folder of submission; SLURM_SUBMIT_DIR of a job that hpclaunch submits is another, by its way to Slurm.
_OWN_FOLDER = ("$(pwd)", *NAMES_OF_HERE)
_PLAIN = re.compile(r"[\w./-]+")


class Launch(Struct, frozen=True, dict=True):
    """The run of a script, all its steps, what it has of the allocation, and `by`, the mpirun that starts the
    ranks in srun's place."""

    reading: ShellReading
    run: Step
    steps: Sequence[Step]
    found: Allocation
    by: Layer | None = None

    @cached_property
    def image(self) -> bool:
        """Whether the run is in an image."""
        return self.run.in_container or images.image_of(self.run, images.made(self.steps)) is not None

    @cached_property
    def launcher(self) -> Layer | None:
        """What starts a process for each GPU of a node, None where nothing does."""
        return next((layer for layer in self.run.inner if launchers.is_launcher(layer)), None)

    @property
    def lines(self) -> tuple[Place]:
        """The line of the run."""
        return (self.run.command.place,)


def put(launch: Launch, draft: Draft, options: Options) -> None:
    """Put the run, and what stands around it, into the draft."""
    reading, run, image = launch.reading, launch.run, launch.image
    files = by_role(reading)
    beyond.defaults(reading, draft)
    per_node = run_sizes.put(reading, run, launch.found, launch.launcher, draft)
    run_sizes.put_gpus(reading, run, launch.found, launch.launcher, draft)
    _put_options(launch, draft)
    _put_image(launch, files, draft)
    inner = _put_binding(launch, files, per_node, draft, options)
    inside = _put_rank_script(launch, files, draft)
    swept = sweeps.of(reading, run)
    repeated = _trials(launch, swept, draft)
    in_it = alone.is_one(run, launch.by) and bool(alone.of_container(reading))
    ranks = _receivers(launch, repeated, swept, inside, draft, container=image and not in_it)
    later = exported.put(reading, run.command, ranks, draft)
    _inherit_for_container(reading, run, ranks, draft)
    if launch.by is None and not alone.is_one(run, launch.by):
        gpu_binding.say_visible((*of_batch(reading), *run.asked), draft)
    later += _put_starters(launch, repeated, {name for name, _ in later}, draft)
    words = run_command.words_of(reading, run, inner, launch.launcher, draft)
    if launch.by is not None:
        later += numbers.exports(words, numbers.scripts_of(reading), launch.lines, draft)
    kept_back = ranks.export.written if launch.by is None and not ranks.export.hands_on else ""
    before = surroundings.put(reading, run.command, draft, image=image, inside=in_it, kept_back=kept_back)
    if not (image or before):  # which is a login shell, and hands its functions on
        scripts = rank_script.texts(run, files.get("rank script", ()), reading.commands)
        words = login.with_login(words, scripts, run.command.place, draft)
    given = run_command.input_of(run, launch.launcher or launch.by, image=image)
    again = set_again.exports(reading, run.command, before, draft)
    around = run_command.Around([*later, *again], before, given or inputs.Given(), repeated.stand_ins)
    run_command.put(reading, run, words, around, draft, image=image)
    of_ranks = rank_script.texts(run, _scripts(launch, files), reading.commands)
    numbers_in_texts.say_of_scripts(reading, of_ranks, draft)
    by_rank_scripts.note(of_ranks, draft)
    handed = {*dict(later), *dict(run.command.environment), *dict(run.command.prefix)}
    read_by_programs.put(reading, words, handed, draft, by_srun=launch.by is None)
    if launch.by is None and not image and not alone.is_one(run, launch.by):
        found_there.say(reading, run, draft)
    sweeps.put(swept, run, draft)
    trials.ask_rounds(reading, run.command, draft, repeated.seed, swept)
    perhaps.ask(reading, run, draft)
    trials.say_values(reading, run.command, draft, swept)
    pyxis_variables.say(run.asked, draft)
    binding.say_default(run.command, draft, may_start=alone.may_start_ranks(run))
    rank_script.settle(draft)
    threads.put(launch.launcher, (run.command.place,), draft)
    size_variables.ask_of_batch(reading, run, launch.steps, launch.found, draft)
    beyond.put(reading, run, draft, reads=given is not None)
    sourced.say_by_ranks(reading, run.command, draft)
    names = tuple(dict.fromkeys(name for name, _ in later))
    on_each = of_the_node.is_on_each(reading, run.command)
    around_it = one_step.Run(run.command, run.ranks.per_node, repeated, image, names, on_each)
    steps.put(reading, around_it, launch.steps, draft)


def _receivers(
    launch: Launch,
    repeated: trials.Trials,
    swept: Sequence[Loop],
    inside: Collection[str],
    draft: Draft,
    *,
    container: bool,
) -> exported.Ranks:
    """What decides which variables the ranks are handed. `inside` are those that their scripts read."""
    run = launch.run
    return exported.Ranks(
        run_command.export_of(launch.reading, run),
        options=[each.written for each in run.asked if each.how == "variable"],
        slurm=launch.found.numbers,
        read_inside=inside,
        trial=repeated.seed,
        swept=[each.variable for each in swept],
        stand_ins=repeated.stand_ins,
        starters=[layer.program for layer in run.inner],
        gpus=draft.number("gpus_per_node"),
        container=container,
    )


def _put_binding(
    launch: Launch,
    files: Mapping[str, Sequence[Source]],
    per_node: int | None,
    draft: Draft,
    options: Options,
) -> Sequence[Layer]:
    """What binds the ranks, by srun's options and by what it starts. Returns what of that stays in front of
    the command."""
    reading, run = launch.reading, launch.run
    by_srun = launch.by is None or launch.by.program != "mpirun"  # which binds ranks itself
    of_variables = _of_variables(reading) if by_srun else ()
    binding.of_srun((*of_variables, *run.asked), per_node, draft, options)
    tables, lines = files.get("binding", ()), run_command.lines_of(reading, run)
    inner = binding.of_layers(run.inner, binding.Ranks(lines, per_node, tables), draft, options)
    if run.in_enroot is not None:
        enroot.say(run.in_enroot, inner, run.command, draft, working_folder.begin(reading))
    return inner


def _put_rank_script(launch: Launch, files: Mapping[str, Sequence[Source]], draft: Draft) -> Collection[str]:
    """What the scripts that the ranks execute start and bind. Returns the variables that they read."""
    reading, run, scripts = launch.reading, launch.run, _scripts(launch, files)
    inner_launchers.say(reading, run, launch.found, scripts, draft)
    return rank_script.put(run, scripts, draft, reading.commands, files.get("binding", ()))


def _scripts(launch: Launch, files: Mapping[str, Sequence[Source]]) -> list[Source]:
    """What the ranks may execute: the scripts that are known for theirs, then all but the launcher."""
    its_own = files.get("rank script", ())
    known = {launch.reading.script, *(each.name for each in its_own)}
    return [*its_own, *(each for each in launch.reading.sources if each.name not in known)]


def _inherit_for_container(reading: ShellReading, run: Step, ranks: exported.Ranks, draft: Draft) -> None:
    """Variables that go before those of the image, and that no line gives a value: the submitter's shell had
    them."""
    there = reached.given(run.command, ranks.export).keys() | {ranks.trial, *ranks.swept}
    for each in run.asked:
        for name in (each.text or "").split(",") if each.name == "container-env" else ():
            if name.isidentifier() and name not in there and not (owner(name) or reading.given(name)):
                reached.inherit((name,), each.places, draft, f"{each.written}: {name}")


def _put_options(launch: Launch, draft: Draft) -> None:
    reading, asked = launch.reading, launch.run.asked
    is_alone = outside_allocation(reading) is launch.run.command
    for each in asked:
        if not (is_alone and each.name in OF_ALLOCATION):
            _option(each, launch, draft)
    gpu_binding.put(asked, of_batch(reading) if launch.by is None else (), draft)


def _put_image(launch: Launch, files: Mapping[str, Sequence[Source]], draft: Draft) -> None:
    """The image and its container."""
    reading, run = launch.reading, launch.run
    if not alone.is_one(run, launch.by):
        _mounts_of_batch(reading, run, draft)
    if not launch.image:
        _image_of_batch(reading, draft)
        in_texts.say(reading, run, files.get("rank script", ()), draft)
        # What reads that file is a Pyxis, with its other options beside it (github.com/eth-cscs/pyxis).
        if any(each.name == batch_options.ENVIRONMENT for each in (*run.asked, *of_batch(reading))):
            _put_options_of(reading, run, files.get("mounts", ()), draft)
        elif run.in_enroot is None and not alone.is_one(run, launch.by):
            _say_ignored(run, draft)
        return
    images.put_image(reading, run, launch.steps, reading.commands, draft)
    its = joined.by(reading, run, launch.steps)
    _put_options_of(reading, run, files.get("mounts", ()), draft, its)


def _say_ignored(run: Step, draft: Draft) -> None:
    """Options of Pyxis on a srun that is in no container (pyxis_args_enabled in its args.c)."""
    its = [each for each in run.asked if each.name.startswith(("container-", "no-container-"))]
    if any(each.name in ("container-image", "container-name") for each in its):
        return
    for each in its:
        why = "Pyxis ignores it on a srun without --container-image and --container-name"
        todo = "where the ranks are to be in an image write `image`, and what this says of its container"
        draft.say("left", each.places, each.written, why=why, todo=todo)


def put_container(reading: ShellReading, step: Step, draft: Draft) -> None:
    """The image, the mounts and the container of a step that is not known for the run."""
    images.put_image(reading, step, (step,), reading.commands, draft)
    _put_options_of(reading, step, (), draft)


def _put_options_of(
    reading: ShellReading, run: Step, lists: Sequence[Source], draft: Draft, keeper: Step | None = None
) -> None:
    """`keeper`: the step that keeps the container running which the run joins."""
    of_run = run.option("container-image")
    if of_run is not None and alone.cut_short(reading, of_run):
        question = f"the image: sbatch takes # for a comment, and so it was given {of_run.written} alone"
        draft.ask(("image",), question, of_run.places, of_run.written, todo="write it with / for the #")
    asked = [each for each in run.asked if each.name == "container-mounts"]
    if keeper is None:
        container_options.put(run, draft)
        mounts.put(reading, run.command, asked, lists, draft)
        return
    container_options.put(structs.replace(run, asked=(*joined.switches(run, keeper), *run.asked)), draft)
    joined.say_ignored(asked, keeper, draft)
    its = [each for each in keeper.asked if each.name == "container-mounts"]
    mounts.put(reading, keeper.command, its, lists, draft)


def _trials(launch: Launch, swept: Sequence[Loop], draft: Draft) -> trials.Trials:
    """How often the run is started, with what ranks have for what the script's own shell computes."""
    reading, run = launch.reading, launch.run
    repeated = trials.Run(run.command, run.words, swept, sweeps.variables(swept, run))
    found = trials.find(reading, repeated, draft)
    stand_ins = {
        **_doubtful(reading, image=launch.image),
        **dict.fromkeys(draft.to_fill_in, ""),
        **rendezvous.first_node(reading, run.words, launch.lines, draft),
        **({} if launch.image else _own_folder(run.command.folder)),
        **found.stand_ins,
    }
    return structs.replace(found, stand_ins=stand_ins)


def _put_starters(
    launch: Launch, repeated: trials.Trials, exports: Collection[str], draft: Draft
) -> list[tuple[str, Value]]:
    """What starts the ranks, and finds them: MPI, and a launcher for each GPU. Returns what mpirun hands on
    that the command has to set, beside what it `exports` already."""
    reading, command, by = launch.reading, launch.run.command, launch.by
    if launch.launcher is not None:
        launchers.put_launcher(reading, command, launch.launcher, draft)
    by_numactl = any(layer.program == "numactl" for layer in launch.run.inner)
    by_ranks.of_program(launch.run.words, launch.lines, draft, by_numactl=by_numactl)
    if by is None:
        run_mpi.put(reading, launch.run, launch.launcher, draft)
        if ("bind", "cpus") not in draft.facts:
            handed_over = {**dict(command.environment), **dict(command.prefix)}
            by_ranks.of_library(handed_over, launch.lines, draft, by_mpirun=False)
        return []
    parameter_files.put(reading, draft)
    library = mpi_library.of(reading, command, by)
    mpi.put_kind(command, by, library, draft)
    mpi.put_options(reading, command, by, draft)
    named_hosts.say(reading, command, by, draft)
    placement.say(reading, command, by, launch.found, draft)
    reach.say(by, launch.lines, library, draft, under_slurm=bool(reading.directives))
    handed = [
        each
        for each in handed_on.given(reading, command, by.all("x"), f"{by.called} -x")
        if each.value is not None or each.name not in exports
    ]
    receivers = handed_on.Receivers(
        seed=repeated.seed, slurm=launch.found.numbers, stand_ins=repeated.stand_ins
    )
    return handed_on.put(reading, handed, draft, receivers)


def _option(each: Asked, launch: Launch, draft: Draft) -> None:
    if each.name != "chdir" or launch.image or each.how == "directive":
        step_options.put(each, draft)
        return
    here = path(launch.run.command.folder) if launch.run.command.folder else "."
    if each.text and (here is not None or each.text.startswith("/")):
        folder = normpath(join(here or "", each.text))
        draft.put(("workdir",), folder if folder[0] in "/." else f"./{folder}", each.places, each.written)
    else:
        draft.ask(
            ("workdir",), f"the folder in which the ranks start: {each.written}", each.places, each.written
        )


def _of_variables(reading: ShellReading) -> Iterator[Asked]:
    """Binding that srun takes of the environment where no option says it (srun(1), "INPUT ENVIRONMENT")."""
    for name, option in (("SLURM_CPU_BIND", "cpu-bind"), ("SLURM_MEM_BIND", "mem-bind")):
        each = reading.last(name)
        if each is not None and each.exported:
            yield Asked(option, each.value, name, (each.place,), "variable")


def _mounts_of_batch(reading: ShellReading, run: Step, draft: Draft) -> None:
    """Mounts and a folder of the script's own container, which no line gives to srun."""
    given = {each.name for each in run.asked}
    for each in of_batch(reading):
        said = f"the script's container had {shown(each.value or ())}, and no line says so of srun"
        if each.name in given:
            continue
        if each.name == "container-mounts":
            key = ("mounts", draft.count("mounts"))
            draft.ask(key, f"SRC:DST: {said}", each.places, each.written)
        elif each.name == "container-workdir":
            draft.say(
                "left", each.places, each.written, why=said, todo="where ranks start there write workdir"
            )


def _image_of_batch(reading: ShellReading, draft: Draft) -> None:
    """An image that sbatch was given, and srun was not."""
    for each in of_batch(reading):
        if each.name == "container-image":
            question = f"the image: the script was in {shown(each.value or ())}, and no line says so of srun"
            draft.ask(("image",), question, each.places, each.written)


def _own_folder(gone_to: Value) -> dict[str, str]:
    """What ranks have for the folder of submission: srun starts them in the one where it is called, to which
    the script may have gone. In one below that of submission they find it by their own."""
    below = known(gone_to[1:]) if gone_to and is_here(gone_to[0]) else None
    if not gone_to:
        return dict.fromkeys(_OWN_FOLDER, "PWD")
    is_told = below is not None and _PLAIN.fullmatch(below) and ".." not in below
    return dict.fromkeys(_OWN_FOLDER, f"{{PWD%{below}}}" if is_told else "")


def _doubtful(reading: ShellReading, *, image: bool) -> dict[str, str]:
    """What no text of a command can name: variables of which the script makes one thing or another, and in
    an image the folder where the job was submitted."""
    words = [word for command in reading.commands for word in command.words]
    here = [part.name for word in words for part in word if isinstance(part, Unknown) and is_here(part)]
    return dict.fromkeys([*in_doubt(reading, words), *(here if image else ())], "")
