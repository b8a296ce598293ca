"""The system's ssh: whatever lets a user in there (a second factor, Kerberos, a smart card) works here too.

One login serves a whole command: that of the user's own ControlMaster where there is one, else one of this
process, whose socket lies in a private folder. A session that reads from a pipe of this process keeps it, so
that it ends with this process, however that ends.
"""

import contextlib
import errno
import os
import select
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from hpclaunch.schedulers import terminal
from hpclaunch.schedulers.ssh.advice import unreached
from hpclaunch.schedulers.ssh.contract import CONNECT_S, KEEPALIVE_S, READY_S, Lost, Unreached
from hpclaunch.schedulers.ssh.exchange import greet
from hpclaunch.schedulers.ssh.words import KEEP
from hpclaunch.values.login import Login

USER_S = 180.0  # a user looks for a telephone
_CHUNK = 65_536
_BROKEN = 255  # ssh(1): an error of its own; a command may end with it too
_LONGEST = 60  # of sun_path's 104 bytes (108 on Linux) ssh takes 17 for a name beside the socket's at first
# On the command line, where ssh_config(5) cannot undo them.
_ALWAYS = (
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ServerAliveCountMax=3",
    "LogLevel=ERROR",
)
# Likewise, where this ssh has them: others refuse the name. RemoteCommand is in OpenSSH from 7.6 on, the
# others from 8.7 on (its release notes).
_NEWER = {
    "remotecommand": "none",
    "sessiontype": "default",
    "stdinnull": "no",
    "forkafterauthentication": "no",
}


class OpenSsh:
    """One login by the program ssh."""

    def __init__(self, login: Login):
        self._login = login
        self._folder: Path | None = None
        self._keeper: _Process | None = None
        self._riding: tuple[str, ...] | None = None
        self._newer: tuple[str, ...] = ()

    def connect(self, first: bool) -> None:
        """Logs in, or finds that somebody is logged in already."""
        self.close()
        self._newer = ()
        configured = self._configured()
        self._newer = tuple(f"{name}={value}" for name, value in _NEWER.items() if name in configured)
        if self._ask("-O", "check").returncode == 0:
            self._riding = ()
            return
        if _has_lasting_master(configured):
            own: tuple[str, ...] = ()
        else:
            usual = tempfile.gettempdir()
            self._folder = Path(
                tempfile.mkdtemp(prefix="hl-", dir=usual if len(usual) <= _LONGEST else "/tmp")
            )
            own = ("-S", str(self._folder / "s"))
        making = (*own, "-M", "-o", "ControlPersist=no") if own else ()
        asks = first and _somebody_is_there()
        batch = ("-o", f"BatchMode={'no' if asks else 'yes'}")
        keeper = self._start((*making, *batch), KEEP)
        trouble = greet(keeper, USER_S if asks else CONNECT_S + READY_S)
        if trouble:
            keeper.kill()
            self.close()
            raise unreached(self._login, trouble.decode("utf-8", "replace"))
        self._keeper = keeper
        self._riding = (*own, "-o", "ControlMaster=no") if own else ()

    def alive(self) -> bool:
        """Whether the session that keeps the login lives; a user's own master is ssh's affair."""
        return self._riding is not None and (self._keeper is None or self._keeper.runs())

    def open(self, command: str) -> "_Process":
        """One more session of the login."""
        riding = self._riding
        if riding is None:  # another thread has found it broken
            raise Unreached(f"the connection to {self._login} was closed")
        return self._start((*riding, "-o", "BatchMode=yes"), command)

    def attach(self, command: str, keys: bool) -> int:
        """As the contract says it. ssh itself carries the streams, and says on standard error what breaks.
        That nobody reads any more it would learn with the next write alone."""
        riding = self._riding
        if riding is None:
            raise Unreached(f"the connection to {self._login} was closed")
        words = [*self._command((*riding, "-o", "BatchMode=yes"), keys), command]
        try:
            process = subprocess.Popen(words)
        except OSError as error:
            raise _no_program(error) from error
        unread = threading.Event()
        if not keys:
            threading.Thread(target=_end_unread, args=(process, unread), daemon=True).start()
        try:
            status = process.wait()
        finally:
            process.terminate()  # it gives the terminal back before it ends
            process.wait()
        if unread.is_set():
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        if status == _BROKEN and self._ask(*riding, "-O", "check").returncode:
            raise Lost(f"the connection to {self._login} broke, and the command may go on there")
        return status

    def close(self) -> None:
        """Lets the session end that keeps the login, and with it ssh."""
        if self._keeper:
            self._keeper.end()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._keeper = self._folder = self._riding = None

    def _command(self, options: Sequence[str], keys: bool = False) -> list[str]:
        login = self._login
        limits = (f"ConnectTimeout={CONNECT_S:.0f}", f"ServerAliveInterval={KEEPALIVE_S}")
        found = ["ssh", *options, "-t" if keys else "-T", "-a", "-x"]  # neither agent nor X11 over there
        for setting in (*_ALWAYS, *self._newer, *limits):
            found += ["-o", setting]
        for option, value in (
            ("-F", login.config),
            ("-l", login.user),
            ("-p", login.port),
            ("-J", login.jump),
        ):
            if value is not None:
                found += [option, str(value)]
        return [*found, "--", login.host]

    def _configured(self) -> dict[str, str]:
        """What ssh makes of its configuration, by lower-case names: `ssh -G`, in OpenSSH from 6.8 on. Without
        -N it refuses to answer where ForkAfterAuthentication is set."""
        return dict(line.partition(" ")[::2] for line in self._ask("-G", "-N").stdout.splitlines())

    def _ask(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """A question to ssh itself, for which it asks nobody."""
        try:
            return subprocess.run(
                self._command(options),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=CONNECT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _no_program(error) from error

    def _start(self, options: Sequence[str], command: str) -> "_Process":
        try:
            return _Process([*self._command(options), command])
        except OSError as error:
            raise _no_program(error) from error


class _Process:
    """A session of ssh, as pipes."""

    def __init__(self, command: Sequence[str]):
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        self._in, self._out, self._err = self._streams()

    def _streams(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        return process.stdin, process.stdout, process.stderr

    def read_out(self) -> bytes:
        """As the contract says it."""
        return os.read(self._out.fileno(), _CHUNK)

    def read_err(self) -> bytes:
        """As the contract says it."""
        return os.read(self._err.fileno(), _CHUNK)

    def write(self, data: bytes) -> None:
        """As the contract says it."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._in.fileno(), view) :]

    def end_input(self) -> None:
        """As the contract says it."""
        self._in.close()

    def runs(self) -> bool:
        """Whether ssh has not ended."""
        return self._process.poll() is None

    def end(self) -> None:
        """Lets it end by itself, for a moment."""
        with contextlib.suppress(OSError, ValueError):
            self._in.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2.0)
        self.kill()

    def kill(self) -> None:
        """As the contract says it. The pipes stay open for who reads them: they end with the process."""
        self._process.kill()
        self._process.wait()


def _end_unread(process: "subprocess.Popen[bytes]", unread: threading.Event) -> None:
    """Ends a process once nobody reads this one's standard output any more."""
    poll = select.poll()
    poll.register(1, 0)
    if terminal.is_unread(poll.poll()):
        unread.set()
        process.terminate()


def _has_lasting_master(known: Mapping[str, str]) -> bool:
    """Whether the user's own configuration makes a master that outlives the session that began it."""
    return (
        known.get("controlmaster", "false") not in ("false", "no")
        and known.get("controlpersist", "no") != "no"
        and known.get("controlpath", "none") != "none"
    )


def _somebody_is_there() -> bool:
    """Whether ssh can ask: it does so on the terminal, wherever its input comes from."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _no_program(error: Exception) -> Unreached:
    if isinstance(error, FileNotFoundError):
        return Unreached(
            "there is no ssh on this machine", "Install OpenSSH, or set `transport: fabric` in the site."
        )
    return Unreached(f"ssh cannot be started: {error}")
