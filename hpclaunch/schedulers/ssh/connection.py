"""One connection to a login node for a whole command: made when it is first needed, and anew when it
broke."""

import atexit
import contextlib
import threading
import time
from collections.abc import Iterable, Iterator

from hpclaunch.schedulers.ssh.contract import KEEPALIVE_S, READY_S, Done, Lost, Pipes, Transport, Unreached
from hpclaunch.schedulers.ssh.exchange import begin, converse
from hpclaunch.schedulers.ssh.words import LISTEN
from hpclaunch.values.login import Login

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
_AT_ONCE = 4  # sessions of one connection; sshd allows 10 (MaxSessions of sshd_config(5)), some sites fewer
_AGAIN = "While hpclaunch waits for a job it connects again by itself; else run the command again."

_known: dict[Login, "Connection"] = {}


def connection(login: Login) -> "Connection":
    """The connection of this process to a login node."""
    if login not in _known:
        if not _known:
            atexit.register(close)
        _known[login] = Connection(login, _transport(login))
    return _known[login]


def close() -> None:
    """Ends all connections of this process."""
    for each in _known.values():
        each.close()
    _known.clear()


def _transport(login: Login) -> Transport:
    if login.transport == "openssh":
        from hpclaunch.schedulers.ssh.by_openssh import OpenSsh

        return OpenSsh(login)
    from hpclaunch.schedulers.ssh.by_fabric import Fabric

    return Fabric(login)


class Connection:
    """The login over one transport. After a failure it waits longer each time before it tries again, and
    until then says at once what the trouble was."""

    def __init__(self, login: Login, transport: Transport):
        self.login = login
        self._transport = transport
        self._lock = threading.Lock()  # several jobs are sent at the same time
        self._room = threading.Semaphore(_AT_ONCE)
        self._tried = False
        self._failures = 0
        self._not_before = 0.0
        self._trouble = Unreached("")

    def run(self, body: str, limit_s: float, data: Iterable[bytes] = ()) -> Done:
        """Runs `body`, a text for sh on one line (see `words`), with `data` on its standard input. `limit_s`
        is how long nothing may come back and nothing be taken.

        Raises Unreached where nothing was sent, and Lost where nobody can tell what became of it.
        """
        with self._room:
            return self._run(body, limit_s, data)

    def attach(self, command: str, keys: bool) -> int:
        """Runs a command that the login shell reads with this process' own streams, after another `run` has
        made the connection; gives its exit status. Raises Unreached, and Lost."""
        return self._transport.attach(command, keys)

    @contextlib.contextmanager
    def watched(self, body: str) -> Iterator[None]:
        """Meanwhile `body`, a text for sh, runs there: it says READY, and then hears a line from here every
        KEEPALIVE_S seconds, for as long as this process lives and the connection stands, which another `run`
        has made. Raises Unreached."""
        pipes = self._transport.open(LISTEN)
        begin(pipes, body, READY_S)
        over = threading.Event()
        beating = threading.Thread(target=_beat, args=(pipes, over), daemon=True)
        beating.start()
        try:
            yield
        finally:
            over.set()
            pipes.kill()

    def close(self) -> None:
        """Ends it, until it is used again."""
        self._transport.close()

    def _run(self, body: str, limit_s: float, data: Iterable[bytes]) -> Done:
        if time.monotonic() < self._not_before:
            raise self._trouble
        if self._transport.alive():
            try:
                return self._once(body, limit_s, data)
            except Unreached:
                self._transport.close()  # it had died unseen, as of a machine that slept; nothing was sent
        try:
            return self._once(body, limit_s, data)
        except Unreached as error:
            self._transport.close()
            self._not_before = time.monotonic() + min(_FIRST_PAUSE_S * 2**self._failures, _LONGEST_PAUSE_S)
            self._failures += 1
            self._trouble = error
            raise

    def _once(self, body: str, limit_s: float, data: Iterable[bytes]) -> Done:
        with self._lock:
            if not self._transport.alive():
                first, self._tried = not self._tried, True
                self._transport.connect(first)
        try:
            done = converse(self._transport.open(LISTEN), body, data, READY_S, limit_s)
        except Lost as error:
            self._transport.close()
            raise Lost(f"the connection to {self.login} broke: {error}", _AGAIN) from error
        self._failures, self._not_before = 0, 0.0
        return done


def _beat(pipes: Pipes, over: threading.Event) -> None:
    with contextlib.suppress(OSError, ValueError, EOFError):  # who listens sees that nothing comes any more
        while not over.wait(KEEPALIVE_S):
            pipes.write(b"\n")
