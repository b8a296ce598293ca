"""Variables that no line sets, behind a `source` of a file that was not given, or eval and export of what a
command writes: asked for."""

import re
from bisect import insort
from collections.abc import Sequence
from itertools import islice
from operator import itemgetter
from os.path import basename

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft, Fact, dotted
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.programs.beside import PLUMBING
from hpclaunch.convert.programs.environments import HOOKS, LOADERS
from hpclaunch.convert.programs.layers import Layer
from hpclaunch.convert.programs.names import STEPS
from hpclaunch.convert.programs.plain import of_env
from hpclaunch.convert.reading import Assigned, Command, Setter, ShellReading
from hpclaunch.readback.shell.values import Value, shown
from hpclaunch.values.conversion import Kind, Place

# What a login has of these the submitter's shell has too; the others set variables of their own alone.
OF_LOGIN = re.compile(
    r"(?:^|/)(?:\.bashrc|\.bash_profile|\.bash_login|\.profile|\.bash_aliases|(?:de)?activate|conda\.sh|mamba\.sh"
    r"|setup-env\.sh|modules\.sh|init/(?:ba)?sh)$|^/etc/(?:profile(?:\.d/[\w.-]+)?|bash\.?bashrc|bashrc)$"
)
# What these write sets up their own shell functions and variables.
_HOOK = re.compile(
    r"\$\((?:\S*/)?(?:conda|mamba|micromamba|ssh-agent|pyenv|direnv|starship|dircolors|modulecmd|lmod)\b"
)
# What starts nothing that could have the variables of a subshell.
_OF_ITSELF = PLUMBING | LOADERS | {"eval"}
_MOST_NAMES = 6
BY_FILE = "command: source "  # what became of a variable that a file of the ranks' own shells sets
OF_FILE = "a shell of the ranks sources the file, and does so as before"
# The key of findings about variables whose names are not told: all that is below it in a job file.
UNTOLD = "env"


class _Setter(Struct, frozen=True):
    """What may set variables that no line names. `what` it is, as a subject; `file`: it would tell them;
    `names`: these alone."""

    place: Place
    what: str
    file: str = ""
    names: tuple[str, ...] = ()


def ask(reading: ShellReading, draft: Draft) -> None:
    """What would be taken from the submitter's shell may be set by such a file, or by what a command writes:
    ask for it instead."""
    written = [
        each for each in reading.setters if not (_HOOK.match(each.text) or _is_for_itself(reading, each))
    ]
    # A loop does the same line once for each of its rounds.
    for by in dict.fromkeys(each for each in written if each.command):
        kind: Kind = "unread" if by.command == "eval" else "left"
        why = f"what {by.text} writes is not told, and what it exports reached the ranks too"
        todo = "write what they need of it in env"
        draft.say(kind, (by.place,), f"{by.command} {by.text}", why=why, todo=todo, key=UNTOLD)
    missing = [
        *_not_given(reading, draft),
        *(_Setter(each.place, _what(each), names=each.names) for each in written),
    ]
    _say_kept(reading, draft)
    _say_kept_before(reading, written, draft)
    files = [_Setter(place, f"{file}, which was not given,", file) for place, file in not_given(reading)]
    if missing or files:
        _doubt_defaults(reading, min([*missing, *files], key=lambda each: each.place.line), draft)
    if missing:
        _ask_for(reading, missing, draft)


def _is_for_itself(reading: ShellReading, setter: Setter) -> bool:
    """Whether a subshell has what it sets for itself: nothing else is started there, and what ends with that
    shell reaches nobody."""
    evaluates = next((each for each in reading.of(setter.command) if each.place == setter.place), None)
    shells = () if evaluates is None else evaluates.shells
    return bool(shells) and all(
        each.place == setter.place or each.program in _OF_ITSELF
        for each in reading.commands
        if each.shells[: len(shells)] == shells
    )


def by_ranks(reading: ShellReading, file: str) -> bool:
    """Whether the text of a shell that srun starts sources the file: each rank's own does, and what differs
    from rank to rank differs there."""
    return file != reading.script and _is_sourced_in(reading.of(*STEPS), file)


def _is_sourced_in(commands: Sequence[Command], file: str) -> bool:
    name = rf"(?<![\w.-]){re.escape(basename(file))}(?![\w.-])"
    sources = re.compile(rf"(?:^|[\s;&|({{])(?:source|\.)\s+\S*{name}")
    return any(sources.search(shown(word)) for each in commands for word in each.words[1:])


def say_by_ranks(reading: ShellReading, command: Command, draft: Draft) -> None:
    """Say of what is exported in a given file that nothing but the ranks' own shells sources that they have
    it so."""
    told = {place for each in draft.findings for place in each.places}
    of_ranks: dict[str, bool] = {reading.script: False}
    for each in reading.assigned:
        file = each.place.file
        if not each.exported or each.place in told or not each.name.isidentifier():
            continue
        if file not in of_ranks:
            of_ranks[file] = _is_sourced_in([command], file)
        if of_ranks[file]:
            became = f"{BY_FILE}{basename(file)}"
            draft.say("carried", (each.place,), each.name, became=became, why=OF_FILE, key="command")


def _say_kept(reading: ShellReading, draft: Draft) -> None:
    """Say of what the script gives a value before such a file that the file may give it another one."""
    files = dict(not_given(reading))
    behind = {each.place: each.behind for each in reading.sourced}
    found = (each for name in _used(reading, draft) if (each := reading.last(name)))
    given = sorted((each for each in found if _is_of_a_line(each)), key=lambda each: each.behind)
    before: list[tuple[str, Assigned]] = []  # of the file that is looked at, by their names
    at = 0
    for place, file in sorted(files.items(), key=lambda row: behind[row[0]]):
        while at < len(given) and given[at].behind <= behind[place]:
            insort(before, (given[at].name, given[at]), key=itemgetter(0))
            at += 1
        kept = list(islice((each for _, each in before if _is_before(each.place, place)), _MOST_NAMES))
        if kept:
            names = ", ".join(each.name for each in kept)
            why = f"{file} was not given, and may give another value to {names}"
            places = [place, *(each.place for each in kept)]
            todo = "convert again with it, or see that the values in the job file are those that count"
            draft.say("assumed", places, f"source {file}", why=why, todo=todo)


def _say_kept_before(reading: ShellReading, written: Sequence[Setter], draft: Draft) -> None:
    """Say the same of what a command writes for eval: it may set any variable."""
    used = sorted(_used(reading, draft))
    for by in (each for each in written if each.command == "eval"):
        found = (each for name in used if (each := reading.last(name)))
        file = by.place.file  # of what another file gives no line tells that it came before
        kept = [each for each in found if each.place.file == file and _is_before(each.place, by.place)]
        if kept := kept[:_MOST_NAMES]:
            why = f"{_what(by)} may give another value to {', '.join(each.name for each in kept)}"
            todo = "see that the values in the job file are those that count"
            places = [by.place, *(each.place for each in kept)]
            draft.say("assumed", places, f"{by.command} {by.text}", why=why, todo=todo)


def _used(reading: ShellReading, draft: Draft) -> set[str]:
    """The variables that are in the job's command, in what it does first, and in its env."""
    its = draft.facts.get(("command",))
    carried = (each for each in draft.findings if (each.kind, each.key) == ("carried", "command"))
    places = {*(its.places if its is not None else ()), *(place for each in carried for place in each.places)}
    used = {name for each in reading.commands if each.place in places for name in reading.used_by(each)}
    return used | {str(key[1]) for key in draft.facts if key[0] == "env" and len(key) == 2}


def _is_of_a_line(each: Assigned) -> bool:
    """Whether its value is from a line, and not from the command line."""
    return not each.place.file.startswith("--")


def _what(each: Setter) -> str:
    return f"what {each.text} writes" if each.command else "a line that was left out, as no shell takes it,"


def _ask_for(reading: ShellReading, missing: list[_Setter], draft: Draft) -> None:
    """Ask for each inherited variable that one of these may set."""
    rows = [fact for key, fact in draft.facts.items() if key[0] == "inherit" and len(key) == 2]
    setters = {fact.key: _setter(reading, fact, missing) for fact in rows}
    if not any(setters.values()):
        return
    said = {each.key: each for each in draft.findings}
    draft.drop("inherit", [place for fact in rows for place in fact.places])
    for fact in rows:
        finding, by = said[dotted(fact.key)], setters[fact.key]
        if by is None:
            key = ("inherit", draft.count("inherit"))
            draft.put(key, fact.value, fact.places, finding.what, why=finding.why)
            continue
        name = fact.value
        again = f"convert again with {by.file}, or " if by.file else ""
        todo = (
            f"{again}give --set env.{name}=VALUE; where the submitter's shell has it take it out there and "
            f"write inherit: [{name}]"
        )
        question = f"the value of {name}: {by.what} may set it"
        draft.ask(("env", name), question, (by.place, *fact.places), finding.what, todo=todo)
    for place, file in {each.place: each.file for each in setters.values() if each is not None}.items():
        if file:
            why = "it was not given, and what else it exports reached the ranks too"
            draft.say("left", (place,), f"source {file}", why=why, todo="give it beside the others")


def _not_given(reading: ShellReading, draft: Draft) -> list[_Setter]:
    """The files that the script sources, and that are not among the inputs."""
    by_ranks = _by_ranks(draft)
    rows = [row for row in not_given(reading) if row[0] not in by_ranks]
    return [_Setter(place, f"{file}, which was not given,", file) for place, file in rows]


def not_given(reading: ShellReading) -> list[tuple[Place, str]]:
    """Where the script sources what is not among the inputs, and no file of a login, nor one that it has a
    hook written into."""
    hooks = hook_files(reading)
    rows = [
        (each.place, shown(each.name)) for each in reading.sourced if not each.file and each.name not in hooks
    ]
    return [(place, file) for place, file in rows if not OF_LOGIN.search(file)]


def hook_files(reading: ShellReading) -> dict[Value, Command]:
    """conda shell.bash hook > FILE: the files, with what writes them."""
    its = (each for each in reading.of(*HOOKS) if not each.within)
    return {output.path: each for each in its for output in each.writes}


def say_env(command: Command, its: Sequence[Layer], draft: Draft) -> None:
    """Say of an env in front of the run that it gives variables which nobody knows: env $(cat FILE) srun."""
    for words in of_env(its):
        why = "which variables it gives to the ranks is known only where it runs"
        todo = "write what they need of it in env"
        draft.say("left", (command.place,), f"env {words}", why=why, todo=todo, key=UNTOLD)


def lost(reading: ShellReading, draft: Draft) -> list[str]:
    """What set variables of the ranks that nobody knows: files that were not given and that the ranks do not
    source, and what commands write. Within $(...) a file sets nothing for what comes behind."""
    within = {each.place for each in reading.sourced if each.within}
    files = (
        each.file
        for each in _not_given(reading, draft)
        if not (each.place in within or _is_behind(reading, each.place, draft))
    )
    return list(dict.fromkeys((*files, *(each.what for each in draft.findings if each.key == UNTOLD))))


def _is_behind(reading: ShellReading, place: Place, draft: Draft) -> bool:
    """Whether the script comes to the line when the run is over, and to the run no more."""
    run = draft.facts.get(("command",))
    its = [each for each in reading.commands if run is not None and each.place in run.places]
    return bool(its) and all(
        each.place.file == place.file
        and each.place.line < place.line
        and not (each.loops or each.function or each.background)
        for each in its
    )


def _doubt_defaults(reading: ShellReading, first: _Setter, draft: Draft) -> None:
    """${NAME:-default} behind such a line: the default counts, and it is said that the line may set it."""
    lines = {each.name: each.place for each in reading.assumed if _is_before(first.place, each.place)}
    for number, each in enumerate(draft.findings):
        if each.kind == "assumed" and each.what in lines and lines[each.what] in each.places:
            why = f"{each.why}; {first.what} may set it"
            draft.findings[number] = structs.replace(each, why=why)


def _by_ranks(draft: Draft) -> set[Place]:
    """Where the script sources what the job's command sources in each rank."""
    carried = (each for each in draft.findings if (each.kind, each.key) == ("carried", "command"))
    return {place for each in carried if each.what.startswith("source ") for place in each.places}


def _setter(reading: ShellReading, fact: Fact, missing: list[_Setter]) -> _Setter | None:
    """The last of those that may set the variable before a line asks for it."""
    if owner(fact.value) == "login":
        return None
    uses = reading.wanted.get(fact.value, fact.places)
    able = [each for each in missing if not each.names or fact.value in each.names]
    return next((each for each in reversed(able) if any(_is_before(each.place, use) for use in uses)), None)


def _is_before(place: Place, use: Place) -> bool:
    return place.file != use.file or place.line <= use.line
