"""This process' own terminal, lent to a command elsewhere: every key goes there, and its size."""

import contextlib
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import tty
from collections.abc import Iterable, Iterator
from types import FrameType


def is_there() -> bool:
    """Whether a person is at both ends of this process."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def size() -> tuple[int, int]:
    """Columns and rows. As a terminal of 80 and 24 where it tells neither."""
    try:
        rows, columns = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8))[:2]
    except OSError:
        return 80, 24
    return columns or 80, rows or 24


@contextlib.contextmanager
def lent() -> Iterator[int]:
    """Until the end keys are not looked at here: an interrupt is a byte for the command. The descriptor has
    something to read when the size has changed."""
    changed, noted = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def note(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(noted, b".")

    before = termios.tcgetattr(0)
    handler = signal.signal(signal.SIGWINCH, note)
    try:
        tty.setraw(0, termios.TCSADRAIN)  # what was typed ahead is for the command
        yield changed
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, handler)
        os.close(changed)
        os.close(noted)


def is_unread(found: Iterable[tuple[int, int]]) -> bool:
    """Whether poll(2), which was asked for no event of standard output, found that nobody reads it any more.
    A descriptor that is closed, or leads to a file, is never that."""
    return any(number == 1 and events & (select.POLLERR | select.POLLHUP) for number, events in found)


def need_reader() -> None:
    """Raises BrokenPipeError where nobody reads standard output any more, which else a write alone tells."""
    poll = select.poll()
    poll.register(1, 0)
    if is_unread(poll.poll(0)):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def write(descriptor: int, data: bytes) -> None:
    """All of it. Raises OSError, as where nobody reads any more."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
