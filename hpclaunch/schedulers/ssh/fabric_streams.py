"""The streams of a command over a channel of paramiko, carried to and from this process' own."""

import contextlib
import errno
import os
import select
from typing import Any

from hpclaunch.schedulers import terminal

_CHUNK = 65_536
_FULL_MS = 50  # until it is seen again whether the other side takes more


def carry(channel: Any, command: str, keys: bool) -> int:
    """Runs the command, and gives its exit status when it has ended; -1 where the connection broke. With
    `keys` it has a terminal, the one here. Raises OSError, and errors of paramiko's."""
    if keys:
        columns, rows = terminal.size()
        channel.get_pty(os.environ.get("TERM", "dumb"), columns, rows)
    channel.exec_command(command)
    with terminal.lent() if keys else contextlib.nullcontext(-1) as resized:
        _move(channel, resized)
    return int(channel.recv_exit_status())


def _move(channel: Any, resized: int) -> None:
    """`resized` is -1 where there is no terminal. Raises BrokenPipeError where nobody reads the output."""
    data, reads, poll = b"", True, select.poll()
    poll.register(channel, select.POLLIN)
    poll.register(resized if resized >= 0 else 1, select.POLLIN if resized >= 0 else 0)
    while True:
        if reads and not data:
            poll.register(0, select.POLLIN)
        found = poll.poll(_FULL_MS if data else None)
        ready = {number for number, _ in found}
        if (1, select.POLLNVAL) in found:
            poll.unregister(1)
        if terminal.is_unread(found):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        if resized in ready:
            os.read(resized, _CHUNK)
            columns, rows = terminal.size()
            channel.resize_pty(columns, rows)
        if 0 in ready:
            data = os.read(0, _CHUNK)
            reads = bool(data)
            poll.unregister(0)
            if not reads:
                channel.shutdown_write()
        while channel.recv_ready():
            terminal.write(1, channel.recv(_CHUNK))
        while channel.recv_stderr_ready():
            terminal.write(2, channel.recv_stderr(_CHUNK))
        over = channel.closed or (channel.eof_received and channel.exit_status_ready())
        if over and not channel.recv_ready() and not channel.recv_stderr_ready():
            return
        if data and channel.send_ready():
            data = data[channel.send(data) :]
