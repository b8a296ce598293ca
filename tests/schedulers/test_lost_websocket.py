"""A command in a pod whose connection is lost, and one whose output nobody reads: over a real websocket, the
other side of which is written out here."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from websocketserver import BINARY, PING, PONG, receive, send_frame

READ = """\
import socket, sys
from websocket import WebSocket
from hpclaunch.schedulers import kubernetes_stream
kubernetes_stream._PING_S = 0.1
ours = WebSocket()
ours.sock, ours.connected = socket.socket(fileno=int(sys.argv[1])), True
sys.exit(kubernetes_stream.Stream(ours, print).run(False, False))
"""
SUCCESS = b'\x03{"status": "Success"}'


def served(other: Callable[[socket.socket], None], **more: int) -> "subprocess.Popen[bytes]":
    """A process that carries the streams, and `other` at the other end in a thread."""
    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-c", READ, str(ours.fileno())]
    process = subprocess.Popen(argv, pass_fds=[ours.fileno()], stderr=subprocess.PIPE, **more)
    ours.close()
    threading.Thread(target=other, args=(theirs,), daemon=True).start()
    return process


def test_where_pings_are_answered_a_silent_command_goes_on() -> None:
    def answers(connection: socket.socket) -> None:
        for _ in range(10):
            found = receive(connection)
            assert found
            assert found[0] == PING
            send_frame(connection, PONG, found[1])
        send_frame(connection, BINARY, SUCCESS)

    with served(answers) as process:
        assert process.wait(60) == 0


@pytest.mark.parametrize("how", ["nothing comes any more", "it is closed", "in the middle of a message"])
def test_where_it_is_lost_that_is_said(how: str) -> None:
    over = threading.Event()

    def lost(connection: socket.socket) -> None:
        if how == "nothing comes any more":
            over.wait(60)
        elif how != "it is closed":
            connection.sendall(b"\x82\x7d\x01only a part")
        connection.close()

    with served(lost) as process:
        assert process.stderr
        assert b"the connection ended before the command did" in process.stderr.read()
        assert process.wait(60) == 1
    over.set()


def test_it_ends_when_nobody_reads_its_output() -> None:
    over = threading.Event()

    def answers(connection: socket.socket) -> None:
        while not over.is_set():
            found = receive(connection)
            if found is None:
                return
            send_frame(connection, PONG, found[1])

    read, written = os.pipe()
    with served(answers, stdout=written) as process:
        os.close(written)
        os.close(read)
        assert process.stderr
        assert b"BrokenPipeError" in process.stderr.read()
        assert process.wait(60) == 1
    over.set()
