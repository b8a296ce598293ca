"""Folders that a script makes only where they are missing: `mkdir -p` does the same, and asks nothing."""

import re

from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Value, known

# A condition of the walk: `if [ ! -d out ]`, or `not ([ -d out ])` of `[ -d out ] || mkdir out`.
_MISSING = re.compile(
    r"(?P<start>if |not \()(?P<before>! )?(?:\[\[? |test )(?P<inside>! )?-[de] (?P<path>[^\s)]+)[ \])]*$"
)


def conditions(command: Command) -> list[str]:
    """The conditions of the command, but for one by which the folder that it makes is not there."""
    if command.program != "mkdir":
        return list(command.conditions)
    return [each for each in command.conditions if not _is_missing(command, each)]


def words(command: Command, *, ends: bool) -> tuple[Value, ...]:
    """Its words, with -p where the script asked whether the folder is there, and where one that was there
    did not end the script (`ends`)."""
    may_be_there = len(conditions(command)) < len(command.conditions) or not ends
    has_it = any(known(word) in ("-p", "--parents") for word in command.words)
    if command.program != "mkdir" or has_it or not may_be_there:
        return command.words
    return (command.words[0], ("-p",), *command.words[1:])


def _is_missing(command: Command, condition: str) -> bool:
    found = _MISSING.search(condition)
    if found is None or (bool(found["before"]) + bool(found["inside"]) + (found["start"] != "if ")) % 2 == 0:
        return False
    folders = [word for word in command.written.split()[1:] if not word.startswith("-")]
    return [_plain(word) for word in folders] == [_plain(found["path"])]


def _plain(word: str) -> str:
    return re.sub(r"[\"'{}]|/$", "", word)
