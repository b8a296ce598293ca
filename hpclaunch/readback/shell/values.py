"""What a word or a variable holds: text, and parts that are known only when the script runs."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from hpclaunch.readback.shell.errors import Unreadable
from hpclaunch.readback.shell.utilities import is_own

# Characters. Text may double with each statement (a=$a$a), and Linux takes no word of a command of more than
# 128 KiB (MAX_ARG_STRLEN, execve(2)).
_LONGEST = 1 << 20
_MOST_PARTS = 250_000
_BEYOND_MEASURE = "a value that grows beyond all measure"


class Unknown(Struct, frozen=True, gc=False):
    """Text that the script does not tell. `kind` is where it comes from, and `name` says more: the
    variable of the shell that started the script, the number of its argument, the command, the file that
    is read, the pattern of file names, or the statement after which a value depends on something unknown.
    `splits`: it may be several words, or none. `like` are patterns that it matches, and `of` the variables of
    a sum that have one of several values, of which nothing tells the one. `there`: a shell on another node
    finds it out, or each rank's own, and not that of the script."""

    kind: Literal["variable", "argument", "output", "input", "number", "files", "home", "either"]
    name: str
    splits: bool = False
    like: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    there: bool = False


class IfSet(Struct, frozen=True, gc=False):
    """${NAME+...} where it is not known whether the script starts with NAME: `then`, or nothing."""

    name: str
    then: "Value"


class Names(Struct, frozen=True, gc=False):
    """Any name of a variable that the script started with, but for those that match a pattern of `but`; where
    `only` is not empty those alone that match one of it."""

    only: tuple[str, ...] = ()
    but: tuple[str, ...] = ()


Part = str | Unknown | IfSet | Names
Value = tuple[Part, ...]


def join(parts: list[Part]) -> Value:
    """The parts as one value, neighbouring text in one piece. Raises Unreadable for a text beyond all
    measure."""
    if len(parts) == 1:
        return tuple(parts) if parts[0] else ()
    if len(parts) == 2 and parts[0] == "":  # "$x"
        return (parts[1],) if parts[1] else ()
    found: list[Part] = []
    texts: list[str] = []
    length = 0
    for part in parts:
        if isinstance(part, str):
            if part:
                texts.append(part)
                length += len(part)
            continue
        if texts:
            found.append("".join(texts))
            texts = []
        found.append(part)
    if texts:
        found.append("".join(texts))
    limit(found)
    if length > _LONGEST:
        raise Unreadable(_BEYOND_MEASURE)
    return tuple(found)


def limit(parts: Sequence[object]) -> None:
    """Raise Unreadable for more parts than any value has."""
    if len(parts) > _MOST_PARTS:
        raise Unreadable(_BEYOND_MEASURE)


def weight(value: Sequence[Part]) -> int:
    """What it costs to make this value, in what a budget counts: nothing for most."""
    if len(value) == 1 and isinstance(value[0], str):
        return len(value[0]) // 2000
    long = 0
    for part in value:
        if isinstance(part, str) and len(part) > 2000:
            long += len(part) // 2000
    return long + len(value) // 10


def known(value: Value) -> str | None:
    """The text, None where a part is not known."""
    if len(value) == 1:
        part = value[0]
        return part if isinstance(part, str) else None
    return None if value else ""


def known_parts(value: Value) -> str:
    """The text without the parts that are not known."""
    return "".join(part for part in value if isinstance(part, str))


def variable_alone(value: Value) -> str:
    """The variable that the value is, and no more; "" for any other value."""
    part = value[0] if len(value) == 1 else None
    return part.name if isinstance(part, Unknown) and part.kind == "variable" else ""


def base_name(word: Value) -> str:
    """The last part of a path, also where the folder is not known ($MPI_HOME/bin/mpirun), "" where it is not
    known itself."""
    last = word[-1] if word else ""
    text = last if isinstance(last, str) and "/" in last else known(word) or ""
    return text.rpartition("/")[2]


def program_of(words: Sequence[Value]) -> str:
    """The name of a command's program without its folder, "" where it is not known or there are no words. A
    program of somebody's own that has the name of a utility keeps its folder."""
    first = words[0] if words else ()
    path = known(first)
    return base_name(first) if path is None else _program_at(path)


@lru_cache(maxsize=1024)
def _program_at(path: str) -> str:
    return path if is_own(path) else path.rpartition("/")[2]


def shown(value: Value) -> str:
    """The value for people: what is unknown looks as in a script."""
    if len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return "".join(map(_shown, value))


def _shown(part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, IfSet):
        return f"${{{part.name}+{shown(part.then)}}}"
    if isinstance(part, Names):
        return "$(compgen -e)"
    if part.kind in ("variable", "argument", "either"):
        return f"${{{part.name}}}"
    # The shell's own input has no name.
    return f"$(< {part.name or '/dev/stdin'})" if part.kind == "input" and part.name[:1] != "$" else part.name
