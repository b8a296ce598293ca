"""The flow from files to a job file and what became of each construct."""

import gc
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from msgspec import structs

from hpclaunch.convert import (
    advice,
    arguments,
    as_root,
    cores,
    defects,
    launch_facts,
    other_starts,
    pod_scripts,
    sources,
    to_fill_in,
    unused,
)
from hpclaunch.convert.account import account
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.families import condor, no_launcher, other_shells
from hpclaunch.convert.inputs import Input
from hpclaunch.convert.mapping.container import in_texts
from hpclaunch.convert.mapping.docker import engines, grown
from hpclaunch.convert.mapping.environment import sourced, taken_for_set
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.schedulers import other_schedulers
from hpclaunch.convert.mapping.slurm.batch import allocation
from hpclaunch.convert.mapping.slurm.scripts.submitted import say_others, say_submitter, unwrapped
from hpclaunch.convert.mapping.slurm.starts import ended, in_batch
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.beside import PLUMBING
from hpclaunch.convert.programs.names import (
    BY_MPI,
    CONTAINERS,
    OTHER_SUBMITTERS,
    STEPS,
    SUBMITTERS,
    any_of,
)
from hpclaunch.convert.reading import MOST, OF_SHELL, Command, ShellReading, Source
from hpclaunch.convert.secrets.values import (
    Secrets,
    ask_instead,
    of_commands,
    without_programs,
    without_values,
)
from hpclaunch.convert.writing import write
from hpclaunch.values.conversion import Conversion, Finding, Place
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.words import LONGEST

# The first that knows its line wins: a launcher of a later one may have commands of those after it.
_FAMILIES = (
    ("docker_ssh", "containers of Docker or Podman, on one machine or over SSH"),
    ("pyxis", "steps in Pyxis containers under Slurm"),
    ("others", "a launcher of another kind"),
    ("plain_slurm", "srun, mpirun or torchrun of a script"),
)
_MOST_SECRETS = 500
_MOST_TOLD = 2000  # characters of a construct
_UNKNOWN = "no launcher that is known here"
_MANIFEST = "a manifest of Kubernetes"
# Why a job was not compared with its original.
_ONLY_PYXIS = (
    "a launch is read back where srun starts it in a container of Pyxis; of any other the lines above tell "
    "what became of it"
)
_NO_STEP = "neither srun nor a command of its own in the container of sbatch is the run"
_NO_SITE = "what a job becomes depends on the site: give one that is known with --site"
# A program that submits or starts launches itself.
_LAUNCHES_IN_PROGRAM = re.compile(
    r"#(?:SBATCH|PBS|BSUB)[ \t]|\b(?:system|run|Popen|call|check_call|check_output)\([^\n]{0,200}?"
    rf"\b{any_of(STEPS, SUBMITTERS, OTHER_SUBMITTERS, BY_MPI, CONTAINERS)}\b"
)


def convert(inputs: Sequence[Input], options: Options) -> Conversion:
    """The job file that stands for these files, and what became of all that is in them.

    Raises InputError, with file and line and without the values of secrets, where none of them can be read
    at all.
    """
    try:
        with _many_objects():
            return _convert(inputs, options)
    except InputError as error:
        secrets = Secrets([each.text for each in inputs])
        problems = [structs.replace(each, message=secrets.without(each.message)) for each in error.problems]
        raise InputError(problems) from None


@contextmanager
def _many_objects() -> Iterator[None]:
    """A script of a megabyte becomes millions of objects, none of which is in a cycle: looking for some among
    them again and again took a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _convert(inputs: Sequence[Input], options: Options) -> Conversion:
    draft = Draft(options.site)
    for each in inputs:
        for said in each.mended:
            draft.say("repaired", [Place(each.name)], each.name, why=said)
    own_text = next((each for each in inputs if each.role in ("own script", "own manifest")), None)
    if own_text is not None:
        return _own(own_text, inputs, options, draft)
    inputs = pod_scripts.told(inputs)
    roles = {each.role for each in inputs}
    if "manifest" in roles and roles <= {"manifest", "rank script"}:
        return _manifest(inputs, options, draft)
    if "shell" in roles or "rank script" in roles:
        return _launcher(inputs, options, draft)
    if "manifest" in roles:
        return _manifest(inputs, options, draft)
    raise InputError([Problem(f"{each.name} is {_of_no_launch(each)}") for each in inputs if each.text])


def _of_no_launch(given: Input) -> str:
    """What it is, and why it tells of no launch."""
    what = unused.ROLES[given.role][0]
    if given.role == "program" and _LAUNCHES_IN_PROGRAM.search(given.text):
        return f"{what}, and what it submits or starts is not read: convert the script that it writes"
    return f"{what}: it starts nothing"


def _own(text: Input, inputs: Sequence[Input], options: Options, draft: Draft) -> Conversion:
    """A text that hpclaunch rendered."""
    from hpclaunch.convert.families import own  # others do not pay for its readers

    own.convert(text.name, text.text, draft, options, [each for each in inputs if each.role == "points"])
    secrets = Secrets([each.text for each in inputs])
    own.hide(text.name, draft, secrets)
    job = write(draft, [text.name], options.sets)
    found = _told([*draft.findings, *unused.told(inputs, options, draft.findings)], secrets)
    launch = launch_facts.facts(draft, secrets)
    return Conversion(own.FAMILY, job, draft.refused, tuple(found), dict(draft.hints), launch=launch)


def _manifest(inputs: Sequence[Input], options: Options, draft: Draft) -> Conversion:
    """Manifests of Kubernetes: a job, with its claims and config maps in the same file or in others."""
    from hpclaunch.convert.manifests import convert as manifests  # launchers do not pay for it

    given = [(each.name, each.text) for each in inputs if each.role == "manifest"]
    scripts = [Source(each.name, each.text) for each in inputs if each.role == "rank script"]
    kind = manifests.convert(given, draft, options, scripts)
    cores.settle(draft, options.sets)
    as_root.settle(draft)
    secrets = Secrets([*[each.text for each in inputs], *_exported(options)], more=draft.secrets)
    to_fill_in.ask(draft)
    ask_instead(draft, secrets)
    job = write(draft, [name for name, _ in given], options.sets)
    found = _told([*draft.findings, *unused.told(inputs, options, draft.findings)], secrets)
    why_not = _ONLY_PYXIS if job else ""
    family = f"{_MANIFEST} ({kind})" if kind else _MANIFEST
    launch = launch_facts.facts(draft, secrets)
    hints = dict(draft.hints)
    return Conversion(family, job, draft.refused, tuple(found), hints, not_compared=why_not, launch=launch)


def _exported(options: Options) -> list[str]:
    """What the operator exported, as a line would have it."""
    return [f"{name}={value}" for name, value in options.environment.items()]


def _told(findings: Sequence[Finding], secrets: Secrets) -> list[Finding]:
    """The findings without secrets, and without the end of a text that nobody reads to it: a command of a
    megabyte is named by a finding for each of its words."""
    return [
        structs.replace(each, what=f"{each.what[:_MOST_TOLD]}...") if len(each.what) > _MOST_TOLD else each
        for each in without_values(findings, secrets)
    ]


def _launcher(inputs: Sequence[Input], options: Options, draft: Draft) -> Conversion:
    """A launcher of shell scripts."""
    if condor.refuse(inputs, draft) or other_shells.refuse(inputs, draft):
        return _not_read(draft, Secrets([each.text for each in inputs]))
    reading = sources.read(inputs, options.environment, draft, options.arguments)
    reading = grown.settled(engines.settled(reading, draft), draft)
    given = (shlex.join(options.arguments or ()), *_exported(options))
    variables = without_programs(reading.assigned, reading.commands)
    secrets = Secrets([*[each.text for each in inputs], *given], variables)
    too_much = _too_much(reading, secrets)
    if too_much:
        draft.refuse(too_much, _script(reading, inputs), "a text of another kind")
        return _not_read(draft, secrets)
    family = _family(reading)
    inner = unwrapped(reading)
    shells = (reading,) if inner is reading else (reading, inner)
    _put(family, shells, inputs, options, draft)
    secrets.learn(of_commands(reading.commands))
    taken_for_set.say(reading, draft)
    in_batch.say(reading, draft)
    of_arguments = arguments.told(reading, draft)
    to_fill_in.ask(draft)
    ask_instead(draft, secrets)
    job = write(draft, [each.name for each in inputs], options.sets)
    findings = [*draft.findings, *of_arguments]
    told = _of_lines(draft, findings)
    of_lines = account(draft.walked or reading, told)
    if inner.of_submitted:
        of_lines += account(structs.replace(inner, statements=inner.of_submitted, unclear=()), told)
    found = _told([*findings, *of_lines], secrets)
    found += unused.told(inputs, options, found)
    lost = tuple(dict.fromkeys(what for each in shells for what in sourced.lost(each, draft)))
    others = other_starts.lines(found)
    behind = ended.tell(inner)
    conversion = Conversion(
        dict(_FAMILIES).get(family[0], _UNKNOWN),
        job,
        draft.refused,
        tuple(found),
        dict(draft.hints),
        known_by=(family[1],) if family[1] else (),
        launch=launch_facts.facts(draft, secrets, lost, in_texts.named(reading), others, behind),
    )
    return _compared(conversion, family[0], reading, options)


def _not_read(draft: Draft, secrets: Secrets) -> Conversion:
    """A text that is refused before any of its lines is followed."""
    its = tuple(_told(draft.findings, secrets))
    launch = launch_facts.facts(draft, secrets)
    return Conversion(_UNKNOWN, "", draft.refused, its, dict(draft.hints), launch=launch)


def _put(
    family: tuple[str, Place | None],
    shells: Sequence[ShellReading],
    inputs: Sequence[Input],
    options: Options,
    draft: Draft,
) -> None:
    """Put what a family reads into the draft, and what is said of any launcher. `shells`: the reading, and
    that of the script which it submits."""
    (name, known_by), reading = family, shells[0]
    if known_by:
        _module(name).convert(reading, draft, options)
        other_schedulers.put_commands(reading, draft)
        say_others(reading, draft)
        say_submitter(reading, draft)
        allocation.say_unused(shells[-1], draft)
        for each in shells:
            sourced.ask(each, draft)
        rendezvous.of_ranks_alone(draft)
    else:
        said, todo, places = no_launcher.said(reading)
        draft.refuse(said, places or _script(reading, inputs), _UNKNOWN, todo=todo)
    cores.settle(draft, options.sets)
    if name == "docker_ssh":
        as_root.settle(draft)
    wrong = defects.find(reading, options, draft)
    draft.findings += [*wrong, *defects.of_job(draft, options, wrong)]
    advice.put(reading, draft)


def _compared(found: Conversion, family: str, reading: ShellReading, options: Options) -> Conversion:
    """With what differs between the original and the job as it would be rendered, or why nothing tells."""
    why_not = _not_compared(family, found, options)
    if why_not or not found.job:
        return structs.replace(found, not_compared=why_not)
    from hpclaunch.convert.roundtrip import differences  # of use where a site is known

    compared = differences(reading, found.job, found.findings, options)
    return structs.replace(found, differences=compared, not_compared=_NO_STEP if compared is None else "")


def _of_lines(draft: Draft, findings: Sequence[Finding]) -> list[Finding]:
    """Those that say what became of their lines. Why an input is refused says by which line it was known, and
    where another is the run nothing of what that one does."""
    if ("command",) not in draft.facts:
        return list(findings)
    return [each for each in findings if not draft.refused or each.why != draft.refused]


def _not_compared(family: str, conversion: Conversion, options: Options) -> str:
    """Why the job is not read back beside the original, "" where it can be."""
    if not conversion.job:
        return ""
    if family != "pyxis":
        return _ONLY_PYXIS
    if any(each.key == "sweep" for each in conversion.findings):
        return "the points of a sweep are not in the script that its job is rendered to"
    if any(each.key.partition(".")[0] == "groups" for each in conversion.findings):
        return "its programs are groups of one job now, and each was a launch of its own"
    if not conversion.is_complete:
        return "questions are open, and what is not told cannot be rendered"
    return _NO_SITE if options.render is None else ""


def _script(reading: ShellReading, inputs: Sequence[Input]) -> list[Place]:
    """The launcher as a whole, all files where none of them is one."""
    return [Place(reading.script)] if reading.script else [Place(each.name) for each in inputs]


def _too_much(reading: ShellReading, secrets: Secrets) -> str:
    """Why nobody would wait for what becomes of it, "" for a launcher."""
    if reading.count(PLUMBING) > MOST or len(reading.commands) > OF_SHELL * MOST:
        return f"it has more than {MOST:,} commands, and no launcher has so many"
    if len({each.name for each in reading.assigned}) > MOST:
        return f"it gives a value to more than {MOST:,} variables, and no launcher has so many"
    if len(reading.passed) > MOST:
        return f"it exports more than {MOST:,} variables, and no launcher has so many"
    if len(secrets) > _MOST_SECRETS:
        return f"it has more than {_MOST_SECRETS:,} secrets, and no launcher has so many"
    long = next((each for each in reading.starting if _length(each) > LONGEST), None)
    if long is not None:
        return f"{long.place}: a command of {_length(long):,} characters, and no launcher has one so long"
    return ""


def _length(command: Command) -> int:
    """Characters of its words, as far as they are told."""
    return sum(len(part) for word in command.words for part in word if isinstance(part, str))


def _family(reading: ShellReading) -> tuple[str, Place | None]:
    for name, _ in _FAMILIES:
        found: Place | None = _module(name).recognise(reading)
        if found is not None:
            return name, found
    return "", None


def _module(name: str) -> ModuleType:
    return import_module(f"hpclaunch.convert.families.{name}")
