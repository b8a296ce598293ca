"""A process that has something to give back is told to end."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_ENDS = (signal.SIGTERM, signal.SIGHUP)
_ALL = (*_ENDS, signal.SIGINT)


@contextlib.contextmanager
def heeded() -> Iterator[None]:
    """Meanwhile SIGTERM and SIGHUP raise SystemExit, as SIGINT raises KeyboardInterrupt, unless who started
    this process had them ignored. For the main thread alone."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {each: signal.getsignal(each) for each in _ENDS}
    for each, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(each, end)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def held_off() -> Iterator[None]:
    """Meanwhile none of these signals ends anything here: those that came do it afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
