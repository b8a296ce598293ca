"""Variables that texts name, and values as Python and as a shell would have them."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import structs

from hpclaunch.convert.shell.quoted import single_quoted
from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.pieces import Literal, Parameter, Word
from hpclaunch.readback.shell.state import Array, State
from hpclaunch.readback.shell.statements import Simple
from hpclaunch.readback.shell.values import IfSet, Names, Part, Unknown, Value, join, known, shown

_NAMES = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)", re.ASCII)
_IN_ARITHMETIC = re.compile(r"\(\((.*?)\)\)", re.DOTALL)
STANDS = "_hpclaunch_"  # and a number: the name of a part that is not known
_STANDS_IN = re.compile(rf"\$\{{({STANDS}\d+)\}}")
_WHICH = re.compile(r"(?:\$\(|`)\s*(?:which|command -v|type -[pP])\s+([\w.+-]+)\s*(?:\)|`)")
FOLDER_OF = re.compile(r"\$\(dirname \$\(which ([\w.+-]+)\)\)")
_BEFORE_NAME = re.compile(r"(?:^|[\s=:;&|(])~$")
_OWN = ("USER", "LOGNAME")  # whose home folder is HOME
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def python(value: Value) -> Value:
    """A value with Python's text in it."""
    if len(value) == 1 and isinstance(value[0], str) and value[0].isascii():
        return value  # as nearly all are
    if all(not isinstance(part, str) or part.isascii() for part in value):
        return value
    return tuple(outside(part) if isinstance(part, str) else part for part in value)


def with_program(value: Value) -> Value:
    """A word with the name of the program that stands in it, where it is its path (`$(which NAME)`)."""
    part = value[0] if len(value) == 1 else ""
    found = _WHICH.fullmatch(part.name) if isinstance(part, Unknown) and part.kind == "output" else None
    return (Unknown("output", f"$(dirname $(which {found[1]}))"), f"/{found[1]}") if found else value


def used(written: str) -> tuple[str, ...]:
    """The variables that a text names."""
    if "$" not in written and "((" not in written:
        return ()
    names = dict.fromkeys(_NAMES.findall(written))
    if "((" in written:
        for expression in _IN_ARITHMETIC.findall(written):
            names.update(dict.fromkeys(_WORD.findall(expression)))
    return tuple(names)


def uses_of(statement: Simple) -> tuple[str, ...]:
    """The variables that a command names, also in its here-documents."""
    if not statement.redirections:
        return used(statement.written)
    found = dict.fromkeys(used(statement.written))
    for redirection in statement.redirections:
        if redirection.document is not None:
            pieces = redirection.document.pieces
            found.update({piece.name: None for piece in pieces if isinstance(piece, Parameter)})
    return tuple(found)


def as_given(written: str, unknown: Mapping[str, Unknown | IfSet | Names]) -> str:
    """A text of a shell with what the names of `with_names` stand for, as people see it."""
    if STANDS not in written:
        return written
    return _STANDS_IN.sub(lambda name: shown((unknown[name[1]],)) if name[1] in unknown else name[0], written)


def _with_homes(value: Value) -> Iterator[Part]:
    """The parts, with the home folder that the shell which reads them makes of a ~ and a name put in behind
    it: `eval echo ~$USER`, which the shell that puts the name in does not do."""
    parts = list(value)
    for index, part in enumerate(parts[1:]):
        before = parts[index]
        if not (isinstance(before, str) and isinstance(part, Unknown) and _BEFORE_NAME.search(before)):
            continue
        parts[index] = before[:-1]
        is_own = part.kind == "variable" and part.name in _OWN
        parts[index + 1] = Unknown("variable", "HOME") if is_own else Unknown("home", f"~{shown((part,))}")
    yield from parts


def with_names(
    value: Value, is_another: Callable[[str], bool] = lambda name: False, first: int = 0
) -> tuple[str, dict[str, Unknown | IfSet | Names]]:
    """A value as text that a shell could read, with a variable's name for each part that is not known: it was
    put in before that shell reads the text, and so between single quotes too. `is_another`: whether a
    variable of the submitter's has another value where the text is read, and a name of its own stands for
    the one that it had. `first` is the number of the first name: those before it are in use."""
    texts: list[str] = []
    named: list[tuple[int, int]] = []  # which of them are names, and where they begin
    unknown: dict[str, Unknown | IfSet | Names] = {}
    length = 0
    for part in _with_homes(value):
        text = part if isinstance(part, str) else ""
        if isinstance(part, Unknown) and part.kind == "variable" and not is_another(part.name):
            text = f"${{{part.name}}}"
        elif not isinstance(part, str):
            name = f"{STANDS}{first + len(unknown)}"
            unknown[name] = part
            text = f"${{{name}}}"
        if not isinstance(part, str):
            named.append((len(texts), length))
        texts.append(text)
        length += len(text)
    if named and any("'" in part for part in value if isinstance(part, str)):
        quoted = list(single_quoted("".join(texts)))
        starts = [each.start for each in quoted]
        for index, start in named:
            before = bisect_right(starts, start) - 1
            if before >= 0 and start in quoted[before]:
                texts[index] = f"'\"{texts[index]}\"'"
    return "".join(texts), unknown


def spaced(values: Sequence[Value]) -> Value:
    """The words of `eval` or of an array in one."""
    return join([part for index, value in enumerate(values) for part in ((" ", *value) if index else value)])


def is_default(word: Word, assumed: Collection[str]) -> bool:
    """Whether a word is ${X:-value} of one of these, and nothing else."""
    if not assumed:
        return False
    pieces = [piece for piece in word.pieces if piece != Literal("", True)]
    return (
        len(pieces) == 1
        and isinstance(pieces[0], Parameter)
        and pieces[0].operator in (":-", "-", ":=", "=")
        and pieces[0].name in assumed
    )


def separators(state: State) -> str | None:
    """What IFS has, None where that is not known."""
    variable = state.get("IFS")
    if variable is None or variable.value is None:
        return " \t\n"
    return None if isinstance(variable.value, Array) else known(variable.value)


def words_of(text: Value, separators: str | None) -> Array:
    """The words of the first line of a text, as `read -a` takes them with this IFS. One that is known in part
    is as much words as $(...) is."""
    line = known(text)
    if line is None and known(text[1:]) in ("", "\n"):
        return lines_of(text[:1])  # all that one command writes
    if line is None:
        return Array({}, whole=False)
    if separators is None:
        return Array({}, whole=False)
    line = line.partition("\n")[0]
    blank = "".join(char for char in separators if char in " \t\n")
    line = line.strip(blank) if blank else line
    if not separators or not line:
        return Array({0: (line,)} if line else {})
    space, other = f"[{re.escape(blank)}]" if blank else "(?!)", "".join(set(separators) - set(blank))
    ends = f"{space}*[{re.escape(other)}]{space}*|{space}+" if other else f"{space}+"
    words = re.split(ends, line)
    return Array(
        {index: (word,) if word else () for index, word in enumerate(words[:-1] if not words[-1] else words)}
    )


def lines_of(text: Value) -> Array:
    """The lines of a text that is known in part, as an array: they are as much words as those of $(...)."""
    parts = [structs.replace(part, splits=True) if isinstance(part, Unknown) else part for part in text]
    return Array({0: join(parts)} if parts else {})
