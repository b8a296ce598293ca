"""SSH in this process, by the library fabric, which is an extra: `pip install 'hpclaunch[ssh]'`.

fabric reads ~/.ssh/config (HostName, User, Port, IdentityFile, ProxyJump, ProxyCommand), but takes every
host key for good and reads no known_hosts (`AutoAddPolicy` in fabric/connection.py, 3.2). Here it does what
ssh does with `StrictHostKeyChecking yes`, at each hop.
"""

import contextlib
import logging
import os
import socket
from typing import Any

from hpclaunch.schedulers.ssh.advice import unreached
from hpclaunch.schedulers.ssh.contract import CONNECT_S, KEEPALIVE_S, Lost, Unreached
from hpclaunch.values.login import Login

_CHUNK = 65_536
# ssh_config(5): where host keys are looked for unless it says otherwise.
_USER_KEYS = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
_GLOBAL_KEYS = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"


class Fabric:
    """One login by fabric."""

    def __init__(self, login: Login):
        self._login = login
        self._connection: Any = None

    def connect(self, first: bool) -> None:
        """Logs in with what an agent or a key file without a passphrase gives; asks nobody."""
        self.close()
        fabric = _library()
        import paramiko

        try:
            connection = _connection(fabric, self._login)
            for hop in _hops(fabric, connection):
                _check_keys(paramiko, hop)
                _leave_out_missing(hop.connect_kwargs)
            connection.open()
        except (OSError, EOFError, ValueError, paramiko.SSHException) as error:
            raise unreached(self._login, _in_ssh_s_words(paramiko, error)) from error
        connection.transport.set_keepalive(KEEPALIVE_S)
        self._connection = connection

    def alive(self) -> bool:
        """Whether paramiko has not seen the connection break."""
        connection = self._connection
        return connection is not None and bool(connection.is_connected)

    def open(self, command: str) -> "_Channel":
        """One more channel of the connection."""
        import paramiko

        connection = self._connection
        if connection is None:  # another thread has found it broken
            raise Unreached(f"the connection to {self._login} was closed")
        try:
            channel = connection.transport.open_session(timeout=CONNECT_S)
            channel.exec_command(command)
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise unreached(self._login, str(error) or "the connection was closed") from error
        return _Channel(channel)

    def attach(self, command: str, keys: bool) -> int:
        """As the contract says it."""
        import paramiko

        from hpclaunch.schedulers.ssh.fabric_streams import carry

        connection = self._connection
        if connection is None:
            raise Unreached(f"the connection to {self._login} was closed")
        try:
            channel = connection.transport.open_session(timeout=CONNECT_S)
            status = carry(channel, command, keys)
        except (EOFError, paramiko.SSHException) as error:
            raise unreached(self._login, str(error) or "the connection was closed") from error
        if status < 0:
            raise Lost(f"the connection to {self._login} broke, and the command may go on there")
        return status

    def close(self) -> None:
        """Ends the connection, and those of the hops before it."""
        connection, self._connection = self._connection, None
        while connection is not None and not isinstance(connection, str):
            with contextlib.suppress(Exception):  # it is of no use any more, whatever it says
                connection.close()
            connection = connection.gateway


class _Channel:
    """A channel of paramiko, as pipes."""

    def __init__(self, channel: Any):
        self._channel = channel

    def read_out(self) -> bytes:
        """As the contract says it."""
        data: bytes = self._channel.recv(_CHUNK)
        return data

    def read_err(self) -> bytes:
        """As the contract says it."""
        data: bytes = self._channel.recv_stderr(_CHUNK)
        return data

    def write(self, data: bytes) -> None:
        """As the contract says it."""
        self._channel.sendall(data)

    def end_input(self) -> None:
        """As the contract says it."""
        self._channel.shutdown_write()

    def kill(self) -> None:
        """As the contract says it."""
        with contextlib.suppress(OSError, EOFError):
            self._channel.close()


def _library() -> Any:
    try:
        import fabric
    except ImportError as error:
        raise Unreached(
            f"the library fabric cannot be loaded: {error}",
            "`pip install 'hpclaunch[ssh]'`, or set `transport: openssh` under ssh in the site.",
        ) from error
    # Without a handler Python prints paramiko's own reports, with tracebacks, on standard error.
    logging.getLogger("paramiko").addHandler(logging.NullHandler())
    return fabric


def _in_ssh_s_words(paramiko: Any, error: Exception) -> str:
    """What ssh would say, where paramiko's own words tell less."""
    text = str(error) or type(error).__name__
    if isinstance(error, paramiko.BadHostKeyException):
        return f"the host key of {error.hostname} is not the known one: host identification has changed"
    if isinstance(error, paramiko.PasswordRequiredException):
        return text
    if isinstance(error, paramiko.AuthenticationException) or "No authentication methods" in text:
        return f"Permission denied: {text}"
    if isinstance(error, paramiko.ssh_exception.NoValidConnectionsError):
        return "; ".join(dict.fromkeys(each.strerror or str(each) for each in error.errors.values()))
    if isinstance(error, socket.gaierror):
        return f"Could not resolve hostname: {error.strerror}"
    if isinstance(error, TimeoutError) or text in (
        "Error reading SSH protocol banner",
        "No existing session",
    ):
        return "Connection timed out: no answer"
    return text


def _connection(fabric: Any, login: Login) -> Any:
    config = fabric.Config(runtime_ssh_path=login.config) if login.config else fabric.Config()
    gateway = None
    for hop in (login.jump or "").split(","):
        if hop:
            gateway = fabric.Connection(hop, gateway=gateway, **_options(config))
    return fabric.Connection(
        login.host, user=login.user, port=login.port, gateway=gateway, **_options(config)
    )


def _options(config: Any) -> dict[str, Any]:
    """For one hop: fabric writes into what it is given."""
    limits = {"banner_timeout": CONNECT_S, "auth_timeout": CONNECT_S, "channel_timeout": CONNECT_S}
    return {
        "config": config,
        "forward_agent": False,
        "connect_timeout": int(CONNECT_S),
        "connect_kwargs": limits,
    }


def _hops(fabric: Any, connection: Any) -> list[Any]:
    """The connection, and those by whose way it goes."""
    found = []
    while isinstance(connection, fabric.Connection):
        found.append(connection)
        connection = connection.gateway
    return found


def _check_keys(paramiko: Any, hop: Any) -> None:
    """Known keys alone, from the files that ssh would read."""
    hop.client.set_missing_host_key_policy(paramiko.RejectPolicy())
    for setting, usual in (("userknownhostsfile", _USER_KEYS), ("globalknownhostsfile", _GLOBAL_KEYS)):
        for name in str(hop.ssh_config.get(setting, usual)).split():
            with contextlib.suppress(FileNotFoundError):
                hop.client.load_system_host_keys(os.path.expanduser(name.strip('"')))


def _leave_out_missing(options: dict[str, Any]) -> None:
    """ssh passes over an IdentityFile that is not there, as where an agent alone has the key; paramiko
    fails."""
    if "key_filename" in options:
        options["key_filename"] = [name for name in options["key_filename"] if os.path.exists(name)]
