"""The matrix of `nvidia-smi topo`: its cells, however the text was wrapped, coloured or turned into a table.

Nothing here knows what the cells mean; `nvidia_smi` does. A break is undone only where the row then has
exactly the cells that the header asks for, so a matrix is read right or refused.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.topology.readers import text as captures
from hpclaunch.topology.readers.text import Line, Row
from hpclaunch.values.errors import InputError

CPUS, NUMA, MEMORY = "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"

_LEVEL = r"(?:X|NV[0-9]{1,3}|PIX|PXB|PHB|NODE|SYS|SOC)"
_IS_LEVEL = re.compile(_LEVEL)
_EACH_LEVEL = re.compile(_LEVEL)
# Cells that lost the space between them. A number glued to NV# could belong to either.
_GLUED = re.compile(rf"({_LEVEL}{{2,}})|({_LEVEL}*(?:X|PIX|PXB|PHB|NODE|SYS|SOC))([0-9][0-9,-]*)")
_NUMBER_AND_NONE = re.compile(r"([0-9][0-9,-]*)(N/A)")
_GPU = re.compile(r"GPU[0-9]{1,4}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}")
_NAMES_GLUED = re.compile(r"(?<=[0-9])(?=(?:GPU|NIC)[0-9]|mlx[0-9]+_)")
_COLUMN = re.compile(r"CPU\s*Affinity|NUMA\s*Affinity|GPU\s+NUMA\s+ID|NUMA(?=\s*$)")
# A piece of a row has only what levels, numbers and N/A are made of.
_PIECE = re.compile(r"(?=.*[0-9A-Z])[XNVPIBHODESYCA0-9/,\s-]+")
_RULE = re.compile(r"[\s|:+=-]+")
_END = re.compile(r"\s*(?:NIC\s+)?Legend\b|\s*NIC[0-9]+\s*:", re.IGNORECASE)
# nvidia-smi itself leaves NICs out beyond about 60.
_MOST_DEVICES = 256


class Cells(Struct, frozen=True):
    """A row: a level for each device, and what stands under the other columns, None where the text does
    not tell which column a value is of."""

    row: Row
    levels: tuple[str, ...]
    tail: dict[str, str] | None


class Matrix(Struct, frozen=True):
    """A whole matrix. `rows` are in the order of `names`; NIC rows may be missing, all of them. `end` is
    the index of the first line after it, `begin` that of its header."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: dict[str, Cells]
    begin: int
    end: int


class _Misfit(ValueError):
    """A text that is no row of this matrix, and the word that tells it."""

    def __init__(self, message: str, word: str = ""):
        self.word = word
        super().__init__(message)


def begins(line: Line) -> bool:
    """Whether the line can be the header of a matrix, or the first piece of one."""
    words = _words(line.text)
    return bool(words and _GPU.match(words[0])) and not any(_IS_LEVEL.fullmatch(word) for word in words)


def read(lines: Sequence[Line], begin: int, file: str) -> Matrix:
    """The matrix whose header is at this index. Raises InputError with the place where it is none."""
    pieces, first = _header(lines, begin, file)
    header = Row(pieces)
    labels = {words[0] for line in lines[first:] if (words := _words(line.text))}
    problem: InputError | None = None
    for joined in dict.fromkeys(header.joined()):
        try:
            names, columns = _named(joined)
        except _Misfit as error:
            problem = problem or captures.wrong(file, str(error), *header.place(error.word))
            continue
        known = [name in labels for name in names]
        if not all(known) and any(
            one for name, one in zip(names, known, strict=True) if not _GPU.match(name)
        ):
            missing = names[known.index(False)]
            message = f"the matrix breaks off: there is no row for {missing}, which the header names"
            problem = problem or captures.wrong(file, message, *header.place(missing))
            continue
        try:
            return _filled(lines, begin, first, names, columns, file)
        except InputError as error:
            problem = error
    raise problem or captures.wrong(file, "the header of the matrix cannot be read", header.number)


def _header(lines: Sequence[Line], begin: int, file: str) -> tuple[tuple[Line, ...], int]:
    """The lines of the header, and the index of the first row."""
    label = _NAMES_GLUED.split(_words(lines[begin].text)[0])[0]
    pieces = [lines[begin]]
    for index in range(begin + 1, len(lines)):
        line = lines[index]
        words = _words(line.text)
        if words and words[0] == label:
            return tuple(pieces), index
        if words and not _RULE.fullmatch(line.text):
            pieces.append(line)
        if len(pieces) > _MOST_DEVICES:
            break
    number, shift = lines[begin].number, lines[begin].shift
    raise captures.wrong(file, f"this header of a matrix is followed by no row {label}", number, shift + 1)


def _named(header: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The devices and the other columns that a header names."""
    found = _COLUMN.search(header)
    cut = found.start() if found else len(header)
    columns = tuple(" ".join(match.group().split()) for match in _COLUMN.finditer(header, cut))
    if _COLUMN.sub("", header[cut:]).replace("|", " ").strip():
        raise _Misfit("the columns after the devices are none that nvidia-smi has", header[cut:].split()[0])
    columns = tuple({"NUMA": NUMA, "CPUAffinity": CPUS, "NUMAAffinity": NUMA}.get(c, c) for c in columns)
    names = tuple(name for word in _words(header[:cut]) for name in _NAMES_GLUED.split(word))
    if len(names) > _MOST_DEVICES:
        raise _Misfit(f"the header names {len(names)} devices, and no machine has that many", names[0])
    for name in names:
        if not _NAME.fullmatch(name):
            raise _Misfit(f"{captures.quoted(name)} is not the name of a device", name)
        if names.count(name) > 1:
            raise _Misfit(f"the header names {name} twice", name)
    if len(set(columns)) != len(columns):
        raise _Misfit(f"the header names {columns[0]} twice")
    return names, columns


def _filled(
    lines: Sequence[Line], begin: int, first: int, names: tuple[str, ...], columns: tuple[str, ...], file: str
) -> Matrix:
    found, end = _rows(lines, first, names, file)
    missing = [name for name in names if name not in found]
    nics = [name for name in names if not _GPU.match(name)]
    if missing and missing != nics:
        last = lines[end - 1]
        message = f"the matrix breaks off: there is no row for {missing[0]}, which the header names"
        raise captures.wrong(file, message, last.number)
    rows = {}
    for name in names:
        if name not in found:
            continue
        row = Row(tuple(found[name]))
        try:
            rows[name] = _cells(row, names, columns)
        except _Misfit as error:
            raise captures.wrong(file, f"row {name}: {error}", *row.place(error.word)) from None
    return Matrix(names, columns, rows, begin, end)


def _rows(
    lines: Sequence[Line], first: int, names: tuple[str, ...], file: str
) -> tuple[dict[str, list[Line]], int]:
    """The lines of each row, and the index after the last of them."""
    found: dict[str, list[Line]] = {}
    known = set(names)
    current: list[Line] = []
    end = first
    for index in range(first, len(lines)):
        line = lines[index]
        words = _words(line.text)
        if not words:
            if len(found) == len(known):
                break
        elif words[0] in known:
            if words[0] in found:
                if len(found) == len(known):
                    break
                raise captures.wrong(file, f"a second row {words[0]}", line.number, line.shift + 1)
            current = found[words[0]] = [line]
            end = index + 1
        elif _PIECE.fullmatch(line.text):
            current.append(line)
            end = index + 1
        elif _END.match(line.text):
            break
    return found, end


def _cells(row: Row, names: tuple[str, ...], columns: tuple[str, ...]) -> Cells:
    if len(row.pieces) == 1:
        split = _split(row.pieces[0].text)
        exact = _exact(split, names, columns) if split else None
        if exact is not None:
            return Cells(row, *exact)
    wrapped = len(row.pieces) > 1
    found = {}
    problem: _Misfit | None = None
    for joined in row.joined():
        try:
            levels, tail = _from_words(joined, names, columns, wrapped)
        except _Misfit as error:
            problem = problem or error
        else:
            found[levels, tuple(tail.items()) if tail is not None else None] = tail
    if len(found) > 1:
        raise _Misfit("it was wrapped, and its pieces fit together in more than one way")
    for (levels, _), tail in found.items():
        return Cells(row, levels, tail)
    raise problem or _Misfit("it cannot be read")


def _split(text: str) -> list[str]:
    """The cells where tabs or the bars of a table tell them."""
    if text.lstrip().startswith("|"):
        return [cell.strip() for cell in text.strip().strip("|").split("|")]
    return [cell.strip() for cell in text.split("\t")] if "\t" in text else []


def _exact(
    cells: list[str], names: tuple[str, ...], columns: tuple[str, ...]
) -> tuple[tuple[str, ...], dict[str, str] | None] | None:
    """The cells of a row where tabs or bars tell them, None where they do not fit the header."""
    levels = tuple(cells[1 : 1 + len(names)])
    tail = cells[1 + len(names) :]
    while tail and not tail[-1]:
        tail.pop()
    if len(tail) == len(columns) + 1 and columns[-1:] == (MEMORY,) and not tail[-2]:
        del tail[-2]  # nvidia-smi puts two tabs in front of this column's value
    if len(levels) != len(names) or len(tail) > len(columns) or not all(map(_IS_LEVEL.fullmatch, levels)):
        return None
    if tail and len(tail) < len(columns):
        return levels, None  # nvidia-smi writes all of them: the rest was cut off, and maybe a part of these
    return levels, dict(zip(columns, tail, strict=False))


def _from_words(
    joined: str, names: tuple[str, ...], columns: tuple[str, ...], wrapped: bool
) -> tuple[tuple[str, ...], dict[str, str] | None]:
    words = [part for word in _words(joined)[1:] for part in _unglued(word)]
    levels = tuple(words[: len(names)])
    for word in levels:
        if not _IS_LEVEL.fullmatch(word):
            if word[0].isdigit() or word == "N/A":
                count = words.index(word)
                raise _Misfit(f"{count} cells for the {len(names)} devices of the header", word)
            raise _Misfit(f"{captures.quoted(word)} is none of X, NV#, PIX, PXB, PHB, NODE, SYS, SOC", word)
    if len(levels) < len(names):
        raise _Misfit(f"{len(levels)} cells for the {len(names)} devices of the header")
    tail = words[len(names) :]
    if len(tail) > len(columns):
        raise _Misfit("more cells than the header has columns", tail[len(columns)])
    if len(tail) == len(columns):
        return levels, dict(zip(columns, tail, strict=True))
    if all(word == "N/A" for word in tail):
        return levels, {}
    if wrapped:
        raise _Misfit("fewer cells than the header has columns")
    return levels, None


def _unglued(word: str) -> list[str]:
    match = _GLUED.fullmatch(word)
    if match:
        levels = _EACH_LEVEL.findall(match.group(1) or match.group(2))
        return [*levels, match.group(3)] if match.group(3) else levels
    split = _NUMBER_AND_NONE.fullmatch(word)
    return list(split.groups()) if split else [word]


def _words(text: str) -> list[str]:
    return text.replace("|", " ").split() if "|" in text else text.split()
