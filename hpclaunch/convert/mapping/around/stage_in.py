"""Copies that a launcher makes to each node before its run -> `stage_in`."""

import re
from collections.abc import Sequence
from itertools import takewhile

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.sruns import Step
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, known, program_of, shown

_COPIES = re.compile(r"^(rsync|cp|copy[-_.\w]*)$")
_LOOKS = re.compile(r"\b(ls|du)\b")
_PREPARES = frozenset(("mkdir", "ls", "du", "find"))


class Staged(Struct, frozen=True):
    """The commands that copy, by their id, and the folders to which they do."""

    commands: frozenset[int]
    targets: tuple[str, ...]


def put(reading: ShellReading, all_steps: Sequence[Step], run: Command, draft: Draft) -> Staged:
    """Put the copies that stand before the run into the draft: what is copied after it is what it made."""
    before = {id(each) for each in takewhile(lambda each: each is not run, reading.commands)}
    commands, targets = set(), []
    for step in all_steps:
        command = step.command
        copy = _copy(step) if id(command) in before and not command.signals else None
        if copy is None:
            continue
        source, target = copy
        why = "copied on each node, once: a copy that ended before is not made again"
        key = ("stage_in", draft.count("stage_in"))
        draft.put(key, f"{source}:{target}", reading.origin(command), command.brief(), why=why)
        commands.add(id(command))
        targets.append(target)
    return Staged(frozenset(commands), tuple(targets))


def _copy(step: Step) -> tuple[str, str] | None:
    """From where and to where the step copies on each node, None for any other step."""
    words = [path(word) for word in step.words]
    program = (words[0] or "").rpartition("/")[2] if words else ""
    if not _COPIES.match(program) and not (words and words[0] is None and len(words) == 3):
        return None
    script = known(step.words[0]) is None or program.startswith("copy")
    if script and "copy" not in shown(step.words[0]):
        return None
    folders = [word for word in words[1:] if word is None or not word.startswith("-")]
    if step.in_container or len(folders) != 2 or step.ranks.per_node != 1 or step.is_one_task:
        return None
    if any(not each.endswith("a loop") for each in step.command.conditions):
        return None
    source, target = folders
    if not source or not target or not target.startswith("/") or not source.startswith("/"):
        return None
    return source.rstrip("/"), target.rstrip("/")


def is_said(staged: Staged, command: Command, words: Sequence[Value], draft: Draft) -> bool:
    """Whether the command with these words copies, or only prepares or shows a folder to which one does: that
    is said of it."""
    if id(command) in staged.commands:
        return True
    text = " ".join(map(shown, words))
    names = any(target and target in text for target in staged.targets)
    if not names or not (program_of(words) in _PREPARES or _LOOKS.search(text)):
        return False
    why = "stage_in makes the folder, and fails by name"
    draft.say("replaced", (command.place,), command.brief(), why=why)
    return True
