"""What a launcher does beside its run -> `setup`, `before_each` and `after`."""

import shlex
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import (
    images_of_steps,
    missing_folders,
    rounds,
    stage_in,
    step_environment,
    step_folders,
    step_shells,
    working_folder,
)
from hpclaunch.convert.mapping.around.beyond import script_of
from hpclaunch.convert.mapping.around.likeness import say_own, unlike
from hpclaunch.convert.mapping.around.logs import IN_LOGS, is_tee
from hpclaunch.convert.mapping.around.missing import Missing
from hpclaunch.convert.mapping.around.no_step import NoSteps
from hpclaunch.convert.mapping.around.removals import Removing
from hpclaunch.convert.mapping.around.step_failures import Failures
from hpclaunch.convert.mapping.around.text_files import Texts
from hpclaunch.convert.mapping.around.trials import Trials
from hpclaunch.convert.mapping.container import images
from hpclaunch.convert.mapping.environment.reached import inherit
from hpclaunch.convert.mapping.ranks import rendezvous
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.slurm.starts import alone
from hpclaunch.convert.mapping.words import inputs
from hpclaunch.convert.mapping.words.texts import Line, from_here, line, path, submitters
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.reading import Command, Output, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Place

# What a script does on the batch host that is a step of a job too: files and scripts of its own.
_ON_HOST = that("caches", "copies", "files", "archives", "scripts")
_SCRIPTS = (".sh", ".py")
_OF_FILES = that("texts", "edits") - {"tee"} | {"cat"}  # they read files that their words name
CACHES = "optional: where the user may not do it, or on Kubernetes, the job goes on without"
_SIGNS = {"": ">", "1": ">", "2": "2>"}  # of a redirection, by its descriptor


class Run(Struct, frozen=True):
    """What stands in the midst of it all: the run's command, how many ranks it has on a node, its trials, and
    whether it is in an image. `later` are variables that its command sets itself."""

    command: Command
    per_node: int | None
    trials: Trials
    image: bool
    later: Sequence[str] = ()


def put(reading: ShellReading, run: Run, all_steps: Sequence[Step], draft: Draft) -> None:
    """Put all that stands around the run into the draft."""
    by_command = {id(step.command): step for step in all_steps}
    of_run = by_command.get(id(run.command))
    containers = images.made(all_steps)
    order = _order(reading)
    staged = stage_in.put(reading, all_steps, run.command, containers, draft)
    of_files, no_steps = _made_of_files(reading), NoSteps(reading, run.command, run.trials)
    texts = Texts(reading, run.command)
    after, missing, pending = False, Missing(reading, of_run), None
    removing, failures = Removing(reading.commands, run.command, by_command), Failures(reading, run.command)
    for command in sorted(reading.commands, key=lambda each: bool(each.signals)):
        missing.add(pending)
        removing.add(pending)
        pending = None
        if texts.is_told(command):
            continue
        pending = command
        if command is run.command:
            after, pending = True, None
            missing.add_run(command, run.trials.loop, draft)
            continue
        step = by_command.get(id(command))
        words = step.words if step is not None else command.words
        if images_of_steps.is_said(command, step, words, of_run, draft):
            continue
        if step is not None and rendezvous.is_said(command, words, draft):
            continue
        text = None if step is not None else texts.of(command)
        if (
            step is None
            and text is None
            and (_is_log(command, of_files, draft) or not _is_step_of_host(command))
        ):
            continue
        if not words:
            images_of_steps.say_no_command(command, draft)
            continue
        if stage_in.is_said(staged, command, draft):
            removing.take(command)
            continue
        if _runs_beside(order, command, run.command, draft):
            continue
        key = "before_each" if no_steps.is_in_trials(command) else "after" if after else "setup"
        why, todo = no_steps.why(command, after=after)
        if not why and step is not None and of_run is not None:
            why = unlike(step, of_run, containers, draft, _per(step, run.per_node))
            todo = f"add it to {key} where it does with the job's, or submit it as a job of its own"
        if not why and not (step is not None and step.in_container):
            why, todo = missing.why(command, words, key)
        if not why:
            why, todo = removing.why(command, words, key)
        if why:
            draft.say("left", (command.place,), command.brief(), why=why, todo=todo)
            continue
        number = draft.count(key)
        _put(reading, text or command, step, run, key, failures, draft)
        if draft.count(key) > number:
            missing.take(command)
            pending = None
        if step is not None and of_run is not None and draft.count(key) > number:
            say_own(step, of_run, f"{key}.{number}", draft)
    failures.say(draft)


class _Order(Struct, frozen=True):
    """Where each command stands, by its id, and where those are that wait for others."""

    at: dict[int, int]
    waits: tuple[int, ...]


def _order(reading: ShellReading) -> _Order:
    waits = (index for index, each in enumerate(reading.commands) if each.program == "wait")
    return _Order({id(each): index for index, each in enumerate(reading.commands)}, tuple(waits))


def _runs_beside(order: _Order, command: Command, run: Command, draft: Draft) -> bool:
    """Whether the command goes on while the run does: in the background, and nobody waits for it before."""
    if not command.background:
        return False
    own, others = order.at[id(command)], order.at[id(run)]
    if own < others and any(own < wait < others for wait in order.waits):
        return False
    if own > others and not run.background:
        return False
    if run.background and command.program == run.program:
        why = (
            f"it and {run.brief()} run at the same time, and a job has one command: it is not started at all"
        )
        todo = "submit it as a job of its own, or let one script start both"
    else:
        why = "it goes on beside the run, and a job's steps run one after the other: it is not started"
        todo = "start it in the command itself, or submit it as a job of its own"
    draft.say("left", (command.place,), command.brief(), why=why, todo=todo)
    return True


def _put(
    reading: ShellReading,
    command: Command,
    step: Step | None,
    run: Run,
    key: str,
    failures: Failures,
    draft: Draft,
) -> None:
    what = command.brief()
    options = "" if step is None else next((each.written for each in step.asked if not each.name), "")
    if options:
        why = f"which options srun gets there ({options}) is not told"
        draft.say("left", (command.place,), what, why=why, todo=f"add it to {key} where the job needs it")
        return
    inside = step is not None and step.in_container
    words = step.started if step is not None else command.words
    shell = step_shells.Shell()
    way = step_folders.Way()
    if not inside:
        way = step_folders.goes(command, words, working_folder.begin(reading))
        stand_ins = run.trials.stand_ins
        shell = step_shells.of(reading, command, words, run.later, stand_ins, draft, goes=bool(way.first))
    written = _line(command, step, run.trials, shell, ends=failures.end(command))
    places = reading.origin(command)
    if way.nowhere:
        why = f"it runs in a folder that no step is told of ({way.nowhere})"
        draft.say("left", (command.place,), what, why=why, todo=f"add it to {key} with whole paths")
        return
    if written.doubt:
        why = f"{written.doubt} is known only where the script runs"
        todo = f"add it to {key} with its value"
        draft.say("left", (command.place,), what, why=why, todo=todo)
        return
    old = _read_before(command, run.command, words, shell.names)
    if old:
        why = f"{old} is read there before the script gives it the value that ranks have, and a job has one"
        draft.say("left", (command.place,), what, why=why, todo=f"add it to {key} with its value")
        return
    own = step_environment.of(command, words, run.command, draft, after=key == "after", on_host=not inside)
    if own.doubt:
        todo = f"add it to {key} where it does with the job's, or submit it as a job of its own"
        draft.say("left", (command.place,), what, why=own.doubt, todo=todo)
        return
    per = _per(step, run.per_node)
    if not per:
        why = "a step runs once, once on each node, or as the ranks do"
        draft.say("left", (command.place,), what, why=why, todo="write it as a step of one of these kinds")
        return
    if per != "job" and any(each.descriptor in ("", "1") for each in _files(command)):
        why = "all its ranks write into one file, which the shell of each would begin anew"
        draft.say(
            "left", (command.place,), what, why=why, todo=f"add it to {key} with a file for each of them"
        )
        return
    plain = written.of_step(way.first + own.first)
    entry: dict[str, Any] = {"run": plain}
    if run.image and not (inside or (step is None and alone.is_in_container(reading))):
        entry["where"] = "host"
    if per != "node":
        entry["per"] = per
    of_trial = run.trials.loop is not None and key == "before_each"
    optional = command.unnoticed and not (run.command.unnoticed and of_trial)
    why = "it may fail, as nobody reads its status in the original" if optional else ""
    if not inside and "drop_caches" in str(plain):
        optional, why = True, CACHES
    if optional:
        entry["optional"] = True
    names = [name for name in submitters((*way.names, *own.names, *written.names)) if name not in shell.names]
    inherit(names, (command.place,), draft, what)
    if key == "after" and not inside:
        step_shells.say_behind(reading, run.command, command, bool(way.first), draft)
    draft.add(key, entry, places, what, why)
    if shell.lacks:
        why = "the script exported them to it, and of a job's the ranks alone have them"
        todo = "where it reads them, set them in the step"
        draft.say("left", (command.place,), f"{', '.join(shell.lacks)} of {what}", why=why, todo=todo)
    failures.add(command, places, key, optional=optional)
    if why == CACHES and not command.unnoticed:
        say_optional(f"{key}.{draft.count(key) - 1}", (command.place,), draft)


def _read_before(command: Command, run: Command, words: Sequence[Value], its: Collection[str]) -> str:
    """The variable of the submitter's that a step is made of, and that has another value for the ranks; ""
    for none. Those that the step sets itself (`its`) it names by their new values."""
    there = {**dict(run.environment), **dict(run.prefix)}
    own = {**there, **dict(command.environment)}  # which its own text sets
    written = [*words, *(each.path for each in command.writes), *([command.reads] if command.reads else [])]
    parts = {name: (Unknown("variable", name),) for name in rounds.submitters_in(written)}
    return next((name for name, part in parts.items() if name not in its and own.get(name, part) != part), "")


def _files(command: Command) -> list[Output]:
    """Those that it writes, but for devices."""
    outputs = [each for each in command.writes if not each.tee]
    return [each for each in outputs if not (known(each.path) or "").startswith("/dev/")]


def say_optional(key: str, places: Sequence[Place], draft: Draft) -> None:
    """That the job goes on without a step that drops the file caches, whatever the script did."""
    draft.say("replaced", places, "dropping the file caches", became=f"{key}: optional", why=CACHES)


def _line(
    command: Command, step: Step | None, trials: Trials, shell: step_shells.Shell, *, ends: bool
) -> Line:
    words = step.started if step is not None else missing_folders.words(command, ends=ends)
    if not (step is not None and step.in_container):
        words = tuple(map(from_here, words))
    if script := script_of(command.stdin, words):
        return line(script, trials.stand_ins, shell.exports, before=shell.before)
    inside = step is not None and step.in_container
    given = inputs.given(command, words, inside=inside)
    if given.doubt:
        return Line("", doubt=given.doubt)
    ending = given.after
    for output in command.writes:
        target = path(output.path)
        if output.tee:
            continue
        of_host = inside and target != "/dev/null"
        sign = _SIGNS.get(output.descriptor, "")
        to = shlex.quote(target) if target is not None else _in_text(output.path, trials)
        if not to or of_host or not sign:
            where = " on the host" if of_host else ""
            return Line("", doubt=f"where its output goes{where} ({shown(output.path)})")
        ending += f" {sign}{'>' * output.append} {to}"
    return line(words, trials.stand_ins, shell.exports, ending, shell.before, given.before)


def _in_text(value: Value, trials: Trials) -> str:
    """A word with the job's own variables in it as a text has it, "" where none stands for it."""
    written = line([("true",), value], trials.stand_ins)
    text = written.value if isinstance(written.value, str) else ""
    return "" if written.doubt or submitters(written.names) else text.removeprefix("exec true ")


def _per(step: Step | None, per_node: int | None) -> str:
    """`per` of the step, "" for a layout that no step has."""
    if step is None or step.is_one_task:
        return "job"
    if step.ranks.per_node == 1:
        return "rank" if per_node == 1 and step.option("mpi") is not None else "node"
    return "rank" if step.ranks.per_node is not None and step.ranks.per_node == per_node else ""


def _made_of_files(reading: ShellReading) -> frozenset[tuple[str, int]]:
    """The lines of pipelines that begin with what reads files: sort logs/*.log | tee all.log"""
    first = (each for each in reading.of(*_OF_FILES) if each.pipeline[0] == 0 and each.pipeline[1] > 1)
    return frozenset((each.place.file, each.place.line) for each in first)


def _is_log(command: Command, of_files: Collection[tuple[str, int]], draft: Draft) -> bool:
    """Whether it keeps what others put out; that is said of it."""
    if not is_tee(command):
        return False
    if (command.place.file, command.place.line) in of_files:
        why, todo = "it writes a file, and the job does not", "if the job needs it, add the pipeline to after"
        draft.say("left", (command.place,), command.brief(), why=why, todo=todo)
        return True
    draft.say("replaced", (command.place,), command.brief(), why=IN_LOGS)
    return True


def _is_step_of_host(command: Command) -> bool:
    """Whether a command of the batch host is a step: files, and scripts of its own."""
    is_first = command.pipeline[0] == 0 or command.pipeline[1] == 1
    is_files = command.program in _ON_HOST or command.program.endswith(_SCRIPTS)
    return is_files and is_first and not command.within
