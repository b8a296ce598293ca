"""Commands that give a script to another scheduler than Slurm: qsub, bsub and the like."""

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from posixpath import basename, normpath

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around import rounds
from hpclaunch.convert.mapping.schedulers import other_schedulers
from hpclaunch.convert.programs.names import OTHER_SUBMITTERS
from hpclaunch.convert.reading import Command, Directive, ShellReading
from hpclaunch.readback.shell.values import Value, known, shown

_SCRIPT = re.compile(r"^[^-].*\.(?:sh|bash|csh|pbs|job|sub|lsf|sge|qsub|bsub|cmd)$")
_OF_PROGRAMS = {"bsub": "BSUB", "oarsub": "OAR"}
_VALUES = {"-pe": 2}  # words behind an option, where they are not one
_FLUX = ("batch", "alloc")
# By an option that one of the two alone has, whose command is called qsub.
_OF_GRID_ENGINE = re.compile(r"-(?:cwd|pe|b|sync|terse|hold_jid|tc|wd)$|\b(?:h_rt|h_vmem|mem_free)=")
_OF_PBS = re.compile(r"-[WId]$|\b(?:nodes|select|walltime|ncpus|ppn)=")
_MOST = 200  # commands, of which the last count: no launcher has so many
_WRITTEN = "the script that it submits is read where the launcher writes it"
_GIVEN = "the script that it submits is among the files"
_ANOTHER = "a job of its own: what is told is of {}, which another line submits"


def say_other_jobs(whole: ShellReading, run: str, draft: Draft) -> AbstractSet[str]:
    """Say of the scripts that are given and submitted beside that of the run, a file, that they are others.
    Returns their files."""
    submits = [(command, words) for command in whole.commands if (words := _words(command)) is not None]
    its: dict[str, list[Command]] = {}
    for command, words in submits[-_MOST:]:
        its.setdefault(basename(_script(words)), []).append(command)
    own = basename(run)
    others = {each.name for each in whole.sources if basename(each.name) in its.keys() - {own}}
    if own not in its or not others:
        return frozenset()
    for file in sorted(others):
        asked = [each.place for each in whole.directives if each.place.file == file]
        for command in its[basename(file)]:
            why, todo = _ANOTHER.format(own), "make a job file of it too, where it is to run"
            draft.say("left", (command.place, *asked), command.brief(), why=why, todo=todo)
    return others


def without_variables_of(files: AbstractSet[str], reading: ShellReading, draft: Draft) -> ShellReading:
    """The reading without the variables that other jobs of `say_other_jobs` set alone: the files are read one
    after another."""
    own = {each.name for each in reading.assigned if each.place.file not in files}
    theirs = {
        each.name: each for each in reading.assigned if each.place.file in files and each.name not in own
    }
    commands = tuple(
        structs.replace(each, environment=tuple(pair for pair in each.environment if pair[0] not in theirs))
        for each in reading.commands
    )
    exported = {name for command in reading.commands for name, _ in command.environment}
    for name, each in theirs.items():
        if name in exported:
            draft.say("left", (each.place,), name, why="a variable of another job, which sets it")
    return structs.replace(reading, commands=commands)


def _script(words: Sequence[Value]) -> str:
    return next((text for word in words if _SCRIPT.search(text := known(word) or "")), "")


def put(
    whole: ShellReading,
    reading: ShellReading,
    asked: Sequence[Directive],
    draft: Draft,
    others: AbstractSet[str] = frozenset(),
) -> None:
    """What becomes of the commands that submit, in a launcher that asks for nothing itself. Their options
    count more than the lines of the script that they submit, which are `asked`. `others` are the files of
    `say_other_jobs`."""
    apart = {basename(each) for each in others}
    written = {_path(each.path) for command in whole.commands for each in command.writes}
    given = {basename(each.name) for each in reading.sources}
    asking = {each.place.file for each in asked}
    found = ((command, _words(command)) for command in whole.commands if not command.within)
    commands = [(command, words) for command, words in found if words is not None]
    for command, words in commands[-_MOST:]:
        script = _script(words)
        if basename(script) in apart:
            continue
        is_written = command.place in reading.followed
        if not is_written and command.place.file in asking:
            continue
        if is_written or (script and basename(script) in given):
            why = _WRITTEN if is_written else _GIVEN
            draft.say("carried", (command.place,), command.brief(), why=why)
        elif script:
            why = f"the lines of {script}, which it submits, tell what the job asks for and starts"
            draft.say("left", (command.place,), command.brief(), why=why, todo="give that file, too")
            if asked or len(commands) > 1:
                continue
        elif asked or len(commands) > 1:
            continue
        options = _before_script(words, {_path((script,)), *written} - {""})
        system = asked[0].system if asked else _system(command.program, options)
        if options and system:
            other_schedulers.put([Directive(command.place, options, system)], draft)
        rounds.say_rounds(command, draft)


def _before_script(words: Sequence[Value], scripts: Collection[str]) -> tuple[str, ...]:
    """The options in front of the script: of a file of `scripts`, or of a word that is no option's value."""
    found: list[str] = []
    room = 0
    for word in words:
        text = shown(word)
        room = _VALUES.get(text, 1) if text.startswith("-") else room - 1
        if room < 0 or _path(word) in scripts:
            break
        found.append(text)
    return tuple(found)


def _words(command: Command) -> Sequence[Value] | None:
    """What stands behind a command that submits, with the file that it reads (bsub < FILE); None for
    another."""
    words = command.words[1:]
    if command.program == "flux":
        return words[1:] if words and known(words[0]) in _FLUX else None
    if command.program not in OTHER_SUBMITTERS:
        return None
    return (*words, *([command.reads] if command.reads else ()))


def _system(program: str, options: Sequence[str]) -> str:
    if program == "qsub":
        of_sge, of_pbs = (any(map(form.search, options)) for form in (_OF_GRID_ENGINE, _OF_PBS))
        return "" if of_sge == of_pbs else "$" if of_sge else "PBS"
    return "FLUX" if program == "flux" else _OF_PROGRAMS.get(program, "")


def _path(word: Value) -> str:
    return normpath(shown(word)) if shown(word) else ""
