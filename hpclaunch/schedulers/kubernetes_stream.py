"""The streams of a command in a pod, over one websocket: the first byte of a message says of which.

Channels and their bytes: the subprotocols v4.channel.k8s.io and, where an end of the input can be said,
v5.channel.k8s.io (k8s.io/apimachinery/pkg/util/remotecommand/constants.go). The window's size and the status
are JSON: TerminalSize of k8s.io/client-go/tools/remotecommand, and Status with the reason NonZeroExitCode.
"""

import contextlib
import errno
import json
import os
import select
import ssl
import sys
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from hpclaunch.schedulers import terminal
from hpclaunch.values.errors import SchedulerError

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_INPUT, _OUTPUT, _ERRORS, _STATUS, _SIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_CHUNK = 4096  # a socket that can be written to takes so much without waiting
_PING_S = 30.0  # what stands between forgets connections over which nothing goes
# Then it is lost: the other side answers each (RFC 6455, 5.5.2). kubectl waits for 61 s (pingReadDeadline in
# tools/remotecommand/websocket.go of k8s.io/client-go).
_UNANSWERED = 3


class _Cause(Struct, frozen=True):
    reason: str = ""
    message: str = ""


class _Details(Struct, frozen=True):
    causes: list[_Cause] | None = None


class _Status(Struct, frozen=True):
    status: str = ""
    message: str = ""
    reason: str = ""
    details: _Details | None = None


class Stream:
    """A command that runs. `socket` is a WebSocket of websocket-client, connected."""

    def __init__(self, socket: Any, warn: Callable[[str], None]):
        self._socket = socket
        self._warn = warn
        said = {name.lower(): value for name, value in (socket.getheaders() or {}).items()}
        self._ends_input = said.get("sec-websocket-protocol") == PROTOCOLS[0]
        self._status = b""

    def run(self, keys: bool, reads: bool) -> int:
        """Carries everything to and fro until the command ends, and gives its exit status. With `keys` the
        terminal here is the command's, `reads`: it has this process' input. Raises SchedulerError where
        nobody can tell how it ended, and OSError where the output cannot be written here."""
        with terminal.lent() if keys else contextlib.nullcontext(-1) as resized:
            if keys:
                self._tell_size()
            for moved in self._moves(resized, reads):
                if moved == resized:
                    os.read(resized, _CHUNK)
                    self._tell_size()
        return _exit_status(self._status)

    def _moves(self, resized: int, reads: bool) -> Iterator[int]:
        """Until the other side ends it; gives `resized` when something is to be read there."""
        data, unanswered = b"", 0
        socket = self._socket.sock
        told_when_unread = resized < 0 and sys.stdout is not None
        while True:
            poll = select.poll()
            poll.register(socket, select.POLLIN | (select.POLLOUT if data else 0))
            if reads and not data:
                poll.register(0, select.POLLIN)
            if resized >= 0:
                poll.register(resized, select.POLLIN)
            if told_when_unread:
                poll.register(1, 0)
            # What TLS has read already nobody can poll for.
            waits = not (isinstance(socket, ssl.SSLSocket) and socket.pending())
            ready = dict(poll.poll(_PING_S * 1000 if waits else 0))
            if terminal.is_unread(ready.items()):
                raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
            if waits and not ready:
                if unanswered == _UNANSWERED:
                    return
                unanswered += 1
                self._send(b"", ping=True)
            if ready.pop(resized, 0):
                yield resized
            if data and ready.get(socket.fileno(), 0) & select.POLLOUT:
                self._send(data)
                data = b""
            if ready.pop(0, 0):
                read = os.read(0, _CHUNK)
                reads = bool(read)
                if read:
                    data = bytes([_INPUT]) + read
                else:
                    self._end_input()
            if not waits or ready.get(socket.fileno(), 0) & ~select.POLLOUT:
                unanswered = 0
                if not self._receive():
                    return

    def _receive(self) -> bool:
        """Takes one message; False after the last one."""
        from websocket import ABNF, WebSocketException

        try:
            kind, frame = self._socket.recv_data_frame(True)
        except (WebSocketException, OSError):
            return False  # whether that was too early the status tells
        if kind == ABNF.OPCODE_CLOSE:
            return False
        if kind in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT) and frame.data:
            self._hear(frame.data[0], frame.data[1:])
        return True

    def _send(self, data: bytes, ping: bool = False) -> None:
        from websocket import WebSocketException

        with contextlib.suppress(WebSocketException, OSError):  # what is received tells
            if ping:
                self._socket.ping()
            else:
                self._socket.send_binary(data)

    def _hear(self, channel: int, data: bytes) -> None:
        if channel in (_OUTPUT, _ERRORS):
            terminal.write(channel, data)  # the numbers of descriptors as well
        elif channel == _STATUS:
            self._status += data

    def _tell_size(self) -> None:
        columns, rows = terminal.size()
        self._send(bytes([_SIZE]) + json.dumps({"Width": columns, "Height": rows}).encode())

    def _end_input(self) -> None:
        if self._ends_input:
            self._send(bytes([_CLOSE, _INPUT]))
        else:
            self._warn("this cluster cannot tell the command that its input has ended: it may wait for more")


def _exit_status(said: bytes) -> int:
    try:
        status = msgspec.json.decode(said, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SchedulerError(
            "the connection ended before the command did", "The command may go on in the pod."
        ) from None
    if status.status == "Success":
        return 0
    for cause in (status.details.causes or ()) if status.details else ():
        if status.reason == "NonZeroExitCode" and cause.reason == "ExitCode" and cause.message.isdigit():
            return int(cause.message)
    raise SchedulerError(f"the command cannot be run in the pod: {status.message or status.reason}")
