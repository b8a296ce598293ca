"""The other outputs of nvidia-smi that name GPUs: `-L`, `--query-gpu=... --format=csv`, and the plain table.

-L tells index and model, the table and the query may tell PCI addresses. Where neither a header nor the
command says what the columns of a query are, only those whose values can be nothing else are taken.
"""

import csv
import re
from collections.abc import Sequence

from hpclaunch.topology.readers import functions
from hpclaunch.topology.readers import text as captures
from hpclaunch.topology.readers.text import Line
from hpclaunch.topology.seen import GpuSeen, Origin, Seen
from hpclaunch.values.errors import InputError

FORMAT = "nvidia-smi"
_LISTED = re.compile(r"\s*GPU ([0-9]{1,4}): (.+?) \(UUID: GPU-[0-9a-fA-F-]+\)\s*")
_MIG = re.compile(r"\s*MIG .*\(UUID: MIG-[^)]*\)\s*")
_BUS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_FIRST_CELL = re.compile(r"\s*([0-9]{1,4})\s+(\S.*)")
_TABLE_REST = re.compile(r"\s*(?:[|+].*|[A-Z][a-z]{2} [A-Z][a-z]{2}\s+[0-9]+ [0-9:]+ [0-9]{4})")
_BUS_CELL = re.compile(rf"\s*{_BUS}\s*")
_LOOKS = re.compile(
    rf"^[^\w\n]{{0,40}}GPU [0-9]{{1,4}}: [^\n(]{{1,80}}\(UUID: GPU-"
    rf"|^[ \t]{{0,20}}\|[ \t]+[0-9]+[ \t][^|\n]{{1,80}}\|[ \t]*{_BUS}\s"
    rf"|\b(?:pci\.bus_id|gpu_bus_id)\b|(?:^|,)[ \t]*{_BUS}[ \t]*,|,[ \t]*{_BUS}[ \t]*$",
    re.MULTILINE,
)
_QUERY = re.compile(r"--query-gpu=([\w.,]+)")
_MOST_GPUS, _MOST_CELL = 1024, 200


def looks_like(text: str) -> bool:
    """Whether a line lists a GPU as nvidia-smi -L, its table, or a query of pci.bus_id does."""
    return _LOOKS.search(text) is not None


def read(text: str, file: str) -> Seen:
    """The GPUs with what is told of them. Raises InputError where none is listed, or one twice."""
    origin = Origin(file, FORMAT)
    lines = captures.lines(text, file, longest=captures.LONGEST)
    left: list[Line] = []
    gpus = _lines(lines, file, left) or _query(lines, file, left)
    if not gpus:
        raise captures.wrong(
            file, "no GPU as nvidia-smi -L, its table or --query-gpu=index,pci.bus_id lists it"
        )
    _distinct(gpus, file)
    return Seen(origin=origin, gpus=tuple(gpus), unread=captures.unread(origin, left))


def _lines(lines: Sequence[Line], file: str, left: list[Line]) -> list[GpuSeen]:
    """The GPUs of -L and of the table."""
    found: list[GpuSeen] = []
    for line in lines:
        origin = Origin(file, FORMAT, line.number)
        listed, shown = _LISTED.fullmatch(line.text), _in_table(line.text)
        if listed:
            found.append(GpuSeen(origin, int(listed.group(1)), model=listed.group(2)))
        elif shown:
            index, model, pci = shown
            # The table cuts long names off with three dots.
            found.append(GpuSeen(origin, index, pci, model="" if model.endswith("...") else model))
        elif not _known(line):
            left.append(line)
    if not found:
        left.clear()
    return found


def _in_table(text: str) -> tuple[int, str, str] | None:
    """Index, model and PCI address of a row of the plain table."""
    cells = text.split("|")
    first = _FIRST_CELL.fullmatch(cells[1]) if len(cells) > 3 else None
    bus = functions.address((cells[2].split() or [""])[0]) if first else ""
    if first is None or not bus:
        return None
    words = first.group(2).split()
    if words[-1] in ("On", "Off", "N/A"):
        words.pop()  # the persistence mode
    return int(first.group(1)), " ".join(words), bus


def _known(line: Line) -> bool:
    text = line.text
    return not text.strip() or _command(text) or bool(_MIG.fullmatch(text) or _TABLE_REST.fullmatch(text))


def _command(text: str) -> bool:
    return "nvidia-smi" in text and "|" not in text


def _query(lines: Sequence[Line], file: str, left: list[Line]) -> list[GpuSeen]:
    """The GPUs of a query: of each line with a PCI address, by the header where there is one."""
    header: list[str] = []
    asked: list[str] = []
    rows: list[tuple[Line, list[str]]] = []
    for line in lines:
        if _command(line.text):
            query = _QUERY.search(line.text)
            asked = query.group(1).lower().split(",") if query else asked
            continue
        cells = _cells(line)
        names = [re.sub(r"\s*\[.*", "", cell).lower() for cell in cells]
        if not header and not rows and {"pci.bus_id", "gpu_bus_id"} & set(names):
            header = names
        elif any(_BUS_CELL.fullmatch(cell) for cell in cells):
            rows.append((line, cells))
        elif line.text.strip():
            left.append(line)
        if len(rows) > _MOST_GPUS:
            raise captures.wrong(file, f"more than {_MOST_GPUS} GPUs", line.number)
    header = header or asked
    width = len(header or (rows[0][1] if rows else ()))
    for line, cells in rows:
        if len(cells) != width:
            message = f"{len(cells)} cells, and {width} above"
            raise captures.wrong(file, message, line.number, line.shift + 1)
    return _gpus(rows, header or _unnamed([cells for _, cells in rows]), file)


def _cells(line: Line) -> list[str]:
    if line.text.count(",") > 100:
        return []
    row = next(csv.reader([line.text.strip()], skipinitialspace=True), [])
    return [cell.strip() for cell in row]


def _unnamed(rows: list[list[str]]) -> list[str]:
    """Names of the columns that can be nothing else; "" for the others."""
    names = []
    for column in zip(*rows, strict=True):
        if all(_BUS_CELL.fullmatch(cell) for cell in column):
            names.append("pci.bus_id")
        elif list(column) == [str(number) for number in range(len(rows))] and len(rows) > 1:
            names.append("index")
        elif all(re.search(r"[A-Za-z]{3}.* ", cell) and not re.match(r"[0-9]", cell) for cell in column):
            names.append("name")
        else:
            names.append("")
    return [name if names.count(name) == 1 else "" for name in names]


def _gpus(rows: list[tuple[Line, list[str]]], names: list[str], file: str) -> list[GpuSeen]:
    found = []
    for line, cells in rows:
        values = dict(zip(names, cells, strict=True))
        if any(len(cell) > _MOST_CELL for cell in cells):
            raise _wrong(file, "a cell that is too long", line)
        bus = values.get("pci.bus_id", values.get("gpu_bus_id", ""))
        pci = functions.address(bus)
        if not pci:
            raise _wrong(file, f"{captures.quoted(bus)} is not a PCI address", line)
        index = None
        if "index" in values:
            try:
                index = captures.natural(values["index"], _MOST_GPUS)
            except ValueError as error:
                raise _wrong(file, f"index: {error}", line) from None
        model = values.get("name", values.get("gpu_name", ""))
        found.append(GpuSeen(Origin(file, FORMAT, line.number), index, pci, model=model))
    return found


def _distinct(gpus: Sequence[GpuSeen], file: str) -> None:
    indexes: set[int] = set()
    addresses: set[str] = set()
    for gpu in gpus:
        if gpu.index in indexes or gpu.pci in addresses:
            name = gpu.pci if gpu.pci in addresses else f"GPU {gpu.index}"
            raise captures.wrong(file, f"{name} stands twice", gpu.origin.line)
        indexes |= {gpu.index} if gpu.index is not None else set()
        addresses |= {gpu.pci} if gpu.pci else set()


def _wrong(file: str, message: str, line: Line) -> InputError:
    return captures.wrong(file, message, line.number, line.shift + 1)
