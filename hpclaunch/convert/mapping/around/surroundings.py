"""What a script does to its own shell before the run: modules, virtual environments, limits. srun handed that
on to the ranks; a job's ranks start from nothing, and do it themselves."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from posixpath import join, normpath

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import hooks, working_folder
from hpclaunch.convert.mapping.environment import first_lines
from hpclaunch.convert.mapping.environment.all_exported import with_switches
from hpclaunch.convert.mapping.environment.in_order import Moment, Prepared, at, moment_of, source_at
from hpclaunch.convert.mapping.environment.on_conditions import guarded
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.programs.environments import CONDAS, LOADERS
from hpclaunch.convert.reading import Command, ShellReading, Sourced, once
from hpclaunch.convert.shell.folder import FOLDERS
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.readback.shell.values import join as joined
from hpclaunch.values.conversion import Place

# Of Lmod and Environment Modules; ml without a word lists what is loaded.
_SHOW = [[name] for name in ("list", "avail", "av", "spider", "show", "display", "whatis", "help", "keyword")]
_PREPARES = LOADERS | {"ulimit", "umask", "pyenv"}
# Why it is left, and what to do.
UMASK = (
    "srun handed it on: it is in the modes of the files that ranks make",
    "where others need those files, let the command begin with it",
)
# Of the process and not of its files, so that a container has it too: why it is left, and what to do.
_OF_PROCESS = {
    "ulimit": (
        "srun handed this limit on; ranks have those of the node now (--propagate=NONE)",
        "where the program needs it, begin the command with it",
    ),
    "umask": UMASK,
}
# Not a configuration that was forgotten, but software of the machine or an environment of the user's.
_ENVIRONMENT = re.compile(r"^(?!.*\bconfig_)(/|~|\$\{?HOME)|(?:^|/)(?:de)?activate$|conda\.sh$")
_OF_CONDA = ("activate", "deactivate")  # `source activate` finds them where PATH leads (bash(1), "source")
_SET = LOADERS | {"source", "eval"}
_FIRST = (-1, 0)  # before all commands


def put(
    reading: ShellReading,
    run: Command,
    draft: Draft,
    *,
    image: bool,
    inside: bool = False,
    kept_back: str = "",
) -> list[Prepared]:
    """The commands that a rank runs first, in their order, with their lines. Those of a job in an image are
    left, and that is said, but where the script was itself in it (`inside`). `cd` becomes the working
    folder. `kept_back` is the option that hands nothing on that the script's shell exports, "" for none."""
    if not (kept_back or inside):
        first_lines.say(reading, image, draft)
    all_found = before(reading, run, None if image else draft, inside=inside)
    found = []
    for each in all_found:
        if not kept_back or known(each.words[0]) in _OF_PROCESS:
            found.append(each)
        else:
            why = f"what it exports {kept_back} keeps from the ranks"
            draft.say("without effect", (each.place,), " ".join(map(shown, each.words)), why=why)
    for where, words, *_ in found:
        what = " ".join(map(shown, words))
        if image and not inside:
            why = "it prepares the host's shell; what it exports and the image does not set, ranks had too"
            todo = "write what the ranks need of it in env"
            why, todo = _OF_PROCESS.get(known(words[0]) or "", (why, todo))
            draft.say("left", (where,), what, why=why, todo=todo)
        else:
            why = "a rank's environment is its own, so each rank does it in a login shell"
            if inside:
                why = "the script did it in the container, where the ranks' own shell does it now"
            became, places = f"command: bash -lc '{what}; ...'", (where, *hooks.writes(reading, where))
            draft.say("carried", places, what, became=became, why=why, key="command")
    if image:
        return found if inside else []
    # Files that are sourced are named as from there, whatever line went there.
    folder = (Prepared(Place(""), words, _FIRST) for words in working_folder.put(reading, run, draft))
    return [*folder, *found]


def before(
    reading: ShellReading, run: Command, draft: Draft | None = None, *, inside: bool = False
) -> list[Prepared]:
    """What the script's shell did before a command that it starts, in that order. Where the path of a file is
    not told the draft says so."""
    found: list[Prepared] = []
    programs = _PREPARES | FOLDERS if inside else _PREPARES
    end = moment_of(reading, run)
    for index, command in _preparing(reading):
        if index < end[0] and command.program in programs:
            found += _rounds(command, run, at(index))
    for sourced in reading.sourced:
        moment = source_at(sourced)
        if not (sourced.file or sourced.within) and moment < end and _ENVIRONMENT.search(shown(sourced.name)):
            here = path(sourced.name)
            if here is not None and not inside:
                here = _from_ranks(reading, run, sourced, here, draft)
            name: Value = sourced.name if here is None else (here,)
            words = (("source",), name, *sourced.arguments)
            row = (sourced.place, words, moment, sourced.conditions, sourced.written)
            found.append(Prepared(*row, sourced.shells))
    found += [each for each in hooks.found(reading) if each.moment < end]
    found += _unset(reading, found, end)
    in_time = sorted(found, key=lambda each: each.moment)
    own = [each for each in in_time if each.is_of(run)]
    kept = []
    for each, open_condition in guarded(reading, own):
        if not open_condition:
            kept.append(each)
        elif draft is not None:
            why = f"it hangs on a condition that a rank cannot look at: {open_condition}"
            todo = "where ranks need it begin the command with it"
            draft.say("left", (each.place,), " ".join(map(shown, each.words)), why=why, todo=todo)
    return list(with_switches(reading, kept))


@once
def _preparing(reading: ShellReading) -> tuple[tuple[int, Command], ...]:
    """Commands that may prepare the shell for those behind them, with their numbers among all."""
    its = (
        (index, each) for index, each in enumerate(reading.commands) if each.program in _PREPARES | FOLDERS
    )
    return tuple((index, each) for index, each in its if not (each.within or _shows(each)))


def _rounds(command: Command, run: Command, moment: Moment) -> Iterator[Prepared]:
    """The command, once for each round of a loop in which it is another one: for m in a b; do module load
    $m; done. Where the rounds are not told it hangs on that."""
    names = {part.name for word in command.words for part in word if isinstance(part, Unknown)}
    loop = next((each for each in command.loops if each.variable in names), None)
    conditions = command.conditions
    if loop is None or loop.count != len(loop.values) or loop in run.loops:
        over = (
            () if loop is None else (f"{loop.place}: another one in each round of a loop over {loop.over}",)
        )
        row = (command.place, command.words, moment, (*conditions, *over), command.written)
        yield Prepared(*row, command.shells)
        return
    for value in loop.values:
        words = tuple(_with_value(word, loop.variable, value) for word in command.words)
        yield Prepared(command.place, words, moment, conditions, command.written, command.shells)


def _with_value(word: Value, name: str, value: Value) -> Value:
    parts = [(part,) if not isinstance(part, Unknown) or part.name != name else value for part in word]
    return joined([part for each in parts for part in each])


def _unset(reading: ShellReading, found: Sequence[Prepared], end: Moment) -> Iterator[Prepared]:
    """What is unset behind files and modules, which may have set it."""
    begin = min((each.moment for each in found if known(each.words[0]) in _SET), default=end)
    for index, command in enumerate(reading.commands[begin[0] : end[0]], begin[0]):
        if command.program == "unset" and not (command.within or command.function):
            row = (command.place, command.words, at(index), command.conditions, command.written)
            yield Prepared(*row, command.shells)


def _shows(command: Command) -> bool:
    """Whether it only shows what it could set, writes it for an eval, or sets nothing."""
    rest = [known(word) or "?" for word in command.words[1:]]
    if command.program in ("module", "ml"):
        words = [word for word in rest if not word.startswith("-")]
        return words[:1] in _SHOW if words or command.program == "module" else True
    if command.program in CONDAS:  # what else it does is done with it: it lists, installs, runs a program
        return next((word for word in rest if not word.startswith("-")), "") not in _OF_CONDA
    if "hook" in rest or (command.program == "pyenv" and rest[:1] == ["init"]):
        return True
    return command.program == "umask" and all(word.startswith("-") for word in rest)


def _from_ranks(reading: ShellReading, run: Command, sourced: Sourced, name: str, draft: Draft | None) -> str:
    """The path of a file as the ranks find it, who start where the script is when it comes to the run. Where
    that is not told the draft says so."""
    if name.startswith("/") or name in _OF_CONDA or sourced.folder == run.folder:
        return name
    at, start = (path(each) if each else "." for each in (sourced.folder, run.folder))
    if at == start and at is not None:
        return name
    if at is None or start is None:
        return _from_there(sourced, run, name, draft)
    whole = normpath(join(at, name))
    if whole.startswith("/"):
        return whole
    submitted = reading.last("PWD")
    if submitted is not None and start.startswith("/") and (folder := known(submitted.value)):
        return normpath(join(folder, whole))
    if start.startswith("/"):
        if draft is not None:
            why = f"it is found from the folder of submission, and the ranks start in {start}"
            todo = "write its whole path in the command, or convert again with --env PWD=/FOLDER"
            draft.say("question", (sourced.place,), f"source {name}", why=why, todo=todo)
        return name
    if _leads_down(start, whole):
        return _from_there(sourced, run, name, draft)
    return posixpath.relpath(whole, start)


def _leads_down(folder: str, other: str) -> bool:
    """Whether the way from the folder to the other leads down through folders whose names are not told."""
    return folder.split("/").count("..") > other.split("/").count("..")


def _from_there(sourced: Sourced, run: Command, name: str, draft: Draft | None) -> str:
    """The path of a file from a folder that the ranks' shell goes to by a name of the user's (cd ~/work): it
    goes there first."""
    at, start = sourced.folder or (".",), run.folder or (".",)
    root = at[0]
    if isinstance(root, Unknown) and start[:1] == (root,):
        whole, folder = (normpath(shown(each)) for each in ((*at, f"/{name}"), start))
        if whole.startswith(shown((root,))):
            return posixpath.relpath(whole, folder)
    if draft is not None:
        here = "the folder of submission" if at == (".",) else shown(at)
        why = f"it is found from {here}, and the command reads it in {shown(start)}"
        todo = "write its whole path in the command"
        draft.say("question", (sourced.place,), f"source {name}", why=why, todo=todo)
    return name
