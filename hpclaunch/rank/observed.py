"""What ranks reported of themselves at their start: the lines of the wrapper's report.sh in a job's log.

A log holds what a job printed, too, so nothing in it is trusted because of its first word: a line counts
where every part of it has its form and its rank can be one of the job's, and is named where it does not.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hpclaunch.values import cpulist

MARK = b"hpclaunch-verify "
VERSION = "1"
_SHOWN = 160
_MOST_EARLIER = 16
# What mpirun puts before a line: [1,3]<stderr>: of Open MPI 4, with a space of 5, [3] of Hydra.
_TAG = rb"(?:\[(?:\d+,)?\d+\](?:<std(?:err|out)>:)? ?)?"
_SAID = re.compile(_TAG + rb"hpclaunch: (?:rank (\d{1,9})|([A-Za-z0-9][\w.-]*)): (.+)")


class Hca(Struct, frozen=True):
    """An HCA that a rank uses. `numa` is -1 where the firmware does not tell; `state` and `link_layer` are ""
    where they could not be read."""

    name: str
    pci: str
    port: int
    state: str
    link_layer: str
    numa: int


class Report(Struct, frozen=True):
    """One rank. None stands for what could not be looked up, () for none.

    `numa` are the NUMA nodes that `cpus` lie in on this node, `siblings` the threads of the core of the first
    of them, `gpus` has address -> NUMA node of every GPU that opens, `own` the addresses of the rank's own
    GPUs on a part of a node. `memory` is the kernel's policy: ("bind", (3,)), or None. `memlock` is KiB, -1
    for unlimited.
    """

    rank: int
    local: int
    node: str
    cpus: tuple[int, ...] | None
    online: tuple[int, ...] | None
    numa: tuple[int, ...] | None
    memory: tuple[str, tuple[int, ...]] | None
    siblings: tuple[int, ...] | None
    gpus: dict[str, int] | None
    hcas: tuple[Hca, ...] | None
    memlock: int | None
    own: tuple[str, ...] = ()


class Observed(Struct, frozen=True):
    """All that a log tells. `reports` has the last report of each rank, `earlier` those before it that
    differ, for the ranks that have any. `broken` says of each line that looks like a report and is none where
    it is and why. `warnings` has what the wrapper said of a node, `failures` why a rank ended before its
    command."""

    reports: dict[int, Report]
    earlier: dict[int, tuple[Report, ...]]
    broken: tuple[str, ...]
    warnings: dict[str, tuple[str, ...]]
    failures: dict[int, str]


def read(lines: Iterable[bytes], ranks: int, ranks_per_node: int) -> Observed:
    """The reports in the lines of a log, for a job of so many ranks."""
    return read_worlds(lines, {b"": ((ranks, ranks_per_node),)})[b""]


def read_worlds(
    lines: Iterable[bytes], worlds: Mapping[bytes, Sequence[tuple[int, int]]]
) -> dict[bytes, Observed]:
    """The reports of each world of ranks, by what stands before its lines; it has for its groups, in the
    order of the ranks, how many these are and how many of them on each node."""
    found = {mark: _World(sizes) for mark, sizes in worlds.items()}
    for number, line in enumerate(lines, 1):
        if b"hpclaunch" not in line:
            continue
        for mark, world in found.items():
            if line.startswith(mark):
                world.hear(number, line[len(mark) :])
                break
    return {mark: world.observed() for mark, world in found.items()}


class _World:
    """What the lines of one world told so far."""

    def __init__(self, sizes: Sequence[tuple[int, int]]):
        self._sizes = sizes
        self._reports: dict[int, Report] = {}
        self._earlier: dict[int, tuple[Report, ...]] = {}
        self._broken: list[str] = []
        self._warnings: dict[str, dict[str, None]] = {}
        self._failures: dict[int, str] = {}

    def hear(self, number: int, line: bytes) -> None:
        # A rank may have printed the beginning of a line of its own before.
        _, mark, rest = line.partition(MARK)
        if mark:
            text = rest.decode("ascii", "replace").rstrip("\r\n")
            try:
                report = parse(text)
                _check_place(report, self._sizes)
            except ValueError as error:
                self._broken.append(f"line {number}: {error}: {text[:_SHOWN]!r}")
                return
            before = self._reports.get(report.rank, report)
            others = self._earlier.get(report.rank, ())
            if before != report and before not in others and len(others) < _MOST_EARLIER:
                self._earlier[report.rank] = (*others, before)
            self._reports[report.rank] = report
        elif said := _SAID.fullmatch(line.rstrip(b"\r\n")):
            rank, node, words = ((part or b"").decode("utf-8", "replace") for part in said.groups())
            if rank:
                self._failures[int(rank)] = words
            else:
                self._warnings.setdefault(node, {})[words] = None

    def observed(self) -> Observed:
        said_of = {node: tuple(words) for node, words in self._warnings.items()}
        return Observed(self._reports, self._earlier, tuple(self._broken), said_of, self._failures)


def parse(text: str) -> Report:
    """A report without its first word. Raises ValueError where it is not whole and well formed."""
    version, _, rest = text.partition(" ")
    if version != VERSION:
        raise ValueError(f"a report of form {version[:8]!r}, and form {VERSION} is known")
    found: dict[str, Any] = {}
    for word in rest.split(" "):
        key, sign, value = word.partition("=")
        if not sign or key not in _FORMS:
            raise ValueError(f"{word[:20]!r} is no part of a report")
        if key in found:
            raise ValueError(f"{key}= stands twice")
        try:
            found[key] = None if value == "?" else _FORMS[key](value)
        except ValueError:
            raise ValueError(f"{key}={value[:40]} cannot be read") from None
    missing = [key for key in _FORMS if key not in found and key != "own"]
    if missing:
        raise ValueError(f"it has no {missing[0]}=")
    if None in (found["rank"], found["local"], found["node"]):
        raise ValueError("it does not say whose it is")
    return Report(**found)


def _check_place(report: Report, sizes: Sequence[tuple[int, int]]) -> None:
    first = 0
    for ranks, ranks_per_node in sizes:
        first += ranks
        if report.rank < first:
            if report.local >= ranks_per_node:
                raise ValueError(f"no node has a local rank {report.local}")
            return
    raise ValueError(f"the job has no rank {report.rank}")


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise ValueError(text)
    return int(text)


def _numa_number(text: str) -> int:
    return -1 if text in ("-1", "?") else _number(text)


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,200}", text, re.ASCII):
        raise ValueError(text)
    return text


def _list(text: str) -> tuple[int, ...]:
    if text == "-":
        return ()
    if not text:
        raise ValueError(text)
    return tuple(sorted(cpulist.parse(text)))


def _address(text: str) -> str:
    lower = text.lower()
    if not re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", lower):
        raise ValueError(text)
    return lower


def _memory(text: str) -> tuple[str, tuple[int, ...]]:
    kind, _, nodes = text.partition(":")
    if not re.fullmatch(r"[a-z]+", kind):
        raise ValueError(text)
    return kind, _list(nodes) if nodes else ()


def _items(text: str) -> list[str]:
    return [] if text == "-" else text.split(",")


def _gpus(text: str) -> dict[str, int]:
    parts = (item.rpartition("@") for item in _items(text))
    return {_address(pci): _numa_number(numa) for pci, _, numa in parts}


def _hcas(text: str) -> tuple[Hca, ...]:
    found = []
    for item in _items(text):
        device, _, numa = item.rpartition("@")
        name, pci, port, state, link = device.split("/")
        state, link = ("" if word == "?" else _name(word) for word in (state, link))
        found.append(Hca(_name(name), _address(pci), _number(port), state, link, _numa_number(numa)))
    return tuple(found)


def _memlock(text: str) -> int:
    return -1 if text == "unlimited" else _number(text)


_FORMS: dict[str, Callable[[str], Any]] = {
    "rank": _number,
    "local": _number,
    "node": _name,
    "cpus": _list,
    "online": _list,
    "numa": _list,
    "memory": _memory,
    "siblings": _list,
    "gpus": _gpus,
    "hcas": _hcas,
    "memlock": _memlock,
    "own": lambda text: tuple(map(_address, text.split(","))),
}
