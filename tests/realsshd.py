"""A real sshd on this machine's loopback, with keys, port, known_hosts and ssh_config of its own."""

import contextlib
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from freeport import free_port

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
USER = pwd.getpwuid(os.getuid()).pw_name

_SSHD_CONFIG = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/sshd.pid
StrictModes no
PermitRootLogin prohibit-password
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
LogLevel VERBOSE
MaxStartups 100
{more}
"""
_SSH_CONFIG = """\
Host node
  HostName 127.0.0.1
Host jump
  HostName localhost
Host beyond
  HostName 127.0.0.1
  ProxyJump jump
Host *
  Port {port}
  User {user}
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
"""


class Sshd:
    """An sshd that is up. `config` is for `ssh -F`: the host `node`, and `beyond`, which is behind `jump`."""

    def __init__(self, folder: Path, more: str = ""):
        self.folder, self.config = folder, folder / "ssh_config"
        self.log = folder / "sshd.log"
        self.known_hosts = folder / "known_hosts"
        for name in ("host_key", "key"):
            make_key(folder / name)
        shutil.copy(folder / "key.pub", folder / "authorized_keys")
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        facts = {"folder": folder, "port": self.port, "user": USER, "more": more}
        (folder / "sshd_config").write_text(_SSHD_CONFIG.format(**facts))
        self.config.write_text(_SSH_CONFIG.format(**facts))
        self.trust((folder / "host_key.pub").read_text())
        self.start()

    def trust(self, public_key: str) -> None:
        """This key is what users know of the host, and no other."""
        kind, key = public_key.split()[:2]
        names = f"[127.0.0.1]:{self.port},[localhost]:{self.port}"
        self.known_hosts.write_text(f"{names} {kind} {key}\n")

    def start(self) -> None:
        """Begins, or begins again."""
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")],
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        end = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert time.monotonic() < end, self.log.read_text()
            assert self._process.poll() is None, self.log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """The server and everybody's session end at once."""
        assert self._process
        self.each(signal.SIGKILL)
        self._process.wait()

    def sessions(self) -> list[int]:
        """The processes of the server that belong to sessions."""
        assert self._process
        return descendants(self._process.pid, "sshd")

    def cut(self) -> None:
        """Every session's own processes of sshd are killed: each connection breaks, and the server stays."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def each(self, sent: signal.Signals) -> None:
        """Sends a signal to the server and all of its sessions."""
        assert self._process
        for pid in (self._process.pid, *self.sessions()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Nothing of it says a word meanwhile."""
        self.each(signal.SIGSTOP)
        try:
            yield
        finally:
            self.each(signal.SIGCONT)

    def logins(self) -> int:
        """How often somebody has logged in."""
        return len(re.findall("Accepted publickey", self.log.read_text()))


def make_key(path: Path, passphrase: str = "") -> None:
    """A key pair."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(command, check=True)


def descendants(pid: int, name: str) -> list[int]:
    """The processes below `pid` that have this name."""
    parents: dict[int, list[tuple[int, str]]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = stat.read_text()
            words = text.rpartition(")")[2].split()
            called = text.partition("(")[2].rpartition(")")[0]
            parents.setdefault(int(words[1]), []).append((int(stat.parent.name), called))
    found, todo = [], [pid]
    while todo:
        for child, called in parents.get(todo.pop(), []):
            todo.append(child)
            found += [child] if called.startswith(name) else []
    return found


@contextlib.contextmanager
def serving(folder: Path, more: str = "") -> Iterator[Sshd]:
    """An sshd for as long as it is wanted."""
    server = Sshd(folder, more)
    try:
        yield server
    finally:
        server.stop()
