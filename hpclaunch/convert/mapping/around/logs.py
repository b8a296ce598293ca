"""The files that the output of the run goes to -> `trials.log`."""

import posixpath
from posixpath import isabs, normpath

from hpclaunch.convert.draft import NULL, Draft
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.mapping.around.files import Files
from hpclaunch.convert.mapping.words.texts import is_here, path
from hpclaunch.convert.reading import Command, Loop, Output, ShellReading
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, shown

_FROM_HERE = "relative paths start from the job file's folder"
OF_RECORD = "hpclaunch keeps the output of each job in its record: `hpclaunch logs`"
IN_LOGS = "the output of trials and steps is in their logs and in the job's own: `hpclaunch logs`"
_OF_TRIALS = "each trial has a log NAME-JOBID-trial-N.log, so no two jobs write to one file"
_IS_READ = "what stands behind the run has to do with this file, and a trial has a log of its own name"


def put(
    reading: ShellReading, command: Command, loop: Loop | None, draft: Draft, *, own_file: bool = False
) -> None:
    """Say what becomes of the files with the run's output. `loop` is that of the trials; `own_file`: of
    several points each has a file that hpclaunch names."""
    own_file = own_file or reading.of_points
    outputs = [each for each in command.writes if each.tee or each.descriptor in ("1", "&", "")]
    for output in outputs:
        if ("trials", "count") not in draft.facts and not own_file and _is_read(reading, command, output):
            _as_one_trial(command, output, draft)
        else:
            _log_of(command, output, loop, draft, own_file)


def _is_read(reading: ShellReading, command: Command, output: Output) -> bool:
    """Whether anything behind the run names the file, and the job can have it by its name."""
    text = _path(command, output.path)
    if output.append or text is None or (isabs(text) and normpath(text).startswith("/dev/")):
        return False
    files = Files()
    files.add(command, output.path)
    at = next((n for n, each in enumerate(reading.commands) if each is command), len(reading.commands))
    behind = (each for each in reading.commands[at + 1 :] if not is_tee(each))
    return any(files.named_by(each, each.words, folders=True) for each in behind)


def is_tee(command: Command) -> bool:
    """Whether it keeps what those before it in its pipeline put out."""
    return command.program == "tee" and command.pipeline[0] > 0


def _as_one_trial(command: Command, output: Output, draft: Draft) -> None:
    places, what = (command.place,), f"the log {shown(output.path)}"
    draft.put(("trials", "count"), 1, places, what, why="one run, whose log has a name")
    draft.put(("trials", "seed"), NULL, places, what, why="its environment has no seed of hpclaunch's")
    draft.put(("trials", "log"), _path(command, output.path), places, what, why=f"{_IS_READ}; {_FROM_HERE}")


def _log_of(command: Command, output: Output, loop: Loop | None, draft: Draft, own_file: bool) -> None:
    text = _path(command, _with_trial(output, loop))
    places = (command.place,)
    what = f"the log {shown(output.path)}"
    if ("trials", "count") not in draft.facts:
        draft.say("replaced", places, what, why=OF_RECORD)
    elif text not in (None, "/dev/null") and (loop is None or "{trial}" in (text or "")) and not own_file:
        draft.put(("trials", "log"), text, places, what, why=_FROM_HERE)
        if other := other_numbers(output, loop):
            draft.say("replaced", places, what, became=f"trials.log: {text}", why=other)
    else:
        draft.say("replaced", places, what, why=_OF_TRIALS)


def _with_trial(output: Output, loop: Loop | None) -> Value:
    """The path as `trials.log` has it."""
    parts: list[Part] = []
    for part in output.path:
        if _is_number(part, loop):
            parts.append("{trial}")
        else:
            parts.append(part.replace("{", "").replace("}", "") if isinstance(part, str) else part)
    return join(parts)


def is_kept(command: Command, output: Output, loop: Loop | None, draft: Draft) -> bool:
    """Whether trials have this file as their log, perhaps with other numbers."""
    log = draft.facts.get(("trials", "log"))
    return log is not None and log.value == _path(command, _with_trial(output, loop))


def other_numbers(output: Output, loop: Loop | None) -> str:
    """Which number the file's name has now, "" where it is the same."""
    if loop is None or rounds.counts_trials(loop):
        return ""
    if not any(_is_number(part, loop) for part in output.path):
        return ""
    first = next(iter(rounds.numbers(loop) or ()), None)
    own = f"where the script began with {first}" if first is not None else "and not what the loop goes over"
    return f"its number is that of the trial, from 1 on, {own}"


def _path(command: Command, value: Value) -> str | None:
    """The path from the job file's folder, None where it is not told."""
    text = path(value)
    if text is None or isabs(text) or not command.folder or is_here(value[0]):
        return text
    folder = path(command.folder)
    return None if folder is None else normpath(posixpath.join(folder, text))


def _is_number(part: Part, loop: Loop | None) -> bool:
    if loop is None or not isinstance(part, Unknown):
        return False
    return part.name == loop.variable or part.name.strip("$()") == loop.over.strip("$()")
