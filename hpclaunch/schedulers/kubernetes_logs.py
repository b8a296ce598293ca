"""The log of a pod, brought into the record bit by bit: no line twice, and none that the node forgot is lost.

The API gives the lines of the last N seconds, each with its time to the nanosecond. What was brought already
is told by these times. What the kubelet rotates away between two looks is gone: it keeps 10 MiB by default.
"""

import calendar
import math
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from hpclaunch.records import files
from hpclaunch.schedulers.kubernetes_client import Client
from hpclaunch.schedulers.kubernetes_objects import Pod

MARGIN_S = 10  # asked for once more, since requests take their time
KEPT_S = 3 * MARGIN_S  # lines so old are not given again
STAMP = len("2006-01-02T15:04:05")


class Position(Struct, frozen=True, omit_defaults=True):
    """How far a log was brought: of which pod, asked when, to which size of the file, and the times of its
    last lines. `whole`: the container had ended."""

    pod: str = ""
    asked: float = 0.0
    size: int = 0
    recent: tuple[str, ...] = ()
    whole: bool = False


def bring(client: Client, pod: Pod, path: Path) -> None:
    """Appends to `path` what the pod's container wrote since. Raises SchedulerError, and OSError where the
    disk refuses; what has come by then is kept."""
    with files.locked(path.with_name(f".{path.name}.lock")):
        known = _position(path)
        if known.pod != pod.metadata.uid:
            known = Position(pod.metadata.uid, size=known.size)
        if known.whole or not (pod.main.running or pod.main.terminated):
            return
        asked = time.time()
        seconds = math.ceil(max(0.0, asked - known.asked)) + MARGIN_S if known.asked else None
        ended = pod.main.terminated is not None
        old, times = Counter(known.recent), list(known.recent)
        complete = False
        with open(path, "ab") as log:
            log.truncate(known.size)  # beyond it is what a process that was killed had begun
            log.seek(known.size)
            try:
                for stamp, text in _lines(client.log(pod.name, pod.container, seconds), ended):
                    if stamp and old[stamp]:
                        old[stamp] -= 1
                        continue
                    log.write(text)
                    times.append(stamp)
                complete = True
            finally:
                log.flush()
                at = asked if complete else known.asked
                now = Position(pod.metadata.uid, at, log.tell(), _recent(times), complete and ended)
                files.replace(_place(path), msgspec.json.encode(now))


def is_whole(path: Path) -> bool:
    """True where all of a log is in the record."""
    return _position(path).whole


def _place(path: Path) -> Path:
    return path.with_name(f".{path.name}.position")


def _position(path: Path) -> Position:
    try:
        return msgspec.json.decode(_place(path).read_bytes(), type=Position)
    except (FileNotFoundError, msgspec.DecodeError):
        return Position()


def _lines(pieces: Iterator[bytes], ended: bool) -> Iterator[tuple[str, bytes]]:
    """Time and text of each line. The last one may still grow, unless the container has ended."""
    left = b""
    for piece in pieces:
        *lines, left = (left + piece).split(b"\n")
        for line in lines:
            yield _split(line + b"\n")
    if left and ended:
        yield _split(left)


def _split(line: bytes) -> tuple[str, bytes]:
    stamp, blank, text = line.partition(b" ")
    if not blank or len(stamp) < STAMP or stamp[10:11] != b"T":
        return "", line  # a remark of the kubelet's own
    return stamp.decode("ascii", "replace"), text


def _recent(times: list[str]) -> tuple[str, ...]:
    """The times that may be given again at the next look."""
    known = sorted(filter(None, times))
    if not known:
        return ()
    oldest = _seconds(known[-1]) - KEPT_S
    return tuple(one for one in known if _seconds(one) >= oldest)


def _seconds(stamp: str) -> int:
    """The offset from UTC is left out: one node writes all of a log."""
    try:
        return calendar.timegm(time.strptime(stamp[:STAMP], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0
