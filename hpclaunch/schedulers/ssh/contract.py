"""What a transport can do, and how it fails."""

from typing import Protocol

from msgspec import Struct

from hpclaunch.schedulers.contract import Final, Refused
from hpclaunch.values.errors import SchedulerError

CONNECT_S = 20.0  # for the TCP connection, the server's first words, and each step of the login
READY_S = 60.0  # for the login shell, whose own files may take their time
KEEPALIVE_S = 15


class Unreached(Refused):
    """There is no connection, so nothing was sent."""


class Untrusted(Unreached, Final):
    """The machine that answers has not proved to be the one that was meant."""


class Lost(SchedulerError):
    """The connection broke, or nothing came over it any more, while a command ran: nobody can tell what it
    did."""


class Done(Struct, frozen=True):
    """A command that has ended over there."""

    status: int
    out: bytes
    err: bytes


class Pipes(Protocol):
    """A running remote command. The reads block until something comes, and give b"" at the end; all of it
    may be used from several threads. Raises OSError where the connection breaks."""

    def read_out(self) -> bytes:
        """Of its standard output."""

    def read_err(self) -> bytes:
        """Of its standard error, and of what the transport itself has to say."""

    def write(self, data: bytes) -> None:
        """All of `data` to its standard input."""

    def end_input(self) -> None:
        """No more is to come."""

    def kill(self) -> None:
        """Lets go of it, and ends the reads. The command may go on over there."""


class Transport(Protocol):
    """One login. `connect` comes first, and again after `alive` has become False."""

    def connect(self, first: bool) -> None:
        """Logs in. The `first` time of a command it may ask a user who is there, for a passphrase or a second
        factor. Raises Unreached."""

    def alive(self) -> bool:
        """False once a channel cannot be had any more."""

    def open(self, command: str) -> Pipes:
        """Starts a command, which the user's login shell reads. Raises Unreached."""

    def attach(self, command: str, keys: bool) -> int:
        """Runs a command, which the user's login shell reads, with this process' own streams, and with a
        terminal where `keys`. Gives its exit status. Raises Unreached, Lost, and BrokenPipeError where nobody
        reads its output here any more."""

    def close(self) -> None:
        """Ends the connection, if there is one."""
