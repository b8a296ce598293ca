"""The log of a pod, brought into the record bit by bit: no line twice, and none that the node forgot is lost.

The API gives the lines of the last N seconds, each after its time to the nanosecond, by which those that were
brought already are told. A long line has several parts with times of their own (containerd and CRI-O write
16 KiB at most), of which the API shows the first; asked for less than the whole line, it gives the later
parts as a line. So what is asked for always begins before the last line that is known. Where an answer does
not, a clock was set meanwhile, and all is asked for. What the kubelet rotates away between two looks is gone:
it keeps 10 MiB by default.
"""

import calendar
import math
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import Struct

from hpclaunch.records import files
from hpclaunch.schedulers.kubernetes_client import Client
from hpclaunch.schedulers.kubernetes_objects import Pod

MARGIN_S = 10  # asked for once more, since requests take their time
SKEW_S = 300  # how far the clock of a node may be from ours, where nothing better is known
STAMP = len("2006-01-02T15:04:05")


class Position(Struct, frozen=True, omit_defaults=True):
    """How far a log was brought: of which pod, and to which size of the file.

    `asked` is when that was, and `since` a time of our clock before the last line: from there on the next
    look asks. `recent` are the times of lines not older than `keep`, which it may give again. `begun` is the
    time of a line without an end, with as many of its bytes as are in the file. `whole`: the container had
    ended. All times but those of lines are seconds since 1970.
    """

    pod: str = ""
    size: int = 0
    asked: float = 0.0
    since: float = 0.0
    keep: int = 0
    recent: tuple[str, ...] = ()
    begun: tuple[str, int] = ("", 0)
    whole: bool = False


def bring(client: Client, pod: Pod, path: Path) -> None:
    """Appends to `path` what the pod's container wrote since. Raises SchedulerError, and OSError where the
    disk refuses; what has come by then is kept."""
    with files.locked(path.with_name(f".{path.name}.lock")):
        known = _position(path)
        if known.pod != pod.metadata.uid:
            known = Position(pod.metadata.uid, known.size)
        if known.whole or not (pod.main.running or pod.main.terminated):
            return
        asked = time.time()
        window = math.ceil(max(0.0, asked - known.since)) + MARGIN_S if known.since else None
        seen = _Seen(known)
        lines = _lines(client.log(pod.name, pod.container, window))
        first = next(lines, None)
        if window is not None and (first is None or first[0] > seen.before):
            lines = _lines(client.log(pod.name, pod.container, None))
        elif first is not None:
            lines = chain([first], lines)
        complete = False
        with open(path, "ab") as log:
            log.truncate(known.size)  # beyond it is what a process that was killed had begun
            log.seek(known.size)
            try:
                for stamp, text in lines:
                    log.write(seen.rest_of(stamp, text))
                complete = True
            finally:
                log.flush()
                now = seen.position(log.tell(), asked if complete else None, pod.main.terminated is not None)
                files.replace(_place(path), msgspec.json.encode(now))


class _Seen:
    """Which lines have been brought, before and now."""

    def __init__(self, known: Position):
        self.known = known
        self.old = Counter(known.recent)
        self.times = list(known.recent)
        self.begun = self.open = known.begun
        self.before = max((*known.recent, known.begun[0]))
        self.first = True

    def rest_of(self, stamp: str, text: bytes) -> bytes:
        """What of a line is new."""
        new, first, self.first = text, self.first, False
        if stamp and self.old[stamp]:
            self.old[stamp] -= 1
            return b""
        if stamp and _seconds(stamp) < self.known.keep:
            return b""  # all of that time is known, and a clock that was set has it asked for again
        if stamp and stamp == self.open[0]:
            new, self.open = text[self.open[1] :], ("", 0)
        elif stamp and first and self.known.since and stamp <= self.before:
            return b""  # the later parts of a line, all of which is known
        if text.endswith(b"\n"):
            self.times.append(stamp)
            self.begun = ("", 0)
        else:
            self.begun = (stamp, len(text))
        return new

    def position(self, size: int, asked: float | None, ended: bool) -> Position:
        """Where the next look begins. `asked` is None after one that broke off: the next asks for that."""
        known = self.known
        if asked is None:
            return msgspec.structs.replace(known, size=size, recent=tuple(self.times), begun=self.begun)
        last = max(filter(None, (*self.times, self.begun[0])), default="")
        if not last:
            since, keep = 0.0, 0
        elif last == self.before:
            since, keep = known.since, known.keep
        elif known.asked and self.before:
            since, keep = known.asked, _seconds(self.before) - 3 * MARGIN_S
        else:
            since = float(_seconds(last) - SKEW_S)
            keep = int(since) - SKEW_S - 3 * MARGIN_S
        recent = tuple(one for one in self.times if one and _seconds(one) >= keep)
        return Position(known.pod, size, asked, since, keep, recent, self.begun, ended)


def is_whole(path: Path) -> bool:
    """True where all of a log is in the record."""
    return _position(path).whole


def _place(path: Path) -> Path:
    return path.with_name(f".{path.name}.position")


def _position(path: Path) -> Position:
    try:
        return msgspec.json.decode(_place(path).read_bytes(), type=Position)
    except (FileNotFoundError, ValueError):  # it is damaged: the log is brought from its start
        return Position()


def _lines(pieces: Iterator[bytes]) -> Iterator[tuple[str, bytes]]:
    """Time and text of each line. The last one may still grow."""
    left = b""
    for piece in pieces:
        *lines, left = (left + piece).split(b"\n")
        for line in lines:
            yield _split(line + b"\n")
    if left:
        yield _split(left)


def _split(line: bytes) -> tuple[str, bytes]:
    stamp, blank, text = line.partition(b" ")
    if not blank or len(stamp) < STAMP or stamp[10:11] != b"T":
        return "", line  # a remark of the kubelet's own
    return stamp.decode("ascii", "replace"), text


def _seconds(stamp: str) -> int:
    """Seconds since 1970 of an RFC 3339 time."""
    zone = stamp[-6:]
    try:
        moment = calendar.timegm(time.strptime(stamp[:STAMP], "%Y-%m-%dT%H:%M:%S"))
        if zone[0] in "+-":
            moment -= int(f"{zone[0]}1") * (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60)
    except (ValueError, IndexError):
        return 0
    return moment
