"""The srun that is the job's own command -> sizes, MPI, container, binding, environment and command."""

import re
from collections.abc import Iterator, Sequence

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import beyond, steps, surroundings, sweeps, trials
from hpclaunch.convert.mapping.around.rounds import names_in
from hpclaunch.convert.mapping.bind import binding, rank_script
from hpclaunch.convert.mapping.container import images, mounts
from hpclaunch.convert.mapping.container import options as container_options
from hpclaunch.convert.mapping.environment import exported, handed_on
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.ranks import launchers, mpi, parameter_files, rendezvous
from hpclaunch.convert.mapping.slurm import alone, export, perhaps, pyxis_variables, run_sizes, step_options
from hpclaunch.convert.mapping.slurm.asked import OF_ALLOCATION, Asked, of_batch, outside_allocation
from hpclaunch.convert.mapping.slurm.settled import by_role
from hpclaunch.convert.mapping.slurm.sizes import Allocation
from hpclaunch.convert.mapping.slurm.sruns import Step
from hpclaunch.convert.mapping.words import inputs
from hpclaunch.convert.mapping.words.made import alternatives, in_doubt
from hpclaunch.convert.mapping.words.texts import is_here, line, submitters
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import torch
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.shell.walk import inner as inside_of
from hpclaunch.convert.shell.walk import wanted_inside
from hpclaunch.readback.shell.values import Unknown, Value, base_name, known, shown
from hpclaunch.values.conversion import Place

_NO_WHERE = "no line says it, and so it was the site's own default (MpiDefault in its slurm.conf)"


# srun starts ranks in the folder where it is called itself.
_OWN_FOLDER = {"$(pwd)": "PWD", "PWD": "PWD"}


_FUNCTION = re.compile(r"([\w.:-]+)\(\)$")
_KINDS = {"none": "none", "pmix": "pmix", "pmi2": "pmi2"}


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
    image = images.image_of(run, all_steps) is not None or run.in_container
    lines = (run.command.place,)
    launcher = next((layer for layer in run.inner if launchers.is_launcher(layer)), None)
    per_node = run_sizes.put(reading, run, found, launcher, draft)
    run_sizes.put_gpus(reading, run, found, draft)
    is_alone = outside_allocation(reading) is run.command
    for each in run.asked:
        if not (is_alone and each.name in OF_ALLOCATION):
            _option(each, image, draft, options)
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
    inner = binding.of_layers(run.inner, _lines_of_words(reading, run), per_node, tables, draft, options)
    inside = rank_script.put(run, files.get("rank script", ()), draft, reading.commands)
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
    later = exported.put(
        reading,
        run.command,
        draft,
        export=export.of(run.command, run.option("export"), of_batch(reading)),
        read_inside=inside,
        set_by_trials=[found_trials.seed] if found_trials.seed else [],
        set_by_sweep=[each.variable for each in swept],
        options=[each.written for each in run.asked if each.how == "variable"],
        gpus=_known_number(draft, "gpus_per_node"),
        container=image,
        stand_ins=found_trials.stand_ins,
        slurm=found.numbers,
    )
    if launcher is not None:
        launchers.put_launcher(reading, run.command, launcher, draft)
    if by is not None:
        parameter_files.put(reading, draft)
        mpi.put_kind(reading, run.command, by, draft)
        mpi.put_options(reading, run.command, by, draft)
        handed = handed_on.given(reading, run.command, by.all("x"), f"{by.program} -x")
        seed = found_trials.seed
        later += handed_on.put(reading, handed, draft, per_node=False, seed=seed, slurm=found.numbers)
    else:
        _mpi(reading, run, launcher, draft)
    words = _without_arguments(reading, _words(run, inner, launcher), lines, draft)
    before = surroundings.put(reading, run.command, draft, image=image)
    given = _input(run, launcher or by, image=image)
    reads = given or inputs.Given()
    stand_ins = {**_addresses(run), **found_trials.stand_ins}
    written = line(words, stand_ins, later, reads.after, before, reads.before)
    if written.doubt or not words or run.option("multi-prog"):
        why = "several programs, which a file names" if run.option("multi-prog") else "nothing"
        why = _doubt(reading, words, written.doubt) if written.doubt else why
        question = f"what each rank executes: {why}"
        draft.ask(("command",), question, lines, run.text)
    else:
        what = " ".join(map(shown, words)) or run.text
        draft.put(("command",), written.plain, reading.origin(run.command, run.text) or lines, what)
        names = [name for name in submitters(written.names) if name not in rendezvous.COMPUTED]
        own = {name for name, value in later if name not in names_in(value)}
        own |= set(found_trials.stand_ins.values())
        exported.inherit(
            [name for name in names if name not in own and (image or name != "PWD")], lines, draft, what
        )
        _of_the_text(reading, run, words, draft, image=image)
    sweeps.put(swept, run, draft)
    trials.ask_rounds(reading, run.command, draft, found_trials.seed, swept)
    perhaps.ask(reading, run, draft)
    pyxis_variables.say(run.asked, draft)
    beyond.put(reading, run, draft, reads=given is not None)
    steps.put(reading, run.command, all_steps, run.ranks.per_node, found_trials, draft, image=image)


def _of_the_text(
    reading: ShellReading, run: Step, words: Sequence[Value], draft: Draft, *, image: bool
) -> None:
    """The variables that a text for the ranks' own shell (bash -c '... $DATA') takes from who submits, where
    all that is exported reaches the ranks."""
    own = {found[1] for each in reading.statements if (found := _FUNCTION.match(each.written))}
    called = next((each.program for each in inside_of(run.command, words) if each.program in own), "")
    if called:
        question = f"what each rank executes: {called} is a function of the script, which a job has not"
        draft.unsay(("command",))
        todo = "write what it does in a script of its own, and let the command start that"
        draft.ask(("command",), question, (run.command.place,), run.text, todo=todo)
    if not export.of(run.command, run.option("export"), of_batch(reading)).everything:
        return
    names = [
        name
        for name in wanted_inside(run.command, words)
        if name not in rendezvous.COMPUTED
        and owner(name) not in ("gpus", "shell", "srun")
        and not name.startswith("HPCLAUNCH_")
        and ((each := reading.last(name)) is None or each.exported)
    ]
    lines = (run.command.place,)
    if not image:
        exported.inherit(names, lines, draft, run.text)
        return
    for name in names:
        why = "the image may have it, or the shell of who submitted, which the ranks no longer get"
        todo = f"where the submitter's shell had it add it to `inherit`: [{name}]"
        draft.say("question", lines, f"${name} in the ranks' own shell", why=why, todo=todo)


def _input(run: Step, other: Layer | None, *, image: bool) -> inputs.Given | None:
    """What each rank reads, as srun gives it to all of them (srun(1), --input); None where the command cannot
    have it. `other` is what else starts the ranks."""
    if other is not None or run.option("input") is not None or beyond.script_of(run.command.stdin, run.words):
        return None
    found = inputs.given(run.command, run.words, inside=image)
    return None if found.doubt else found


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


def _lines_of_words(reading: ShellReading, run: Step) -> tuple[Place, ...]:
    """The lines behind the command's words."""
    return reading.origin(run.command, run.text) or (run.command.place,)


def _mpi(reading: ShellReading, run: Step, launcher: Layer | None, draft: Draft) -> None:
    each = run.option("mpi")
    of_environment = reading.last("SLURM_MPI_TYPE")
    if each is not None:
        text, places, what = each.text, each.places, each.written
    elif of_environment is not None:
        text, places, what = known(of_environment.value), (of_environment.place,), "SLURM_MPI_TYPE"
    else:
        _no_mpi(run, launcher, draft)
        return
    kind = _KINDS.get(re.sub(r"^(pmix)_v\d+$", r"\1", text or ""))
    if kind is None:
        draft.ask(("mpi",), f"pmix, pmi2 or none: {what} is none of them", places, what)
        return
    why = "the site's file says which plugin of Slurm that is" if text != kind else ""
    draft.put(("mpi",), kind, places, what, why=why)


def _no_mpi(run: Step, launcher: Layer | None, draft: Draft) -> None:
    lines = (run.command.place,)
    torch_alone = launcher is not None or ("rendezvous",) in draft.facts
    single = run.ranks.nodes == 1 and run.ranks.per_node == 1
    if torch_alone or single:
        why = "one rank needs no MPI" if single else "the ranks find each other by MASTER_ADDR and RANK"
        draft.say("assumed", lines, "srun without --mpi", became="mpi: none, which is the default", why=why)
        return
    question = f"pmix, pmi2 or none: {_NO_WHERE}; none for ranks that do not use MPI"
    draft.ask(("mpi",), question, lines, "srun without --mpi")


def _words(run: Step, inner: Sequence[Layer], launcher: Layer | None) -> list[Value]:
    """The command of a rank: what is left of what stands before it, and its own words."""
    words = beyond.script_of(run.command.stdin, run.words) or list(run.words)
    if launcher is not None:
        words = rendezvous.own_addresses(words)
        if torch.passes_local_rank(launcher):
            index = next((i for i, word in enumerate(words) if i and not shown(word).startswith("-")), 0)
            words[index + 1 : index + 1] = [rendezvous.local_rank()]
    front: list[Value] = []
    for layer in inner[:-1]:
        if not launchers.is_launcher(layer):
            front += _written(run, layer)
    return [*front, *words]


def _without_arguments(
    reading: ShellReading, words: list[Value], lines: Sequence[Place], draft: Draft
) -> list[Value]:
    """The words without "$@", where the script does without arguments: nobody gave it any."""
    kept = [word for word in words if not _is_all_arguments(word)]
    every = [value for each in reading.commands for value in each.words]
    every += [each.value for each in reading.assigned]
    numbered = any(
        isinstance(part, Unknown) and part.kind == "argument" and part.name.isdigit() and part.name != "0"
        for value in every
        for part in value
    )
    if kept == words or _is_all_arguments(words[0]) or numbered:
        return words
    why = "the arguments of the script: nobody gave it any"
    todo = "where sbatch was given more than the script's name add it to the command"
    draft.say("assumed", lines, '"$@"', became="nothing", why=why, todo=todo)
    return kept


def _is_all_arguments(word: Value) -> bool:
    part = word[0] if len(word) == 1 else ""
    return isinstance(part, Unknown) and part.kind == "argument" and part.name in ("@", "*")


def _written(run: Step, layer: Layer) -> list[Value]:
    """The words of a layer as they stand in the command."""
    all_words = run.command.words
    start = next((i for i, word in enumerate(all_words) if _names(word, layer)), None)
    if start is None:
        return []
    count = (
        1 + sum(len(each.written.split()) if each.written else 1 for each in layer.options) + len(layer.words)
    )
    return list(all_words[start : start + count])


def _names(word: Value, layer: Layer) -> bool:
    return base_name(word) == layer.program


def _doubtful(reading: ShellReading, *, image: bool) -> dict[str, str]:
    """What no text of a command can name: variables of which the script makes one thing or another, and in
    an image the folder where the job was submitted."""
    words = [word for command in reading.commands for word in command.words]
    here = [part.name for word in words for part in word if isinstance(part, Unknown) and is_here(part)]
    return dict.fromkeys([*in_doubt(reading, words), *(here if image else ())], "")


def _doubt(reading: ShellReading, words: Sequence[Value], doubt: str) -> str:
    """Why the command is not told."""
    names = [name for name in in_doubt(reading, words) if doubt == f"${{{name}}}"]
    said = alternatives(reading, names[0]) if names else f"{doubt} is known only where the script runs"
    return f"{' '.join(map(shown, words))}, and {said}"


def _addresses(run: Step) -> dict[str, str]:
    """What the script found out of the first node, by the names under which hpclaunch sets it."""
    return {
        value[0].name: name
        for name, value in run.command.environment
        if name in rendezvous.COMPUTED and len(value) == 1 and isinstance(value[0], Unknown)
    }


def _known_number(draft: Draft, key: str) -> int | None:
    fact = draft.facts.get((key,))
    return fact.value if fact is not None and isinstance(fact.value, int) else None
