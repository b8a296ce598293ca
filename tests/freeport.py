"""Ports for servers that a test starts."""

import random
import socket
from contextlib import suppress
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST = 10_000
_TRIES = 100


def free_port() -> int:
    """A port of this machine on which nobody listens, and that the kernel gives no connection for its own end
    before the server is there (ip(7), ip_local_port_range): it is below those."""
    end = int(_RANGE.read_text(encoding="ascii").split()[0]) if _RANGE.exists() else 32_768
    for port in random.SystemRandom().sample(range(_FIRST, end), _TRIES):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"no free port in {_FIRST} to {end}")
