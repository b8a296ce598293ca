"""Copies that a launcher makes to each node before its run -> `stage_in`, where each is nothing else: all
that is in a folder, to a folder, before anything may have changed either. Others stay steps, in order."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from posixpath import dirname, normpath

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.around.likeness import say_own, unlike
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.beside import PLUMBING, that
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.walk import inner
from hpclaunch.readback.shell.values import Value, known, program_of, shown

# Options with which rsync copies what it does with -a alone, and only says more, or goes another way about it
# (https://download.samba.org/pub/rsync/rsync.1).
_RSYNC = re.compile(
    r"-[avhqPWz]+|--(?:archive|verbose|human-readable|quiet|progress|stats|partial|whole-file|info=\w+)"
)
_RSYNC_ALL = re.compile(r"-\w*a\w*|--archive")
# Those of cp with which a folder is copied with all that is in it; -T: to this very name
# (https://www.gnu.org/software/coreutils/manual/html_node/cp-invocation.html).
_CP = re.compile(r"-[aRrvpT]+|--(?:archive|recursive|verbose|no-target-directory)")
_CP_ALL = re.compile(r"-\w*[aRr]\w*|--(?:archive|recursive)")
_CP_ONTO = re.compile(r"-\w*T\w*|--no-target-directory")
_FOLDER = re.compile(r"/[\w.+@%=-]+(?:/[\w.+@%=-]+)*(?:/|/\.)?")
_MKDIR = re.compile(r"-(?:p|v)+|--(?:parents|verbose)")
_MKDIR_ALL = re.compile(r"-\w*p\w*|--parents")
_ALL = "/"  # the folder that a command touches of which it is not told what it does
# Programs that change no file but those that their output goes to.
_LOOKS = PLUMBING - {"command", "eval", "function"} | that("words", "texts", "devices", "settings", "caches")
_TESTS = re.compile(r"\w+_perf(_mpi)?")  # NCCL's
# Those whose output becomes a value of the script.
_FILTERS = that("edits") - {"tee"} | {"git", "mktemp", "shuf"}
_CHANGES = that("files", "copies")  # nothing else than what their words name


class Staged(Struct, frozen=True):
    """The commands that copy, and those that only make or show a folder to which one does, by their ids."""

    copies: frozenset[int]
    prepares: frozenset[int]


def put(
    reading: ShellReading,
    all_steps: Sequence[Step],
    run: Command,
    containers: Mapping[str, Asked],
    draft: Draft,
) -> Staged:
    """Put the copies that stand before the run into the draft: what is copied after it is what it made.
    `containers` are those that steps make, with their images."""
    by_command = {id(step.command): step for step in all_steps}
    of_run = by_command.get(id(run))
    before = list(takewhile(lambda each: each is not run, reading.commands))
    copies: set[int] = set()
    targets: set[str] = set()
    touched, above = set[str](), set[str]()  # what may have been changed so far, and the folders around it
    kept = _changed_inside(reading, by_command, run) if any(map(_copy, all_steps)) else set[str]()
    for command in before if any(map(_copy, all_steps)) else ():
        step = by_command.get(id(command))
        copy = _copy(step) if step is not None else None
        is_first = copy and not any(side in above or touched.intersection(_up(side)) for side in copy)
        is_first = is_first and copy is not None and copy[1] not in kept
        if step is not None and copy and is_first and _is_on_all(step, of_run, containers, draft):
            number = draft.count("stage_in")
            why = "copied on each node, once: a copy that ended before is not made again"
            draft.put(("stage_in", number), ":".join(copy), reading.origin(command), command.brief(), why=why)
            if program_of(step.words) == "rsync":
                _say_once(command, f"stage_in.{number}", draft)
            if of_run is not None:
                say_own(step, of_run, f"stage_in.{number}", draft)
            copies.add(id(command))
            targets.add(copy[1])
        changed = () if command.signals else _touched(command, step)
        touched.update(changed)
        above.update(folder for each in changed for folder in _up(each))
        if _ALL in touched:
            break
    around = {folder for target in targets for folder in _up(target)}
    prepares = (
        each for each in before if targets and _prepares(each, by_command.get(id(each)), targets, around)
    )
    return Staged(frozenset(copies), frozenset(map(id, prepares)))


def _say_once(command: Command, key: str, draft: Draft) -> None:
    why = "rsync copied what had changed at its source since; a copy of stage_in that ended is not made again"
    todo = "where the source changes name it anew (/data/v2), or copy it in setup"
    draft.say("assumed", (command.place,), command.brief(), became=f"{key}: once", why=why, todo=todo)


def is_said(staged: Staged, command: Command, draft: Draft) -> bool:
    """Whether the command copies, or only makes or shows a folder to which one does: that is said of it."""
    if id(command) in staged.prepares:
        why = "stage_in makes the folder, and fails by name"
        draft.say("replaced", (command.place,), command.brief(), why=why)
    return id(command) in staged.copies or id(command) in staged.prepares


def _changed_inside(reading: ShellReading, by_command: Mapping[int, Step], run: Command) -> set[str]:
    """The folders in which other commands may change something, and do not take them away as a whole: of such
    a folder the next job would not know that it is to be copied again."""
    found: set[str] = set()
    for command in reading.commands:
        step = by_command.get(id(command))
        if command is not run and (step is None or _copy(step) is None):
            words = command.words if step is None else step.words
            its = inner(command, words) if program_of(words) in SHELLS else ()
            every = [(each, layers(each.words)[-1].words) for each in its] or [(command, words)]
            for each, own in every:
                for name in (*_written_to(own), *_outputs(each)):
                    found.update(_up(name))
    return found - {_ALL}


def _written_to(words: Sequence[Value]) -> Iterator[str]:
    """The folders and files that a command names and may change, without those that it takes away."""
    program = program_of(words)
    options, names = _split(list(map(shown, words[1:])))
    if program in _LOOKS or not words or (program == "mkdir" and _makes_folders(options)):
        return
    for name in names[-1:] if program in ("cp", "rsync") else names:
        folder = _folder_of(name)
        if name.startswith("/"):
            yield dirname(folder) if program in ("rm", "rmdir") and folder == normpath(name) else folder


def _is_on_all(step: Step, run: Step | None, containers: Mapping[str, Asked], draft: Draft) -> bool:
    """Whether the step, which is one task on each of its nodes, is on those of the run."""
    nodes = draft.facts.get(("nodes",))
    if nodes is not None and nodes.is_open and step.ranks.nodes is not None:
        return False
    return run is None or not unlike(step, run, containers, draft, "node")


def _copy(step: Step) -> tuple[str, str] | None:
    """From where and to where the step copies all that is in a folder, on each node; None for any other."""
    command = step.command
    if step.in_container or step.ranks.per_node != 1 or len(step.inner) != 1:
        return None
    if step.is_one_task or any(not each.name for each in step.asked):
        return None
    if step.before or command.prefix or command.signals or command.within or command.unnoticed:
        return None
    if command.loops or command.conditions or _outputs(command):
        return None
    program, *rest = map(known, step.words)
    words = [word for word in rest if word is not None]
    options, folders = _split(words)
    if len(words) < len(rest) or len(folders) != 2 or not all(map(_is_folder, folders)):
        return None
    source, target = folders
    if program == "rsync":
        is_plain = source.endswith(("/", "/.")) and all(map(_RSYNC.fullmatch, options))
        is_plain = is_plain and any(map(_RSYNC_ALL.fullmatch, options))
    else:
        is_plain = (
            program == "cp" and all(map(_CP.fullmatch, options)) and any(map(_CP_ALL.fullmatch, options))
        )
        is_plain = is_plain and (source.endswith("/.") or any(map(_CP_ONTO.fullmatch, options)))
    source, target = normpath(source), normpath(target)
    is_apart = source not in _up(target) and target not in _up(source)
    return (source, target) if is_plain and is_apart else None


def _is_folder(word: str) -> bool:
    return bool(_FOLDER.fullmatch(word)) and ".." not in word.split("/")


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options and the other words."""
    return [word for word in words if word.startswith("-")], [word for word in words if word[:1] != "-"]


def _outputs(command: Command) -> list[str]:
    """Where its output goes, where that is a file: `_ALL` for one that is not told."""
    names = (known(each.path) for each in command.writes)
    return [_folder_of(name) for name in names if name != "/dev/null"]


def _up(path: str) -> list[str]:
    """The folder or file, and all folders that it is in."""
    found = [path]
    while found[-1] != _ALL:
        found.append(dirname(found[-1]))
    return found


def _touched(command: Command, step: Step | None) -> list[str]:
    """The folders and files in which a command may change something."""
    words = command.words if step is None else step.words
    if step is not None and len(step.inner) > 1 and program_of(words) not in _LOOKS:
        return [_ALL]
    inside = step is not None and step.in_container
    found = list(_changed(command, layers(words)[-1].words))
    return [_ALL] if inside and found else found + _outputs(command)


def _changed(command: Command, words: Sequence[Value]) -> Iterator[str]:
    program, of_output = program_of(words), command.within == "output"
    if program in SHELLS:
        its = inner(command, words)
        for each in its:
            yield from _changed(each, layers(each.words)[-1].words)
            yield from _outputs(each)
        if not its:
            yield _ALL
    elif program in _CHANGES:
        texts = list(map(known, words[1:]))
        options, names = _split([text for text in texts if text is not None])
        if program == "mkdir" and _makes_folders(options):
            return
        if len(options) + len(names) < len(texts) or not all(
            re.fullmatch(r"-[a-zA-Z]+", each) for each in options
        ):
            yield _ALL
        yield from map(_folder_of, names)
    elif program not in _LOOKS and not _TESTS.fullmatch(program) and not (of_output and program in _FILTERS):
        yield _ALL


def _folder_of(name: str | None) -> str:
    """The folder that is changed where a command changes what is called so."""
    if name is None or not name.startswith("/") or ".." in name.split("/"):
        return _ALL
    plain = re.split(r"[*?\[{]", name, maxsplit=1)[0]
    return normpath(plain if plain == name else dirname(plain))


def _makes_folders(options: Sequence[str]) -> bool:
    return all(map(_MKDIR.fullmatch, options)) and any(map(_MKDIR_ALL.fullmatch, options))


def _prepares(command: Command, step: Step | None, targets: Collection[str], around: Collection[str]) -> bool:
    """Whether it only makes folders to which there are copies, or the ones `around` them, or shows one."""
    words = command.words if step is None else step.words
    options, names = _split([text for word in words[1:] if (text := known(word)) is not None])
    if len(options) + len(names) < len(words) - 1 or not all(map(_is_folder, names)) or _outputs(command):
        return False
    folders = list(map(normpath, names))
    if program_of(words) in ("ls", "du"):
        return bool(folders) and all(each in targets for each in folders)
    makes = program_of(words) == "mkdir" and _makes_folders(options)
    return makes and bool(folders) and all(each in around for each in folders)
