"""The files that commands of a script write, and the commands that name them later."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import normpath

from msgspec import Struct

from hpclaunch.convert.mapping.words.texts import from_here, is_here
from hpclaunch.convert.reading import Command
from hpclaunch.readback.shell.values import Unknown, Value, join, shown
from hpclaunch.values.conversion import Place

_MOST = 200  # files that are looked for in a word with * in it, and patterns
_TOKEN = re.compile(r"[^\s'\"=;|&<>()`,]+")
_GLOB = re.compile(r"[*?\[]")
_LONG = 5000  # characters of a word
# sbatch(1), "filename pattern": the job's number, and what else stands for something.
_OF_SLURM = re.compile(r"%\d*([a-zA-Z])")
_NUMBER = r"(?:\$\{?\w+\}?|\d+|\*)"
_TELLING = re.compile(r"[A-Za-z0-9]{2}")


class Written(Struct, frozen=True):
    """A file by its name, and who writes it."""

    name: str
    place: Place


class Files:
    """Some files that are written."""

    def __init__(self) -> None:
        self._by_name: dict[str, Written] = {}
        self._patterns: list[tuple[re.Pattern[str], Written]] = []

    def add(self, command: Command, path: Value) -> None:
        """A file that the command writes."""
        name = _name(command, path)
        if name.startswith("/dev/") or not _TELLING.search(name):
            return
        own = {loop.variable for loop in command.loops if loop.variable}
        written = Written(shown(path), command.place)
        self._by_name[name] = written
        parts = _from_submission(command.folder, path)
        if any(isinstance(part, Unknown) and part.name in own for part in parts):
            texts = (
                ".+" if isinstance(part, Unknown) and part.name in own else re.escape(shown((part,)))
                for part in parts
            )
            self._pattern("".join(texts), written)

    def add_of_slurm(self, name: str, place: Place) -> None:
        """A file that Slurm writes, by the pattern of its name."""
        pieces = _OF_SLURM.split(normpath(name))
        texts = [
            re.escape(piece) if not at % 2 else _NUMBER if piece in "jJA" else ".+"
            for at, piece in enumerate(pieces)
        ]
        self._pattern("".join(texts), Written(name, place))

    def _pattern(self, text: str, written: Written) -> None:
        if len(self._patterns) < _MOST and _TELLING.search(text.replace(_NUMBER, "")):
            self._patterns.append((re.compile(text), written))

    def take(self, command: Command, path: Value) -> None:
        """One of them is none any more."""
        self._by_name.pop(_name(command, path), None)

    def named_by(
        self, command: Command, words: Sequence[Value], *, folders: bool = False, patterns: bool = True
    ) -> Written | None:
        """The file that the words of the command, or its input, name; None for none of them. `folders`: also
        one in a folder that they name; `patterns`: also by words with * in them."""
        if not self._by_name and not self._patterns:
            return None
        given = [*words[1:], *([command.reads] if command.reads else [])]
        for name in (name for word in given for name in _names(command, word)):
            if not patterns and _GLOB.search(name):
                continue
            found = self._by_name.get(name) or self._like(name)
            if found is None and folders and name not in (".", "/"):
                found = self._within(name)
            if found is not None:
                return found
        return None

    def _like(self, name: str) -> Written | None:
        for pattern, written in self._patterns:
            if pattern.fullmatch(name):
                return written
        if not _GLOB.search(name):
            return None
        own = [written for known, written in self._first() if fnmatchcase(known, name)]
        return own[0] if own else None

    def _within(self, folder: str) -> Written | None:
        return next((each for name, each in self._first() if name.startswith(f"{folder}/")), None)

    def _first(self) -> Iterator[tuple[str, Written]]:
        return (each for each, _ in zip(self._by_name.items(), range(_MOST), strict=False))


def _names(command: Command, word: Value) -> Iterator[str]:
    """What may be a file in a word, which is perhaps a text for a shell."""
    yield _name(command, word)
    text = shown(word)[:_LONG]
    if _TOKEN.fullmatch(text) is None:
        yield from (_name(command, (token,)) for token in _TOKEN.findall(text))


def _name(command: Command, path: Value) -> str:
    return _seen(command.folder, path)


@lru_cache(maxsize=1 << 14)  # a long text has the same words in each of its lines
def _seen(folder: Value, path: Value) -> str:
    return normpath(shown(_from_submission(folder, path)) or ".")


def _from_submission(folder: Value, path: Value) -> Value:
    """The path as seen from the folder of submission."""
    first = path[0] if path else ""
    if is_here(first):
        return from_here(path)
    if not isinstance(first, str) or first.startswith(("/", "~")) or not folder:
        return path
    return join([*from_here(folder), "/", *path])
