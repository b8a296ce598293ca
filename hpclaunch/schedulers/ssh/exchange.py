"""One conversation with a login node: a line, perhaps data after it, and the answer."""

import contextlib
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable

from hpclaunch.schedulers.ssh.contract import Done, Lost, Pipes, Unreached
from hpclaunch.schedulers.ssh.words import READY, line

_TAIL = 4096  # the last mark is within so many bytes of the end

_Part = tuple[str, bytes]


class Silent(Exception):
    """The other side ended without what was waited for, or said nothing in time. `late` tells which."""

    def __init__(self, late: bool):
        self.late = late
        super().__init__()


class _Heard:
    """What came, as two streams that are read side by side: whoever waits for one must not block the
    other."""

    def __init__(self, pipes: Pipes):
        self.out, self.err = bytearray(), bytearray()
        self._parts: queue.Queue[_Part] = queue.Queue()
        self._open = 2
        self.progress = time.monotonic()
        for name, read in (("out", pipes.read_out), ("err", pipes.read_err)):
            threading.Thread(target=self._listen, args=(name, read), daemon=True).start()

    def _listen(self, name: str, read: Callable[[], bytes]) -> None:
        while True:
            try:
                data = read()
            except (OSError, ValueError, EOFError):
                data = b""
            self._parts.put((name, data))
            if not data:
                return

    def until(self, found: Callable[[], bool], limit_s: float) -> None:
        """Listens until `found`. Raises Silent where both streams have ended, or nothing came or went for
        `limit_s`."""
        self.progress = time.monotonic()
        while not found():
            if not self._open:
                raise Silent(late=False)
            left = self.progress + limit_s - time.monotonic()
            if left <= 0:
                raise Silent(late=True)
            try:
                name, data = self._parts.get(timeout=left)
            except queue.Empty:
                continue
            if not data:
                self._open -= 1
            elif name == "out":
                self.out += data
            else:
                self.err += data

    def drain(self, limit_s: float) -> None:
        """What still comes before the end."""
        with contextlib.suppress(Silent):
            self.until(lambda: False, limit_s)


def greet(pipes: Pipes, limit_s: float) -> bytes:
    """Waits until the other side is ready, and gives b""; else what it said on standard error. Nothing was
    sent to it by then."""
    heard = _Heard(pipes)
    try:
        heard.until(lambda: _is_ready(heard.out), limit_s)
    except Silent as silence:
        if silence.late:
            return bytes(heard.err).strip() or b"Connection timed out: no answer"
        return bytes(heard.err).strip() or b"Connection closed"
    return b""


def converse(pipes: Pipes, body: str, data: Iterable[bytes], ready_s: float, limit_s: float) -> Done:
    """Runs `body`, with `data` on its standard input. `limit_s` is how long nothing may come and nothing go.

    Raises Unreached where nothing was sent, and Lost. An exception of `data` is passed on, and the other
    side sees its input end.
    """
    heard = _Heard(pipes)
    try:
        try:
            heard.until(lambda: _is_ready(heard.out), ready_s)
        except Silent as silence:
            raise Unreached(_why(heard, silence, ready_s)) from None
        mark = os.urandom(12).hex()
        sent = _Sender(pipes, line(body, mark), data, heard)
        begin, end = b"\n%s\n" % mark.encode(), re.compile(rb"\n%s (\d+)\n" % mark.encode())
        try:
            heard.until(
                lambda: bool(end.search(heard.out[-_TAIL:]) and end.search(heard.err[-_TAIL:])), limit_s
            )
        except Silent as silence:
            if sent.failure:
                raise sent.failure from None
            raise Lost(_why(heard, silence, limit_s)) from None
        if sent.failure:
            raise sent.failure
        status, out = _between(heard.out, begin, end)
        return Done(status, out, _between(heard.err, begin, end)[1])
    finally:
        pipes.kill()


def begin(pipes: Pipes, body: str, ready_s: float) -> None:
    """Starts `body`, which goes on reading from these pipes, and says READY when it does. Raises Unreached
    where it has not said so in time."""
    heard = _Heard(pipes)
    mark = os.urandom(12).hex()
    try:
        heard.until(lambda: _is_ready(heard.out), ready_s)
        pipes.write(line(body, mark))
        heard.until(lambda: _is_ready(heard.out.partition(mark.encode())[2]), ready_s)
    except Silent as silence:
        pipes.kill()
        raise Unreached(_why(heard, silence, ready_s)) from None
    except OSError as error:
        pipes.kill()
        raise Unreached(str(error)) from error


class _Sender:
    """Writes beside the reading: a pipe that is full on one side must not stop the other. `failure` is what
    the data itself raised."""

    def __init__(self, pipes: Pipes, first: bytes, data: Iterable[bytes], heard: _Heard):
        self.failure: BaseException | None = None
        self._pipes, self._heard = pipes, heard
        threading.Thread(target=self._send, args=(first, data), daemon=True).start()

    def _send(self, first: bytes, data: Iterable[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError, EOFError):  # who listens learns of it
            self._pipes.write(first)
            parts = iter(data)
            while True:
                try:
                    part = next(parts)
                except StopIteration:
                    break
                except BaseException as error:
                    self.failure = error
                    break
                self._pipes.write(part)
                self._heard.progress = time.monotonic()
            self._pipes.end_input()


def _is_ready(out: bytearray) -> bool:
    return b"\n%s\n" % READY in b"\n" + out


def _between(text: bytearray, begin: bytes, end: "re.Pattern[bytes]") -> tuple[int, bytes]:
    """The status, and what stands between the marks."""
    start = text.index(begin) + len(begin)
    match = end.search(text, max(start, len(text) - _TAIL))
    assert match
    return int(match[1]), bytes(text[start : match.start()])


def _why(heard: _Heard, silence: Silent, limit_s: float) -> str:
    if silence.late:
        return f"no answer within {limit_s:.0f} s"
    heard.drain(1.0)
    said = heard.err.decode("utf-8", "replace").strip()
    return said.splitlines()[-1] if said else "the connection was closed"
