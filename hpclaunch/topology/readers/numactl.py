"""`numactl --hardware`: CPUs, memory and distances of the NUMA nodes.

The form is that of `hardware()` in numactl.c, 2.0.3 to 2.0.19: sizes in MB of 1024 KiB, and after them a
matrix of distances, or a line that says there is none.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from hpclaunch.topology.readers import text as captures
from hpclaunch.topology.readers.text import Line, Row
from hpclaunch.topology.seen import CpuSeen, NumaSeen, Origin, Seen
from hpclaunch.values.errors import InputError

FORMAT = "numactl"
_LOOKS = re.compile(
    r"^[^\w\n]{0,40}(?:available: [0-9]+ nodes? \(|node [0-9]+ cpus:|node distances:|No NUMA )", re.MULTILINE
)
_AVAILABLE = re.compile(r"\s*available: ([0-9]+) nodes? \(([0-9,-]*)\)")
_CPUS = re.compile(r"\s*node ([0-9]+) cpus:((?:\s+[0-9]+)*)")
_SIZE = re.compile(r"\s*node ([0-9]+) size: (?:([0-9]+) MB|<not available>)")
_KNOWN = re.compile(r"\s*node [0-9]+ free: [0-9]+ MB|\s*node distances:|\s*No distance information.*")
_COMMAND = re.compile(r".*\bnumactl\s+(?:-H|--hardware)\b.*")
_NUMBERS = re.compile(r"\s*[0-9]+(?:\s+[0-9]+)*")
_MOST_NODES = 4096
_LOCAL, _MOST_DISTANCE = 10, 255  # ACPI's SLIT: a node to itself is 10, and 255 cannot be reached
_MOST_MB = 1 << 40


def looks_like(text: str) -> bool:
    """Whether there is a line that numactl --hardware alone writes."""
    return _LOOKS.search(text) is not None


def read(text: str, file: str) -> Seen:
    """What numactl tells. Raises InputError where the text is none of numactl's, breaks off, or contradicts
    itself."""
    return _Reading(captures.lines(text, file, longest=captures.LONGEST), Origin(file, FORMAT)).seen()


def _rising(text: str) -> tuple[int, ...]:
    """The CPUs of a node. numactl writes them in order, which tells where a terminal broke a number."""
    cpus = tuple(captures.natural(word) for word in text.partition(":")[2].split())
    if any(one >= other for one, other in pairwise(cpus)):
        raise ValueError("its CPUs do not rise")
    return cpus


class _Reading:
    """The nodes found so far, by number."""

    def __init__(self, lines: Sequence[Line], origin: Origin):
        self.lines = lines
        self.origin = origin
        self.available: tuple[int, ...] | None = None
        self.cpus: dict[int, list[Line]] = {}
        self.mb: dict[int, int | None] = {}
        self.left: list[Line] = []

    def seen(self) -> Seen:
        matrix = next((i for i, line in enumerate(self.lines) if "node distances:" in line.text), None)
        self._nodes(self.lines if matrix is None else self.lines[:matrix])
        if not self.cpus:
            raise self._wrong("not what numactl --hardware writes: no line says the CPUs of a node")
        distances = self._distances(matrix) if matrix is not None else {}
        none = any("No distance information" in line.text for line in self.lines)
        self._whole(bool(distances) or none)
        owners: dict[int, int] = {}
        nodes = []
        for node, pieces in sorted(self.cpus.items()):
            line = pieces[0].number
            try:
                cpus = captures.first_that(Row(tuple(pieces)).joined(), _rising)
            except ValueError as error:
                raise self._wrong(f"node {node}: {error}", line) from None
            twice = next((cpu for cpu in cpus if cpu in owners), None)
            if twice is not None:
                raise self._wrong(f"CPU {twice} stands in node {owners[twice]} and in {node}", line)
            owners.update(dict.fromkeys(cpus, node))
            mb = self.mb.get(node)
            kib = None if mb is None else mb * 1024
            nodes.append(NumaSeen(node, self._at(line), cpus, kib, distances.get(node, {})))
        lines = {node: pieces[0].number for node, pieces in self.cpus.items()}
        return Seen(
            origin=self.origin,
            cpus=tuple(
                CpuSeen(cpu, self._at(lines[owners[cpu]]), numa=owners[cpu]) for cpu in sorted(owners)
            ),
            numa=tuple(nodes),
            cpu_count=len(owners),
            unread=captures.unread(self.origin, self.left),
        )

    def _nodes(self, lines: Sequence[Line]) -> None:
        last: list[Line] | None = None
        begun = ""
        for line in lines:
            text = begun + line.text
            begun = ""
            if text.lstrip().startswith("available:") and ")" not in text:
                begun = text.rstrip()  # a terminal broke it; no space is in its list
                if len(begun) > captures.LONGEST:
                    break
                continue
            cpus, size, available = _CPUS.fullmatch(text), _SIZE.fullmatch(text), _AVAILABLE.fullmatch(text)
            if last is not None and _NUMBERS.fullmatch(text):
                last.append(line)  # a long list that a terminal broke
                continue
            last = None
            if cpus:
                last = self.cpus[self._node(cpus.group(1), self.cpus, line)] = [line]
            elif size:
                node = self._node(size.group(1), self.mb, line)
                self.mb[node] = self._number(size.group(2), _MOST_MB, line) if size.group(2) else None
            elif available:
                self.available = self._listed(available, line)
            elif text.lstrip().startswith("available:"):
                raise self._wrong("the list of available nodes cannot be read", line.number)
            elif text.strip() and not _KNOWN.fullmatch(text) and not _COMMAND.fullmatch(text):
                self.left.append(line)
        if begun:
            raise self._wrong("the list of available nodes does not end")

    def _listed(self, match: re.Match[str], line: Line) -> tuple[int, ...]:
        try:
            nodes = captures.cpus(match.group(2))
        except ValueError as error:
            raise self._wrong(f"the available nodes: {error}", line.number) from None
        if self.available is not None:
            raise self._wrong("a second machine begins here: split the file", line.number)
        if str(len(nodes)) != match.group(1):
            raise self._wrong(f"it says {match.group(1)} nodes and lists {len(nodes)}", line.number)
        return nodes

    def _whole(self, distances: bool) -> None:
        """numactl writes CPUs and size of each node, and distances; a part that is missing was cut off.
        Where its first line is missing too, somebody picked lines on purpose."""
        lost = [node for node in self.mb if node not in self.cpus]
        if self.available is not None:
            lost += [node for node in self.available if node not in self.cpus or node not in self.mb]
            if len(self.available) < len(self.cpus):
                raise self._wrong("it lists more nodes than it says are available")
        if lost:
            raise self._wrong(f"the capture breaks off: CPUs or size of node {lost[0]} are missing")
        if self.available is not None and not distances:
            raise self._wrong("the capture breaks off: the distances are missing", len(self.lines))

    def _distances(self, begin: int) -> dict[int, dict[int, int]]:
        """Node -> node -> distance. Rows and header may be broken anywhere between two numbers."""
        columns: list[int] = []
        rows: dict[int, list[int]] = {}
        current: list[int] | None = None
        for line in self.lines[begin + 1 :]:
            words = line.text.split()
            if words[:1] == ["node"] and current is None:
                current, words = columns, words[1:]
            elif words and words[0].endswith(":") and words[0][:-1].isdigit() and current is not None:
                node = self._number(words[0][:-1], _MOST_NODES, line)
                if node in rows:
                    raise self._wrong(f"a second row of distances for node {node}", line.number)
                current, words = rows.setdefault(node, []), words[1:]
            if current is None or not all(word.isascii() and word.isdigit() for word in words):
                if words and not _COMMAND.fullmatch(line.text):
                    self.left.append(line)
                continue
            most = _MOST_NODES if current is columns else _MOST_DISTANCE
            current += [self._number(word, most, line) for word in words]
        end = self.lines[begin].number
        if set(rows) != set(columns) or len(set(columns)) != len(columns):
            raise self._wrong("the distances break off: the rows are not those of the header", end)
        for node, row in rows.items():
            if len(row) != len(columns):
                message = f"the distances of node {node}: {len(row)} numbers for {len(columns)} nodes"
                raise self._wrong(message, end)
            if min(row) < _LOCAL:
                message = f"the distances of node {node}: {min(row)} is below {_LOCAL}, a node's own"
                raise self._wrong(message, end)
        if set(columns) != set(self.cpus):
            raise self._wrong("the distances are not of the nodes that are listed", end)
        return {node: dict(zip(columns, row, strict=True)) for node, row in rows.items()}

    def _node(self, text: str, known: Iterable[int], line: Line) -> int:
        node = self._number(text, _MOST_NODES, line)
        if node in known:
            raise self._wrong(f"node {node} stands twice", line.number)
        return node

    def _number(self, text: str, most: int, line: Line) -> int:
        try:
            return captures.natural(text, most)
        except ValueError as error:
            raise self._wrong(str(error), line.number) from None

    def _wrong(self, message: str, line: int = 0) -> InputError:
        return captures.wrong(self.origin.file, message, line)

    def _at(self, line: int) -> Origin:
        return Origin(self.origin.file, self.origin.format, line)
