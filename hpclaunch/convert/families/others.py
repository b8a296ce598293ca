"""Launchers of other kinds: known, refused as a whole with the reason, and what could be told of them."""

import itertools
from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.draft import WRITE_ONE, Draft
from hpclaunch.convert.families import docker_ssh, other_containers, refusals, singularity, submitting
from hpclaunch.convert.mapping.around import beyond, logs, rounds, surroundings
from hpclaunch.convert.mapping.bind import binding
from hpclaunch.convert.mapping.container import other_runtimes
from hpclaunch.convert.mapping.docker import caller, config_env, container, env_files, launch
from hpclaunch.convert.mapping.docker.steps import Started, copies_of, started
from hpclaunch.convert.mapping.environment import handed_on, of_exports, of_no_run, reached, set_again
from hpclaunch.convert.mapping.environment.exported import Ranks
from hpclaunch.convert.mapping.environment.exported import put as put_exported
from hpclaunch.convert.mapping.environment.in_order import Prepared, in_order
from hpclaunch.convert.mapping.ranks import by_jsrun, launchers, mpi, mpi_library, of_request
from hpclaunch.convert.mapping.schedulers import other_schedulers, own_program, pbs
from hpclaunch.convert.mapping.slurm.batch import allocation
from hpclaunch.convert.mapping.slurm.batch.asked import of_options
from hpclaunch.convert.mapping.slurm.batch.export import Export
from hpclaunch.convert.mapping.slurm.batch.of_slurm import is_of_slurm
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import ranks
from hpclaunch.convert.mapping.slurm.scripts.submitted import unwrapped
from hpclaunch.convert.mapping.slurm.srun import run_command
from hpclaunch.convert.mapping.slurm.starts import alone, in_text, reach
from hpclaunch.convert.mapping.words.made import in_doubt
from hpclaunch.convert.mapping.words.texts import line, submitters
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import jsrun
from hpclaunch.convert.programs.beside import PREPARES
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.layers import MPI, Layer, layers
from hpclaunch.convert.programs.singularity import in_image, with_variables
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, program_of, shown
from hpclaunch.values.conversion import Finding, Place

# Elsewhere each is most likely another program of that name.
_OWN = {"LOADLEVELER": ("poe", "runjob"), "COBALT": ("runjob",), "BSUB": ("lrun",)}
_BY_PJM = (
    "whether the mpiexec of PJM's jobs handed it on to other hosts, where -x does not name it, is not told"
)
_MOST_NAMED = 20  # variables
_MOST_FIRST = 3  # commands
_ANOTHER = "make a job file of it too, where it is to run"


def recognise(reading: ShellReading) -> Place | None:
    """The line that makes it one of these, None for none. A script that is submitted in another one is looked
    at as if it had been given."""
    refusal = refusals.of(unwrapped(reading))
    return refusal.place if refusal is not None else None


def convert(reading: ShellReading, draft: Draft, options: Options) -> None:
    """Refuse it, and tell what could be told."""
    whole, reading = reading, unwrapped(reading)
    refusal = refusals.of(reading)
    assert refusal is not None
    # A script for Moab or LSF may start its ranks by the srun of a Slurm below it: sbatch reads none of it.
    asks_others = refusal.is_scheduler and any(map(other_schedulers.system, reading.directives))
    of_slurm = is_of_slurm(reading) and not asks_others
    inside = unwrapped(reading)
    steps = of_slurm and other_containers.are_steps(inside)
    found = allocation.put(reading, draft) if of_slurm and not steps else Allocation()
    if steps:
        other_containers.put(whole, draft, options)  # which opens what is submitted by itself
    # What allocation has told is not said again.
    others = [each for each in reading.directives if not (of_slurm and each.system == "SBATCH")]
    apart = frozenset() if of_slurm else submitting.say_other_jobs(whole, _file_of_run(reading), draft)
    others = [each for each in others if each.place.file not in apart]
    other_schedulers.put(others, draft)
    if not of_slurm:
        submitting.put(whole, reading, others, draft, apart)
        reading = submitting.without_variables_of(apart, reading, draft) if apart else reading
    asked = set(draft.facts)
    if not steps:
        _facts(reading, found, draft, options)
    beyond.defaults(reading, draft)
    # Nobody answers questions about a job that is not written; what is not told is said all the same.
    draft.findings[:] = [no_question(each) for each in draft.findings]
    if not of_slurm and refusal.is_scheduler and ("command",) not in draft.facts:
        if _say_sruns(reading, draft) or not own_program.put(reading, draft):
            if not any(start.has_ranks for start in _starts(reading)):
                of_request.not_started(draft)
            if others and not any(key[0] == "env" for key in draft.facts.keys() - asked):
                of_exports.inherit(reading, of_no_run.put(reading, found, draft), draft)
        draft.findings[:] = [no_question(each) for each in draft.findings]
    pbs.put_threads(others, reading.commands, draft)
    if refusal.is_scheduler:
        other_schedulers.say_set_by(refusal.name.removeprefix("a script for "), draft)
    singularity.say_images(inside, draft)
    singularity.say_runscript(inside, draft)
    draft.refuse(refusal.reason, [refusal.place], refusal.name, todo=WRITE_ONE)


def _file_of_run(reading: ShellReading) -> str:
    """Where the run stands that is told, "" where none is found."""
    run = _run_of(_starts(reading))
    if run is not None:
        return run.command.place.file
    step = alone.step(reading, Allocation())
    return step.command.place.file if step is not None else ""


def _run_of(starts: Sequence["_Start"]) -> "_Start | None":
    return next((each for each in reversed(starts) if each.has_ranks), starts[-1] if starts else None)


def no_question(finding: Finding) -> Finding:
    """What is asked, as something that is left: nobody answers it."""
    if finding.kind != "question":
        return finding
    return structs.replace(finding, kind="left", key="", todo="write it in a job file")


def _facts(reading: ShellReading, found: Allocation, draft: Draft, options: Options) -> None:
    reading = config_env.told(reading)
    steps = started(reading)
    main = docker_ssh.main_of(steps)
    if main is not None and main.container is not None and not main.words:
        home = container.put_image(reading, steps, draft)
        _handed_in(reading, home, draft)
        _say_other_containers(reading, steps, main, home, draft)
        return
    if main is not None and main.container is not None:
        home = container.container_of(steps, main)
        launch.put(launch.Launch(reading, steps, main, home), Allocation(), draft, options)
        _say_other_containers(reading, steps, main, home, draft)
        return
    starts = _starts(reading)
    run = _run_of(starts)
    for start in starts:
        if start is not run and run is not None and (start.has_ranks or _is_container(start)):
            where = _line_of(run.command)
            why = (
                f"a launch of its own: what is told of ranks, their command and variables is told of {where}"
            )
            draft.say("left", reading.origin(start.command), _text(start), why=why, todo=_ANOTHER)
    if run is not None:
        _put(reading, run, found, draft, options)
        rounds.say_rounds(run.command, draft)
    _say_logs(reading, [each.command for each in starts], draft)


def _say_sruns(reading: ShellReading, draft: Draft) -> bool:
    """Say of the steps of a Slurm below the script's scheduler that they start its ranks. Returns whether
    there are any."""
    its = [each for each in reading.of("srun") if program_of(layers(each.words)[-1].words) not in PREPARES]
    for each in {each.written: each for each in its}.values():
        of_request.by_srun(draft, (each.place,), each.written)
    return bool(its)


def _handed_in(reading: ShellReading, home: Started | None, draft: Draft) -> None:
    """The variables of a container whose command is the image's own."""
    layer = home.layer("docker run") if home is not None else None
    if home is None or layer is None:
        return
    its = caller.of(home)
    given = list(env_files.given(reading, its, layer))
    given += handed_on.given(reading, its, layer.all("env"), "docker run -e")
    handed_on.put(reading, given, draft, handed_on.Receivers())


def _say_logs(reading: ShellReading, runs: Sequence[Command], draft: Draft) -> None:
    """Say that `... | tee FILE` behind a launch is not needed."""
    kept = [shown(each.path) for run in runs for each in run.writes if each.tee]
    for command in reading.commands if kept else ():
        if logs.is_tee(command) and any(shown(word) in kept for word in command.words[1:]):
            draft.say("replaced", (command.place,), command.brief(), why=logs.OF_RECORD)


class _Start(Struct, frozen=True):
    """A command that starts containers or ranks: its layers, and those of them that do."""

    command: Command
    its: tuple[Layer, ...]
    container: Layer | None
    mpirun: Layer | None
    by_jsrun: Layer | None

    @property
    def has_ranks(self) -> bool:
        """Whether it starts the ranks of a job, and not what only looks at nodes or moves files."""
        words = self.its[-1].words
        starts = self.mpirun is not None or self.by_jsrun is not None
        return starts and bool(words) and program_of(words) not in PREPARES


def _starts(reading: ShellReading) -> list[_Start]:
    own = {name for each in reading.directives for name in _OWN.get(each.system, ())}
    return [each for command in reading.commands if (each := _start(command, own)) is not None]


def _start(command: Command, own: Collection[str]) -> _Start | None:
    """`own` are names that stand for what starts ranks in a script for its scheduler alone."""
    its = layers(command.words)
    if program_of(command.words) in own:
        first, inner = jsrun.read(command.words)
        its = (first, *layers(tuple(inner)))
    container = in_image(its)
    if container is not None:
        container = with_variables(container, (*command.environment, *command.prefix))
    mpirun = next((each for each in its if each.program in MPI), None)
    by = next((each for each in its if by_jsrun.is_run(each, its[-1])), None)
    found = container is not None or mpirun is not None or by is not None
    return _Start(command, its, container, mpirun, by) if found else None


def _say_other_containers(
    reading: ShellReading, steps: Sequence[Started], main: Started, home: Started | None, draft: Draft
) -> None:
    """The containers beside that of which the facts are told. Those of one text, and the same on other hosts,
    are one launch."""
    its = {id(each) for each in (*copies_of(main, steps), *([home] if home is not None else []))}
    groups = {each.group for each in (main, home) if each is not None}
    for step in steps:
        if id(step) in its or step.group in groups or step.roles != {"run"}:
            continue
        layer = step.layer("docker run")
        if layer is not None and step.layer("docker exec") is None:
            told = "image, mounts, GPUs and variables"
            why = f"a container of its own: {told} are told of {_line_of((home or main).command)}"
            what = " ".join((*map(shown, layer.words[:1]), step.text)).strip()
            draft.say("left", reading.origin(step.command), what, why=why, todo=_ANOTHER)


def _is_container(start: _Start) -> bool:
    """Whether it starts a program in a container, and not what only looks at nodes or moves files."""
    return start.container is not None and program_of(start.its[-1].words) not in PREPARES


def _line_of(command: Command) -> str:
    return f"line {command.place.line} of {command.place.file.rpartition('/')[2]}"


def _text(start: _Start) -> str:
    return " ".join(map(shown, start.its[-1].words))


def _put(reading: ShellReading, run: _Start, found: Allocation, draft: Draft, options: Options) -> None:
    if run.container is not None:
        singularity.put(reading, run.command, run.container, draft)
    later = _exported(reading, run, draft)
    before: Sequence[Prepared] = ()
    if run.container is None:
        before = surroundings.put(reading, run.command, draft, image=False)
    of_exports.inherit(reading, later, draft, run.command.place, _first(before))
    if run.container is None:
        later += set_again.exports(reading, run.command, before, draft)
    if run.mpirun is not None:
        _ranks(reading, run.command, run.mpirun, found, draft)
    elif run.container is not None:
        _ranks_of_step(reading, run.command, run.its, found, draft)
        inner, _, front = in_text.unfolded(reading, run.command, run.its, in_container=True)
        run = structs.replace(run, its=inner) if front is None else run
        launcher = next((each for each in run.its if launchers.is_launcher(each)), None)
        if launcher is not None and not any(each.program == "srun" for each in run.its):
            own_program.put_launcher(reading, run.command, launcher, draft)
    if run.by_jsrun is not None:
        by_jsrun.put(reading, run.command, run.by_jsrun, draft)
    _command(reading, _bound(reading, run, draft, options), before, later, draft)


def _bound(reading: ShellReading, run: _Start, draft: Draft, options: Options) -> _Start:
    """What binds each rank in front of the program. It stays in the command where no key says the same."""
    binders = [each for each in run.its if each.program in BINDERS]
    its = binding.Ranks((run.command.place,), draft.number("ranks_per_node"), reading.sources)
    if not binding.of_layers(binders, its, draft, options):
        return run
    words, own = run.command.words, len(run.its[-1].words)
    fronts = (words[at:] for at in range(len(words) - own) if program_of(words[at:]) == binders[0].program)
    inner = structs.replace(run.its[-1], words=next(fronts, run.its[-1].words))
    return structs.replace(run, its=(*run.its[:-1], inner))


def _ranks(reading: ShellReading, command: Command, mpirun: Layer, found: Allocation, draft: Draft) -> None:
    its_own = {**found.numbers, **of_request.variables(draft)}
    size = mpi.ranks_of(reading, command, mpirun, draft.number("nodes"), its_own)
    of_request.put(reading, size, mpirun, draft)
    mpi.put_options(reading, command, mpirun, draft)
    of_request.unsay_replaced(draft)
    mpi.put_kind(command, mpirun, mpi_library.of(reading, command, mpirun), draft)
    given = handed_on.given(reading, command, mpirun.all("x"), f"{mpirun.called} -x")
    handed_on.put(reading, given, draft, handed_on.Receivers())


def _exported(reading: ShellReading, run: _Start, draft: Draft) -> list[tuple[str, Value]]:
    """What the script exports, which the ranks get: jsrun, aprun and the mpirun of Intel MPI and MPICH
    (-genvall, their default) hand on all of it; Open MPI's does so on its own host, and to others what -x
    names (mpirun(1), "Exported Environment Variables"). Returns what only the command can set."""
    starter = run.mpirun or run.by_jsrun
    its = Export()
    if run.container is not None:  # Singularity hands on all that it has, unless --cleanenv
        its = other_runtimes.export(run.command, run.container, its)
    if starter is None:
        if run.container is not None:
            ranks = Ranks(its, gpus=draft.number("gpus_per_node"), container=True)
            return put_exported(reading, run.command, ranks, draft)
        return []
    named = {shown(each.value or ()).partition("=")[0] for each in starter.all("x")}
    ranks = Ranks(its, options=named, gpus=draft.number("gpus_per_node"), container=bool(run.container))
    later = put_exported(reading, run.command, ranks, draft)
    in_command = {name for name, _ in its.given}  # in the command itself, on each node
    found = [str(key[1]) for key in draft.facts if key[0] == "env" and len(key) == 2]
    found = [each for each in found if each not in in_command]
    by_name = starter.program == "mpirun" and reach.is_by_name(mpi_library.of(reading, run.command, starter))
    if by_name and found and draft.number("nodes") != 1:
        # Fujitsu's mpiexec is made of Open MPI, and what Open MPI's manual says need not hold for it.
        of_pjm = any(each.system == "PJM" for each in reading.directives)
        why = _BY_PJM if of_pjm else reach.BY_NAME
        todo = "take out of env what they are not to have"
        what = ", ".join(found[:_MOST_NAMED])
        draft.say("assumed", (run.command.place,), what, became="env of all ranks", why=why, todo=todo)
    return later


def _ranks_of_step(
    reading: ShellReading, command: Command, its: Sequence[Layer], found: Allocation, draft: Draft
) -> None:
    """How many of the containers srun starts on each node, where it starts them."""
    step = next((each for each in its if each.program == "srun"), None)
    if step is None:
        return
    size = ranks(reading, of_options(reading, command, step.options), found, command.place)
    if size.per_node is not None:
        draft.put(("ranks_per_node",), size.per_node, size.places, "srun")


def _command(
    reading: ShellReading,
    run: _Start,
    prepared: Sequence[Prepared],
    exports: Sequence[tuple[str, Value]],
    draft: Draft,
) -> None:
    """What each rank executes, behind what the script's shell did before it; asked for where it names what
    the script makes itself."""
    command, words = run.command, run.its[-1].words
    if not words:
        return
    before, later = in_order(reading, command, prepared, exports) if prepared else ([], [])
    made = [*in_doubt(reading, [*words, *itertools.chain(*before)])]
    made += [each.variable for each in command.loops]
    written = line(list(words), dict.fromkeys(made, ""), later, before=before)
    what = " ".join(map(shown, words))
    if written.doubt:
        question = (
            f"what each rank executes: {run_command.why_not_told(reading, command, words, written.doubt)}"
        )
        draft.ask(("command",), question, reading.origin(command), what)
        return
    draft.put(("command",), written.plain, reading.origin(command), what)
    # A shell sets PWD itself, where it starts.
    set_here = {name for name, _ in exports} if prepared else set()
    names = [each for each in submitters(written.names) if run.container is not None or each != "PWD"]
    wanted = [each for each in names if each not in set_here]
    reached.inherit(wanted, (command.place,), draft, what, before=_first(prepared))


def _first(prepared: Sequence[Prepared]) -> str:
    return "; ".join(" ".join(map(shown, each.words)) for each in prepared[:_MOST_FIRST])
