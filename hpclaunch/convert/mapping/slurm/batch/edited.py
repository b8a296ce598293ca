"""A script that another one changes in place (sed -i, perl -i) before it submits it: what it says then is not
what was given."""

import re
from collections.abc import Iterable, Iterator

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.reading import Command, Directive, ShellReading
from hpclaunch.convert.shell import extended_regex
from hpclaunch.convert.shell.basic_regex import Unclear, matched
from hpclaunch.readback.shell.values import Value, shown
from hpclaunch.values.conversion import Place

_EDITORS = ("sed", "gsed", "perl")
_MOST = 2000  # lines
_MOST_SHOWN = 3
_UNKNOWN = "\0"
_ADDRESS = re.compile(r"\s*(?:(\d+)(?:,(\d+))?|/((?:\\.|[^/\\])*)/)?\s*([a-z])(.*)", re.DOTALL)
_ADD = ("a", "i")
_END = ("c", "d")


def by(reading: ShellReading, directive: Directive) -> Command | None:
    """The last command that may change the line before its script is submitted."""
    place = directive.place
    found = _edits(reading, place.file)
    text = "".join(_lines(reading, place.file)[place.line - 1 : place.line]) if found else ""
    for command, edits, extended in reversed(found):
        if any(_changes(each, text, place.line, extended) for each in edits):
            return command
    return None


def say(reading: ShellReading, draft: Draft) -> None:
    """Say of what changes other lines than those of #SBATCH that the script is read as it was given."""
    of_batch = {each.place.line for each in reading.directives if each.place.file == reading.script}
    lines = list(enumerate(_lines(reading, reading.script), 1))
    for command, edits, extended in _edits(reading, reading.script):
        its = [
            number
            for number, text in lines[:_MOST]
            if number not in of_batch and any(_changes(each, text, number, extended) for each in edits)
        ]
        if not its:
            continue
        places = (command.place, *(Place(reading.script, number) for number in its[:_MOST_SHOWN]))
        name = _base(reading.script)
        why = f"it may change {name} before that is submitted, which is read as it was given"
        todo = f"where it does convert again with {name} as it is then"
        draft.say("question", places, command.brief(), why=why, todo=todo)


def _edits(reading: ShellReading, file: str) -> list[tuple[Command, list[str], bool]]:
    """The commands of other scripts that change the file, with their edits."""
    if all(each.place.file == file for each in reading.started):
        return []
    found = []
    for command in reading.of(*_EDITORS):
        if command.place.file != file:
            files, edits, extended = _read(command)
            if any(_base(each) == _base(file) for each in files):
                found.append((command, edits, extended))
    return found


def _lines(reading: ShellReading, file: str) -> list[str]:
    return next((each.text for each in reading.sources if each.name == file), "").split("\n")


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _read(command: Command) -> tuple[list[str], list[str], bool]:
    """The files that it changes, the edits, and whether their patterns are extended ones."""
    words = list(layers(command.words)[-1].words[1:])
    is_perl = command.program == "perl"
    edits: list[str] = []
    rest: list[Value] = []
    extended, in_place = is_perl, False
    while words:
        word = words.pop(0)
        text = _text(word)
        if not text.startswith("-") or text == "-":
            rest.append(word)
        elif text.startswith("--"):
            in_place |= text.startswith("--in-place")
            extended |= text == "--regexp-extended"
            name, equals, value = text.partition("=")
            if name in ("--expression", "--file"):
                edits.append(value if equals and name == "--expression" else _UNKNOWN)
        else:
            letters = text[1:].partition("i")[0] if not is_perl else text[1:]
            in_place |= "i" in text
            extended |= not letters.strip("Ernsuz") and ("E" in letters or "r" in letters)
            if text.endswith(("e", "f")) and words:
                edit = words.pop(0)
                edits.append(_text(edit) if text.endswith("e") else _UNKNOWN)
    if rest and not edits:
        edits.append(_text(rest.pop(0)))
    return ([shown(each) for each in rest] if in_place else []), edits, extended


def _text(word: Value) -> str:
    return "".join(part if isinstance(part, str) else _UNKNOWN for part in word)


def _changes(edit: str, text: str, line: int, extended: bool) -> bool:
    """Whether the edit may change the line: so does any that is not understood."""
    found = _ADDRESS.fullmatch(edit)
    if found is None:
        return bool(edit.strip())
    first, last, pattern, does, rest = found.groups()
    is_there = True
    if first:
        is_there = int(first) <= line <= int(last or first)
    elif pattern is not None:
        is_there = _is_like(text, pattern, extended)
    if does in _END:
        return is_there
    if does in _ADD:
        return "SBATCH" in rest
    if does != "s" or not rest:
        return True
    parts = list(_parts(rest[1:], rest[0]))
    if len(parts) != 3:
        return True
    flags, _, more = parts[2].partition(";")
    looked = parts[0].replace("\\" + rest[0], rest[0])
    if "i" in flags.lower():
        looked, text = looked.lower(), text.lower()
    return (is_there and _is_like(text, looked, extended)) or (
        bool(more.strip()) and _changes(more, text, line, extended)
    )


def _parts(text: str, mark: str) -> Iterator[str]:
    """The two texts between the marks, and what stands behind them."""
    begin = at = count = 0
    while at < len(text) and count < 2:
        if text[at] == mark:
            yield text[begin:at]
            begin, count = at + 1, count + 1
        at += 2 if text[at] == "\\" else 1
    yield text[begin:]


def _is_like(text: str, pattern: str, extended: bool) -> bool:
    """Whether a part of the line is like the pattern, or may be."""
    if _UNKNOWN in pattern:
        return True
    try:
        if extended:
            return extended_regex.search(text, pattern) is not None
        return _is_found(pattern.removeprefix("^"), _begins(text, at_begin=pattern.startswith("^")))
    except Unclear:
        return True


def _begins(text: str, at_begin: bool) -> Iterable[str]:
    return (text,) if at_begin else (text[at:] for at in range(len(text) + 1))


def _is_found(pattern: str, texts: Iterable[str]) -> bool:
    return any(matched(each, pattern).end >= 0 for each in texts)
