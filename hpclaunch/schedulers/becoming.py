"""This process becomes a command that does not outlive who reads its output: `... -- COMMAND | head`.

What writes learns of that with its next write, if Python does not have it ignored. What writes no more is
told by a process beside it, as sshd does it: a hangup, and after a while more than that.
"""

import contextlib
import os
import select
import signal
import stat
import time
from collections.abc import Mapping, Sequence
from typing import NoReturn

from hpclaunch.schedulers import processes, terminal

_HANGUPS, _TIMES, _PAUSE_S = 5, 10, 1.0


def become(argv: Sequence[str], environment: Mapping[str, str] | Mapping[bytes, bytes]) -> NoReturn:
    """The command takes this process' place, found by the PATH of its environment. Raises OSError where it
    cannot be started."""
    _watch_output()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and what is ignored stays so
    os.execvpe(argv[0], [*argv], environment)


def _watch_output() -> None:
    """Where it is read by another process, and the kernel can tell of an end (pidfd_open(2), Linux 5.3)."""
    try:
        mode = os.fstat(1).st_mode
        own = os.pidfd_open(os.getpid()) if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else -1
    except OSError:
        return
    if own < 0:
        return
    parent = os.getpid()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os.close(own)
        return
    try:
        os.setsid()
        if not os.fork():  # nobody but init waits for it
            _watch(own, parent)
    finally:
        os._exit(0)


def _watch(process: int, number: int) -> None:
    """Returns when the process has ended; `process` is its descriptor."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in (1, process):
            with contextlib.suppress(OSError):  # the one by which they were listed
                os.close(int(name))
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.register(1, 0)
    found = poll.poll()
    if not terminal.is_unread(found):
        return
    for again in range(_TIMES):
        if _has_ended(process):
            return
        for each in [number, *processes.descendants(number)]:  # all, also where the first is gone at once
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGHUP if again < _HANGUPS else signal.SIGTERM)
        time.sleep(_PAUSE_S)


def _has_ended(process: int) -> bool:
    return bool(select.select([process], [], [], 0)[0])
