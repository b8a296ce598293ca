"""A process that has something to give back is told to end."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_NO_END = {"SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGTSTP", "SIGTTIN", "SIGTTOU"}
_NOT_CAUGHT = {"SIGKILL", "SIGSTOP"}
_OWN_FAULT = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"}  # Python comes to no handler after one
# What ends a process by signal(7), real-time signals too, as far as it can be caught.
_ALL = tuple(
    each
    for each in signal.valid_signals()
    if not (isinstance(each, signal.Signals) and each.name in _NO_END | _NOT_CAUGHT | _OWN_FAULT)
)


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """Meanwhile a signal that would end this process, and can be caught, raises SystemExit, as SIGINT raises
    KeyboardInterrupt. Those that have a handler, or are ignored, stay so. For the main thread alone."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    taken = [each for each in _ALL if signal.getsignal(each) is signal.SIG_DFL]
    for each in taken:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)


@contextlib.contextmanager
def held_off() -> Iterator[None]:
    """Meanwhile none of these signals ends anything here: those that came do it afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
