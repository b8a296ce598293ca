"""The folder in which ranks start: that in which the script is when it comes to the run -> `workdir`."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from posixpath import join, normpath
from shlex import quote

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import entered_folders
from hpclaunch.convert.mapping.around.ways import is_test
from hpclaunch.convert.mapping.environment.in_order import moment_of
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, of_batch
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.reading import Command, ShellReading, once
from hpclaunch.convert.shell.folder import FOLDERS, SUBMITTED_FROM
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.values.conversion import Finding, Place
from hpclaunch.values.yamltext import flow

_HOME = re.compile(r"^~|\$\{?HOME\}?")
_OF_SCRIPT = re.compile(r"^\"?\$\(dirname (?:-- )?\"?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?\"?\)\"?")
_WHERE_IT_IS = re.compile(r"^\"?\$\(pwd(?: -[LP])?\)\"?")  # which is where `cd` starts from
_OF_SUBMISSION = re.compile(rf"\$\{{?(?:{'|'.join(SUBMITTED_FROM)})\b")
_NO_WAY_BACK = (
    "each round of the loop begins where the one before it ended, and all trials of a job begin in one"
)
_BY_WORKDIR = "ranks start in `workdir`, and steps of the script go where they were themselves"
_OWNFOLDERS = "each round of the loop has its own, and all trials of a job have one"


def _start(reading: ShellReading) -> Asked | None:
    """The option by which sbatch was told where to go."""
    return next((each for each in reversed(of_batch(reading)) if each.name == "chdir"), None)


@once
def begin(reading: ShellReading) -> str:
    """The folder in which the script began: that of submission, or where sbatch was told to go."""
    start = _start(reading)
    folder = (start.text or "") if start is not None else ""
    return folder if folder.startswith("/") else "."


def put(reading: ShellReading, run: Command, draft: Draft) -> Sequence[tuple[Value, ...]]:
    """The folder in which the script is when it comes to the run. Returns what the command does to be there
    where ranks cannot start in it."""
    entered = _put(reading, run, draft)
    _take_back(reading, draft)
    return entered


def _take_back(reading: ShellReading, draft: Draft) -> None:
    """That the job file is taken to be where sbatch was told to go: with a whole path for `workdir` neither
    the ranks nor the steps, which go there themselves, look from its folder. Mounts and an image do."""
    start = _start(reading)
    folder = draft.facts.get(("workdir",))
    if start is None or folder is None or folder.is_open or not str(folder.value).startswith("/"):
        return
    if not begin(reading).startswith("/") or any(key[0] in ("image", "mounts") for key in draft.facts):
        return
    at = next((n for n, each in enumerate(draft.findings) if _is_of(start, each)), None)
    if at is None:
        return
    said = draft.findings.pop(at)
    if folder.places != start.places:  # else `workdir` is carried over from that line
        draft.say("replaced", said.places, said.what, why=_BY_WORKDIR)


def _is_of(start: Asked, each: Finding) -> bool:
    return (each.kind, each.places, each.what) == ("assumed", start.places, start.written)


def _put(reading: ShellReading, run: Command, draft: Draft) -> Sequence[tuple[Value, ...]]:
    start = _start(reading)
    base = start.text if start is not None and (start.text or "").startswith("/") else None
    if ("workdir",) in draft.facts:
        return ()
    changes = list(changes_of(reading, run))
    if not changes:
        if run.folder and not _is_back(reading, run):
            _of_walk(reading, run, draft)
        elif start is not None and base and "$" in base:
            draft.ask(("workdir",), _asked_folder(start.written), start.places, start.written)
        elif start is not None and base:
            draft.put(("workdir",), base, start.places, start.written)
        return ()
    place = changes[-1].place
    what = " ".join(map(shown, changes[-1].words))
    # A line does not tell whose folder that of a subshell on it is, and the walk does.
    on_line = place == run.place and reading.is_in_subshell(place)
    is_others = on_line and known(run.folder) != reached(reading, changes, base or ".")
    if is_others or any(is_test(on) for each in changes for on in each.conditions):
        draft.ask(("workdir",), _asked_folder(what), (place,), what)
        return ()
    again = _of_rounds(reading, run, changes)
    if again:
        (why, todo), lines = again, [each.place for each in changes]
        draft.ask(("workdir",), f"{_asked_folder(_way(changes))}: {why}", lines, what, todo=todo)
        return ()
    folder = reached(reading, changes, base or ".")
    if folder is not None:
        folder = _walked(run, folder, base or ".")
    places = tuple(dict.fromkeys(each.place for each in _that_lead(changes)))
    entered = _entered(reading, run, changes, folder)
    if entered:
        why = entered_folders.ONLY_THERE if folder is None else entered_folders.MADE
        became = "".join(f"{' '.join(map(shown, words))}; " for words in entered)
        draft.say("carried", places, what, became=f"command: {became}...", why=why, key="command")
        return entered
    if folder is None:
        draft.ask(("workdir",), _asked_folder(_way(changes)), places, what)
    elif folder == ".":
        why = "relative paths start from the job file's folder"
        draft.say("replaced", places, what, why=why)
    else:
        draft.put(("workdir",), written(folder), places, what)
    return ()


def _that_lead(changes: Sequence[Command]) -> Sequence[Command]:
    """Those that lead to the folder after all of these: none before one that goes back to that of submission,
    but where a later one goes back to what was before."""
    if any(each.program != "cd" or _target(each) == "-" for each in changes):
        return changes
    back = (
        n for n, each in enumerate(changes) if _OF_SUBMISSION.match(_target(each)) and not each.conditions
    )
    return changes[max(back, default=0) :]


def _walked(run: Command, folder: str, base: str) -> str | None:
    """The folder, or that to which the walk came, which knows more: what a variable is given later is not
    what `cd` had; None where it is not told. That a `cd` may fail is no way of the script's."""
    if run.folder[:1] == (Unknown("either", "PWD"),):
        return folder
    walked = path(run.folder) if run.folder else "."
    if walked is None:
        return None
    from_base = normpath(join(base, walked))
    return folder if folder in (normpath(walked), from_base) else from_base


def _of_walk(reading: ShellReading, run: Command, draft: Draft) -> None:
    """The folder of a run that stands in a subshell or a process beside the script, with it."""
    places = tuple(dict.fromkeys(each.place for each in reading.of(*FOLDERS) if each.folder == run.folder))
    what = f"cd {shown(run.folder)}"
    folder = path(run.folder)
    if folder is None or any(loop.count != 1 for loop in run.loops):
        draft.ask(("workdir",), _asked_folder(what), places or (run.place,), what)
    else:
        draft.put(("workdir",), written(normpath(folder)), places or (run.place,), what)


def _entered(
    reading: ShellReading, run: Command, changes: Sequence[Command], folder: str | None
) -> Sequence[tuple[Value, ...]]:
    """What the command does to be in a folder that the job file cannot name, or that is not there yet."""
    if folder is not None:
        is_made = not folder.startswith("/") and entered_folders.makes(reading, run, folder)
        return [(("cd",), (folder,))] if is_made else ()
    first = changes[0].place
    named = (each for each in reading.sourced if not each.file and _is_before(each.place, first))
    if any(not _is_whole(shown(each.name)) and not _HOME.match(shown(each.name)) for each in named):
        return ()
    return entered_folders.by_names(changes) or ()


def _is_before(place: Place, run: Place) -> bool:
    """Whether the line comes before the run: all lines of a configuration do."""
    return place.file != run.file or place.line < run.line


def written(folder: str) -> str:
    """As the job file names it."""
    return folder if folder[:1] in ("/", ".") else f"./{folder}"


def changes_of(reading: ShellReading, run: Command) -> Iterator[Command]:
    """The commands before the run that change the folder of the script's shell, from the last on that needs
    none before it, without those on one condition that come back to where they began."""
    found: list[Command] = []
    for command in reading.commands[: moment_of(reading, run)[0]]:
        apart = command.within or command.signals or command.background or command.pipeline[1] > 1
        if command.program in FOLDERS and not apart and not _is_elsewhere(reading, command, run):
            if command.program == "cd" and _is_whole(_target(command)) and not command.conditions:
                found.clear()
            found.append(command)
    yield from _without_ways_back(reading, found)


def _without_ways_back(reading: ShellReading, changes: Sequence[Command]) -> Iterator[Command]:
    for on, its in groupby(changes, key=lambda each: (each.conditions, each.loops)):
        together = list(its)
        if not (on[0] and reached(reading, together, ".") == "."):
            yield from together


def _is_back(reading: ShellReading, run: Command) -> bool:
    """Whether the walk has two folders for the run since the script goes to another one and back."""
    either = run.folder[:1] == (Unknown("either", "PWD"),)
    before = reading.commands[: moment_of(reading, run)[0]] if either else ()
    its = [each for each in before if each.program in FOLDERS]
    return bool(its) and not list(_without_ways_back(reading, its))


def _of_rounds(reading: ShellReading, run: Command, changes: Sequence[Command]) -> tuple[str, str] | None:
    """Why the rounds of a loop are in folders of their own, and what to do; None where they are not."""
    loop = next(
        (each for each in run.loops if each.count != 1 and any(each in c.loops for c in changes)), None
    )
    if loop is None:
        return None
    inside = [each for each in changes if loop in each.loops]
    at = next((n for n, c in enumerate(reading.commands) if (c.place, c.words) == (run.place, run.words)), 0)
    behind = reading.commands[at + 1 :]
    after = [each for each in behind if each.program in FOLDERS and loop in each.loops]
    ends = reached(reading, [*inside, *after], ".")
    apart = all(reading.is_in_subshell(each.place, loop.place.line) for each in inside)
    first = _target(inside[0])
    is_whole = _is_whole(first) or _OF_SUBMISSION.match(first)
    if not (apart or is_whole or (after and ends in (".", None))):
        return (_NO_WAY_BACK, "see in which folder each round is, and write a job for each")
    parts = (part for each in inside for word in each.words for part in word)
    if loop.variable not in {part.name for part in parts if isinstance(part, Unknown)}:
        return None
    values = [known(each) for each in loop.values]
    each_first = (first.replace(f"${{{loop.variable}}}", value or "$") for value in values)
    folders = [_resolved(reading, each) for each in each_first]
    # The script may have gone to another folder in front of the loop.
    outer = "." if is_whole else reached(reading, [each for each in changes if loop not in each.loops], ".")
    is_told = outer is not None and None not in folders and loop.count == len(folders)
    if len(inside) > 1 or not is_told or len(run.loops) > 1:
        return (_OWNFOLDERS, "write a job for each folder")
    whole = [normpath(join(outer or "", each or "")) for each in folders]
    sweep = flow({"grid": {"workdir": [written(each) for each in whole]}})
    todo = (
        f"where none needs another give --set workdir=null --set trials=null --set {quote(f'sweep={sweep}')}"
    )
    return (_OWNFOLDERS, f"{todo}, which makes a job for each")


def _is_elsewhere(reading: ShellReading, command: Command, run: Command) -> bool:
    return command.place != run.place and reading.is_apart(command.place, run.place)


def _target(command: Command) -> str:
    """Where cd or pushd goes to, "" where they have no word."""
    words = [each for each in command.words[1:] if (known(each) or "") not in ("-P", "-L", "-e", "-@", "--")]
    return shown(words[0]) if len(words) == 1 else ""


def _is_pattern(command: Command) -> bool:
    """Whether the shell looks for the folder among those that are there (cd /opt/x-*)."""
    return any(isinstance(part, Unknown) and part.kind == "files" for word in command.words for part in word)


def _is_whole(target: str) -> bool:
    return target.startswith("/")


def reached(reading: ShellReading, changes: Sequence[Command], base: str) -> str | None:
    """The folder after these, relative to where the job was submitted; None where it is not told."""
    here: str | None = base
    before: str | None = None
    left: list[str | None] = []
    for command in changes:
        target = _target(command)
        if command.program == "popd":
            here, before = (left.pop() if left and len(command.words) == 1 else None), here
            continue
        if command.program == "pushd":
            left.append(here)
        if target == "-":
            here, before = before, here
            continue
        told = target and not re.match(r"[-+]", target) and not _is_pattern(command)
        folder = _resolved(reading, target) if told else None
        own = _OF_SUBMISSION.match(target) is not None
        from_here = "." if own else here
        before = here
        here = None
        if folder is not None and (from_here is not None or folder.startswith("/")):
            here = normpath(join(from_here or "", folder))
    return here


def _way(changes: Sequence[Command]) -> str:
    """All that lead to the folder: the last alone names it from where those before it went."""
    return "; ".join(dict.fromkeys(" ".join(map(shown, each.words)) for each in changes))


def _asked_folder(text: str) -> str:
    return f"the folder in which the ranks start: {text}"


def _resolved(reading: ShellReading, text: str) -> str | None:
    """The folder, relative to where the job was submitted; None where it is not told."""

    def filled_in(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name in ("PWD", *SUBMITTED_FROM):
            return found[0] if found.start() else "."  # a whole path behind another is no folder
        each = reading.last(name)
        value = known(each.value) if each is not None else None
        return value if value is not None else "\0"

    text = _WHERE_IT_IS.sub(".", _OF_SCRIPT.sub(".", text))
    filled = re.sub(r"\$\{(\w+)\}|\$(\w+)", filled_in, text)
    return None if "\0" in filled or "$" in filled or _HOME.search(filled) else filled
