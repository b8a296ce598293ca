"""One step of a job -> its entry in `setup`, `before_each` or `after`."""

import shlex
from collections import ChainMap
from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct, structs

from hpclaunch.convert import shared_exports
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import (
    missing_folders,
    step_environment,
    step_folders,
    step_shells,
    working_folder,
)
from hpclaunch.convert.mapping.around.beyond import script_of
from hpclaunch.convert.mapping.around.step_failures import Failures
from hpclaunch.convert.mapping.around.trials import Trials
from hpclaunch.convert.mapping.environment.reached import inherit
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.slurm.starts import alone
from hpclaunch.convert.mapping.words import inputs
from hpclaunch.convert.mapping.words.texts import Line, from_here, line, path, submitters
from hpclaunch.convert.mapping.words.variables import submitters_in
from hpclaunch.convert.reading import Command, Output, ShellReading
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Place

CACHES = "optional: where the user may not do it, or on Kubernetes, the job goes on without"
# Of a redirection, by its descriptor: how it begins, and what stands behind its file. &> is bash's alone, and
# a step's text is for any shell.
_SIGNS = {"": (">", ""), "1": (">", ""), "2": ("2>", ""), "&": (">", " 2>&1")}


class Run(Struct, frozen=True):
    """What stands in the midst of it all: the run's command, how many ranks it has on a node, its trials, and
    whether it is in an image. `later` are variables that its command sets itself, and `of_each_node`: the
    script is started on each node, and so does what it does."""

    command: Command
    per_node: int | None
    trials: Trials
    image: bool
    later: Sequence[str] = ()
    of_each_node: bool = False


class _Made(Struct, frozen=True):
    """A command of the script as a step: the folder that it runs in, what its shell sets, its line, what it
    has of its own, and how often it runs. `old` is a variable that it reads before ranks have its value."""

    inside: bool
    way: step_folders.Way
    shell: step_shells.Shell
    line: Line
    own: step_environment.Own
    per: str
    old: str


def put(
    reading: ShellReading,
    command: Command,
    step: Step | None,
    run: Run,
    key: str,
    failures: Failures,
    draft: Draft,
) -> None:
    """Put the command into the draft, or say why no step does what it did. `step` is the srun that it is."""
    what = command.brief()
    options = "" if step is None else next((each.written for each in step.asked if not each.name), "")
    if options:
        why = f"which options srun gets there ({options}) is not told"
        draft.say("left", (command.place,), what, why=why, todo=f"add it to {key} where the job needs it")
        return
    shared = _shared(command, per(step, run.per_node), draft)
    made = _made(reading, _appended(command, shared), step, run, key, failures, draft)
    why, todo = _why_not(made, key)
    if why:
        draft.say("left", (command.place,), what, why=why, todo=todo)
        return
    places = reading.origin(command)
    on_host = {"where": "host"} if run.image else {}
    for output in shared:
        empty = line([(":",)], run.trials.stand_ins, ending=f" > {_target(output, run.trials)}")
        begins = {"run": empty.of_step(made.way.first), **on_host, "per": "job"}
        draft.add(
            key, begins, places, f"> {shown(output.path)}", "each rank's shell would begin the file anew"
        )
    plain = made.line.of_step(made.way.first + made.own.first)
    entry: dict[str, Any] = {"run": plain}
    if run.image and not (made.inside or (step is None and alone.is_in_container(reading))):
        entry["where"] = "host"
    if made.per != "node":
        entry["per"] = made.per
    of_trial = run.trials.loop is not None and key == "before_each"
    ends = (run.command.unnoticed and of_trial) or (key != "after" and failures.end(command))
    optional = command.unnoticed and not ends
    why = "it may fail, as nobody reads its status in the original" if optional else ""
    drops = not made.inside and "drop_caches" in str(plain)
    if drops:
        optional, why = True, CACHES
    if optional:
        entry["optional"] = True
    named = submitters((*made.way.names, *made.own.names, *made.line.names))
    inherit([name for name in named if name not in made.shell.names], (command.place,), draft, what)
    if key == "after" and not made.inside:
        step_shells.say_behind(reading, run.command, command, bool(made.way.first), draft)
    draft.add(key, entry, places, what, why)
    if made.shell.lacks:
        why = "the script exported them to it, and of a job's the ranks alone have them"
        todo = "where it reads them, set them in the step"
        draft.say("left", (command.place,), f"{', '.join(made.shell.lacks)} of {what}", why=why, todo=todo)
    failures.add(command, places, key, optional=optional)
    if drops and not command.unnoticed:
        say_optional(f"{key}.{draft.count(key) - 1}", (command.place,), draft)


def _made(
    reading: ShellReading,
    command: Command,
    step: Step | None,
    run: Run,
    key: str,
    failures: Failures,
    draft: Draft,
) -> _Made:
    inside = step is not None and step.in_container
    words = step.started if step is not None else command.words
    shell, way = step_shells.Shell(), step_folders.Way()
    if not inside:
        way = step_folders.goes(command, words, working_folder.begin(reading))
        stand_ins = run.trials.stand_ins
        shell = step_shells.of(reading, command, words, run.later, stand_ins, draft, goes=bool(way.first))
    written = _line(command, step, run.trials, shell, ends=failures.end(command))
    own = step_environment.of(command, words, run.command, draft, after=key == "after", on_host=not inside)
    old = _read_before(command, run.command, words, shell.names)
    often = "node" if step is None and key == "after" and run.of_each_node else per(step, run.per_node)
    return _Made(inside, way, shell, written, own, often, old)


def _why_not(made: _Made, key: str) -> tuple[str, str]:
    """Why no step does what the command did, and what to do; "" where one does."""
    if made.way.nowhere:
        why = f"it runs in a folder that no step is told of ({made.way.nowhere})"
        return why, f"add it to {key} with whole paths"
    if made.line.doubt:
        return f"{made.line.doubt} is known only where the script runs", f"add it to {key} with its value"
    if made.old:
        why = f"{made.old} is read there before the script gives it the value that ranks have"
        return f"{why}, and a job has one", f"add it to {key} with its value"
    if made.own.doubt:
        todo = f"add it to {key} where it does with the job's, or submit it as a job of its own"
        return made.own.doubt, todo
    if not made.per:
        why = "a step runs once, once on each node, or as the ranks do"
        return why, "write it as a step of one of these kinds"
    return "", ""


def _read_before(command: Command, run: Command, words: Sequence[Value], its: Collection[str]) -> str:
    """The variable of the submitter's that a step is made of, and that has another value for the ranks; ""
    for none. Those that the step sets itself (`its`) it names by their new values."""
    # What its own text sets, and else what the run has.
    own = ChainMap(shared_exports.of(command), dict(run.prefix), shared_exports.of(run))
    written = [*words, *(each.path for each in command.writes), *([command.reads] if command.reads else [])]
    parts = {name: (Unknown("variable", name),) for name in submitters_in(written)}
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
        sign, behind = _SIGNS.get(output.descriptor, ("", ""))
        to = _target(output, trials)
        if not to or of_host or not sign:
            where = " on the host" if of_host else ""
            return Line("", doubt=f"where its output goes{where} ({shown(output.path)})")
        ending += f" {sign}{'>' * output.append} {to}{behind}"
    return line(words, trials.stand_ins, shell.exports, ending, shell.before, given.before)


def _target(output: Output, trials: Trials) -> str:
    """The file as a text has it, "" where no step can name it."""
    target = path(output.path)
    return shlex.quote(target) if target is not None else _in_text(output.path, trials)


def _shared(command: Command, per_what: str, draft: Draft) -> list[Output]:
    """The files that srun began and that all ranks of a step would."""
    if per_what == "job" or draft.number("nodes") == draft.number("ranks_per_node") == 1:
        return []
    return [each for each in _files(command) if each.descriptor in ("", "1", "&") and not each.append]


def _appended(command: Command, files: Collection[Output]) -> Command:
    """The command with that behind what these have."""
    writes = (structs.replace(each, append=True) if each in files else each for each in command.writes)
    return structs.replace(command, writes=tuple(writes)) if files else command


def _in_text(value: Value, trials: Trials) -> str:
    """A word with the job's own variables in it as a text has it, "" where none stands for it."""
    written = line([("true",), value], trials.stand_ins)
    text = written.value if isinstance(written.value, str) else ""
    return "" if written.doubt or submitters(written.names) else text.removeprefix("exec true ")


def per(step: Step | None, per_node: int | None) -> str:
    """`per` of the step, "" for a layout that no step has."""
    if step is None or step.is_one_task:
        return "job"
    if step.ranks.per_node == 1:
        return "rank" if per_node == 1 and step.option("mpi") is not None else "node"
    return "rank" if step.ranks.per_node is not None and step.ranks.per_node == per_node else ""
