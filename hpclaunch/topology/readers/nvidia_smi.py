"""`nvidia-smi topo -m` and `-mp`: how near GPUs and HCAs are to each other, and the CPUs of each GPU.

The words of the cells are those of its own legend (SOC is what drivers before 2017 said for SYS). Old
drivers name the HCAs in the header, newer ones write NIC0, NIC1 and a legend below. Two things that no
manual says were found in many published captures: a list of CPUs is cut off without a sign where it gets
longer than its column ("0,2,4,6,8,10" on machines that number the sockets in turn), and of more than
about 60 NICs the rest is left out, with a line that says so.
"""

import re
from collections.abc import Sequence

from hpclaunch.topology.readers import matrix
from hpclaunch.topology.readers import text as captures
from hpclaunch.topology.readers.matrix import Cells, Matrix
from hpclaunch.topology.readers.text import Line
from hpclaunch.topology.seen import Distance, GpuSeen, HcaSeen, Level, Origin, Seen
from hpclaunch.values.errors import InputError

FORMAT = "nvidia-smi topo"
_LEVELS: dict[str, Level] = {
    "PIX": "PIX",
    "PXB": "PXB",
    "PHB": "PHB",
    "NODE": "NODE",
    "SYS": "SYS",
    "SOC": "SYS",
}
_LOOKS = re.compile(
    r"^[^\w\n]{0,40}GPU[0-9]+.*(?:\n.*){0,9}?\n[^\w\n]{0,40}GPU[0-9]+[\s|]{1,40}X\b"
    r"(?![\s|]{1,40}(?:OK|[CGT]?NS|DR|U)\b)",  # the matrix of peer access (topo -p2p)
    re.MULTILINE,
)
_NIC = re.compile(r"NIC[0-9]{1,4}")
_NUMBERED = re.compile(r"(?:GPU|NIC)[0-9]")
_NICS = re.compile(r"\s*(?:NIC[0-9]{1,4}\s*:\s*[A-Za-z][A-Za-z0-9_.-]*\s*)+")
_EACH_NIC = re.compile(r"(NIC[0-9]{1,4})\s*:\s*([A-Za-z][A-Za-z0-9_.-]*)")
_LEGEND = re.compile(r"\s*(?:NIC )?Legend\s*:?", re.IGNORECASE)
# The words of the matrix, and those of its sisters for peer access (topo -p2p).
_MEANING = re.compile(r"\s*(?:X|SYS|SOC|NODE|PHB|PXB|PIX|NV#|OK|[CGT]?NS|DR|U)\s*=\s*\S.*")
_PROMPT = re.compile(r".*\bnvidia-smi\s+topo\b.*")
_MOST_HEADERS = 6
_MOST_NICS = 4096


def looks_like(text: str) -> bool:
    """Whether there is a line that begins with a GPU and, soon after it, a row "GPU0 X"."""
    return _LOOKS.search(captures.without_codes(text)) is not None


def read(text: str, file: str) -> Seen:
    """What the matrix and its legend tell. NVLink is not a distance over PCI and is left out.

    Raises InputError where there is no whole matrix, where it contradicts itself (not the same both ways,
    the diagonal not X), and where there are two.
    """
    lines = captures.lines(text, file, longest=captures.LONGEST)
    found, others = _matrix(lines, file)
    legend, legend_lines = _legend(lines, file)
    # In old layouts the label is the name.
    names = {label: label for label in found.names if not _NUMBERED.match(label)} | legend
    last = max((index for index, line in enumerate(lines) if line.text.strip()), default=0)
    if last in legend_lines and any(_NIC.fullmatch(label) and label not in legend for label in found.names):
        del names[legend_lines[last]]  # the legend was cut off, perhaps in the middle of this name
    _agree(found, file)
    origin = Origin(file, FORMAT)
    notes: list[str] = []
    gpus = [_gpu(label, cells, file, notes) for label, cells in found.rows.items() if label.startswith("GPU")]
    known = {index for index, _ in enumerate(lines) if found.begin <= index < found.end} | legend_lines.keys()
    left = [line for index, line in enumerate(lines) if index not in known and index not in others]
    where = {label: lines[index].number for index, label in legend_lines.items()}
    nameless = [label for label in found.names if _NIC.fullmatch(label) and label not in names]
    if nameless:
        notes.append(
            f"{file}: no legend names {', '.join(nameless[:3])}{' ...' * (len(nameless) > 3)}: left out"
        )
    without = [label for label in found.names if label not in found.rows]
    if without:
        notes.append(
            f"{file}: no row begins with {without[0]}: how near the HCAs are to each other is unknown"
        )
    return Seen(
        origin=origin,
        gpus=tuple(gpus),
        hcas=_hcas(found, names, where, file),
        levels=_levels(found, names, file),
        unread=(*notes, *captures.unread(origin, left)),
    )


def _matrix(lines: Sequence[Line], file: str) -> tuple[Matrix, set[int]]:
    """The one matrix of the text, and the lines that need no mention."""
    found: Matrix | None = None
    problems: list[tuple[int, InputError]] = []
    begin = 0
    while begin < len(lines) and len(problems) < _MOST_HEADERS:
        line = lines[begin]
        begin += 1
        if not matrix.begins(line):
            continue
        try:
            one = matrix.read(lines, begin - 1, file)
        except InputError as error:
            problems.append((len(line.text), error))
            continue
        if found is not None:
            message = f"a second matrix; the first begins in line {lines[found.begin].number}: split the file"
            raise captures.wrong(file, message, line.number, line.shift + 1)
        found, begin = one, one.end
    if found is None:
        if problems:
            raise max(problems, key=lambda each: each[0])[1]
        raise captures.wrong(file, "no matrix of nvidia-smi topo -m: no line begins a header with a GPU")
    return found, _plain(lines)


def _plain(lines: Sequence[Line]) -> set[int]:
    """Empty lines, the command itself, and the legend of the levels, also where it was wrapped."""
    found = set()
    inside = False
    for index, line in enumerate(lines):
        meaning = _MEANING.fullmatch(line.text) is not None
        inside = bool(line.text.strip()) and (meaning or inside)
        if not line.text.strip() or inside or _LEGEND.fullmatch(line.text) or _PROMPT.fullmatch(line.text):
            found.add(index)
    return found


def _legend(lines: Sequence[Line], file: str) -> tuple[dict[str, str], dict[int, str]]:
    """The HCA of each label, and the label by the index of the line that names it."""
    said: dict[str, str] = {}
    used: dict[int, str] = {}
    for index, line in enumerate(lines):
        if not _NICS.fullmatch(line.text):
            continue
        for label, name in _EACH_NIC.findall(line.text):
            used[index] = label
            if said.get(label, name) != name:
                message = f"the legend says {name} for {label}, and {said[label]} above"
                raise captures.wrong(file, message, line.number, line.shift + 1)
            if label not in said and name in said.values():
                message = f"the legend gives {name} to {label} and to another NIC"
                raise captures.wrong(file, message, line.number, line.shift + 1)
            said[label] = name
        if len(said) > _MOST_NICS:
            raise captures.wrong(file, "the legend has more NICs than a machine can", line.number)
    return said, used


def _agree(found: Matrix, file: str) -> None:
    """Raises InputError where the matrix contradicts itself."""
    for row, label in enumerate(found.names):
        if label not in found.rows:
            continue
        mine = found.rows[label]
        for column, other in enumerate(found.names):
            level = mine.levels[column]
            if (level == "X") != (row == column):
                message = f"{label} to {other} is {level}: X stands for a device itself, and for nothing else"
                raise captures.wrong(file, message, *mine.row.place(level if level == "X" else label))
            if column >= row or other not in found.rows:
                continue
            back = found.rows[other]
            if back.levels[row] != level:
                message = (
                    f"{label} to {other} is {level}, but line {back.row.number} says {back.levels[row]} "
                    f"from {other} to {label}"
                )
                raise captures.wrong(file, message, mine.row.number, mine.row.pieces[0].shift + 1)


def _gpu(label: str, cells: Cells, file: str, notes: list[str]) -> GpuSeen:
    line = cells.row.number
    if cells.tail is None:
        notes.append(f"{file}:{line}: which columns the last values of {label} stand under cannot be told")
    tail = {name: word for name, word in (cells.tail or {}).items() if word not in ("", "N/A", "-")}
    cpus: tuple[int, ...] | None = None
    numa: int | None = None
    try:
        if matrix.CPUS in tail:
            cpus = captures.cpus(tail[matrix.CPUS])
            if _maybe_cut(tail[matrix.CPUS]):
                notes.append(
                    f"{file}:{line}: nvidia-smi cuts long lists off, so the CPUs {tail[matrix.CPUS]} "
                    f"of {label} may not be all: left out"
                )
                cpus = None
        if matrix.NUMA in tail:
            nodes = captures.cpus(tail[matrix.NUMA])
            numa = nodes[0] if len(nodes) == 1 else None
            if numa is None:
                notes.append(
                    f"{file}:{line}: {label} is near several NUMA nodes, {tail[matrix.NUMA]}: left out"
                )
        if matrix.MEMORY in tail:
            captures.cpus(tail[matrix.MEMORY])
    except ValueError as error:
        word = next((word for word in tail.values() if word[:20] in str(error)), label)
        raise captures.wrong(file, f"row {label}: {error}", *cells.row.place(word)) from None
    return GpuSeen(Origin(file, FORMAT, line), int(label[3:]), numa=numa, cpus=cpus)


def _maybe_cut(text: str) -> bool:
    """Whether the list may have been longer: three parts and more that about fill the column. Two long
    ranges (112-127,240-255) fit, and old drivers, which cut nothing, write longer lists."""
    return text.count(",") >= 2 and 11 <= len(text) <= 16


def _hcas(found: Matrix, names: dict[str, str], where: dict[str, int], file: str) -> tuple[HcaSeen, ...]:
    lines = where | {label: cells.row.number for label, cells in found.rows.items()}
    return tuple(
        HcaSeen(Origin(file, FORMAT, lines.get(label, 0)), name=name) for label, name in names.items()
    )


def _levels(found: Matrix, names: dict[str, str], file: str) -> tuple[Distance, ...]:
    shown = {label: label for label in found.names if label.startswith("GPU")} | names
    levels = []
    for row, label in enumerate(found.names):
        cells = found.rows.get(label)
        for column in range(row + 1, len(found.names)):
            other = found.names[column]
            if cells is None or label not in shown or other not in shown:
                continue
            level = _LEVELS.get(cells.levels[column])
            if level:
                origin = Origin(file, FORMAT, cells.row.number)
                levels.append(Distance(origin, shown[label], shown[other], level))
    return tuple(levels)
