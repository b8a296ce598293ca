"""Somebody at a terminal: a command with a pty of its own, what it shows, and the keys for it."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence

LIMIT_S = 240.0  # on a busy machine


class Person:
    """Has started a command, and must be left in the end: `with Person(argv, env) as person`."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], rows: int = 24, columns: int = 80):
        self.seen = b""
        self._read = 0
        self.pid, self._terminal = pty.fork()
        if not self.pid:
            with contextlib.suppress(OSError):
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.execve(argv[0], argv, env)
            os._exit(125)

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self._terminal)

    def sees(self, text: str) -> None:
        """Waits until this is shown, after what was waited for before."""
        end = time.monotonic() + LIMIT_S
        while (found := self.seen.find(text.encode(), self._read)) < 0:
            assert time.monotonic() < end, self.seen
            if select.select([self._terminal], [], [], 0.5)[0]:
                assert self._take(), self.seen
        self._read = found + len(text.encode())

    def types(self, text: str) -> None:
        """Presses these keys."""
        os.write(self._terminal, text.encode())

    def resizes(self, rows: int, columns: int) -> None:
        """Changes the window."""
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def goes(self) -> None:
        """Closes the window."""
        os.close(self._terminal)

    def kill(self, sent: signal.Signals) -> None:
        """Sends a signal to the command alone."""
        os.kill(self.pid, sent)

    def end(self) -> int:
        """The exit status, when the command has ended; -n for signal n."""
        end = time.monotonic() + LIMIT_S
        while not select.select([self._terminal], [], [], 0.5)[0] or self._take():
            assert time.monotonic() < end, self.seen
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _take(self) -> bytes:
        try:
            data = os.read(self._terminal, 4096)
        except OSError:  # all processes that had the terminal have gone
            return b""
        self.seen += data
        return data
