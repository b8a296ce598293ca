"""The server's side of `pods/exec`: RFC 6455 by hand, and channels as the kubelet has them. Commands run on
this machine, on a terminal of their own where they are to have one."""

import base64
import contextlib
import fcntl
import hashlib
import http.server
import json
import os
import pty
import select
import socket
import struct
import subprocess
import termios
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of the RFC, section 1.3
BINARY, CLOSE, PING, PONG = 2, 8, 9, 10


def serve(
    handler: http.server.BaseHTTPRequestHandler,
    protocol: str,
    environment: dict[str, str],
    before: tuple[str, ...] = (),
) -> None:
    """Answers a request with the streams of the command that it asks for, with the words `before` it, until
    that ends or the client goes."""
    asked, connection = handler.headers, handler.connection
    assert asked["upgrade"].lower() == "websocket"
    assert protocol in asked["sec-websocket-protocol"].split(",")
    digest = hashlib.sha1(asked["sec-websocket-key"].encode() + _GUID).digest()
    handler.send_response(101)
    handler.send_header("Upgrade", "websocket")
    handler.send_header("Connection", "Upgrade")
    handler.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
    handler.send_header("Sec-WebSocket-Protocol", protocol)
    handler.end_headers()
    handler.wfile.flush()
    handler.close_connection = True
    query = parse_qs(urlsplit(handler.path).query, keep_blank_values=True)
    query["command"] = [*before, *query["command"]]
    _run(connection, query, environment, protocol.startswith("v5"))


def _run(
    connection: socket.socket, query: dict[str, list[str]], environment: dict[str, str], v5: bool
) -> None:
    own: Callable[[], object] | None = None
    wanted = {name: query.get(name, ["false"])[0].lower() == "true" for name in ("stdin", "tty")}
    if wanted["tty"]:
        ours, theirs = pty.openpty()
        own = partial(fcntl.ioctl, 0, termios.TIOCSCTTY, 0)
        streams: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    else:
        streams = {"stdin": subprocess.PIPE if wanted["stdin"] else subprocess.DEVNULL}
        streams |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        process = subprocess.Popen(
            query["command"], env=environment, cwd="/", start_new_session=True, preexec_fn=own, **streams
        )
    except OSError as error:
        _send(connection, 3, json.dumps({"status": "Failure", "message": f"OCI runtime: {error}"}).encode())
        send_frame(connection, CLOSE, b"\x03\xe8")
        return
    if wanted["tty"]:
        os.close(theirs)
        outputs, inputs = {ours: 1}, ours
    else:
        assert process.stdout
        assert process.stderr
        outputs = {process.stdout.fileno(): 1, process.stderr.fileno(): 2}
        inputs = process.stdin.fileno() if process.stdin else -1
    while outputs:
        for ready in select.select([connection, *outputs], [], [])[0]:
            if ready is connection:
                found = receive(connection)
                if found is None:
                    process.kill()
                    process.wait()
                    return
                _heard(connection, process, inputs, v5, *found)
                continue
            data = b""
            with contextlib.suppress(OSError):  # a terminal whose processes have all gone
                data = os.read(ready, 65_536)
            if data:
                _send(connection, outputs[ready], data)
            else:
                del outputs[ready]
    code = process.wait()
    status: dict[str, Any] = {"status": "Success"}
    if code:
        shown = str(code if code > 0 else 128 - code)
        causes = [{"reason": "ExitCode", "message": shown}]
        status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
    _send(connection, 3, json.dumps(status).encode())
    send_frame(connection, CLOSE, b"\x03\xe8")


def _heard(
    connection: socket.socket,
    process: "subprocess.Popen[bytes]",
    inputs: int,
    v5: bool,
    kind: int,
    data: bytes,
) -> None:
    if kind == PING:
        send_frame(connection, PONG, data)
    elif kind == BINARY and data[0] == 0:
        with contextlib.suppress(BrokenPipeError):
            os.write(inputs, data[1:])
    elif kind == BINARY and data[0] == 4:
        size = json.loads(data[1:])
        fcntl.ioctl(inputs, termios.TIOCSWINSZ, struct.pack("HHHH", size["Height"], size["Width"], 0, 0))
    elif kind == BINARY and data == b"\xff\x00" and v5 and process.stdin:
        process.stdin.close()


def _send(connection: socket.socket, channel: int, data: bytes) -> None:
    send_frame(connection, BINARY, bytes([channel]) + data)


def send_frame(connection: socket.socket, kind: int, data: bytes) -> None:
    size = len(data)
    head = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 65_536 else None
    connection.sendall(bytes([0x80 | kind]) + (head or b"\x7f" + struct.pack(">Q", size)) + data)


def receive(connection: socket.socket) -> tuple[int, bytes] | None:
    """One message of the client's, which masks all of them; None where it has gone."""
    head = _exactly(connection, 2)
    if head is None or head[0] & 15 == CLOSE:
        return None
    assert head[0] & 0x80, "messages in parts are not spoken here"
    assert head[1] & 0x80, "a client masks what it sends"
    size = head[1] & 0x7F
    if size > 125:
        more = _exactly(connection, 2 if size == 126 else 8)
        assert more
        size = int.from_bytes(more, "big")
    mask, data = _exactly(connection, 4), _exactly(connection, size)
    assert mask
    assert data is not None
    return head[0] & 15, bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            return None
        data += part
    return data
