"""Slurm's commands on a login node, in the closed environment."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from msgspec import Struct

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.slurm_advice import advice_for, in_order, kind_of
from hpclaunch.schedulers.slurm_commands import QUERY_S, Commands
from hpclaunch.schedulers.ssh import words
from hpclaunch.schedulers.ssh.connection import Connection, connection
from hpclaunch.values.errors import SchedulerError
from hpclaunch.values.login import Login

_NOTHING: Mapping[str, str] = MappingProxyType({})
_LOCKED = 75  # EX_TEMPFAIL of sysexits.h

# A shell that sshd starts reads no /etc/profile, where many clusters put Slurm's commands on the PATH.
_LOOK = (
    "command -v sbatch >/dev/null 2>&1 || "
    "hl_path=$(/bin/sh -lc 'echo; echo \"hl:$PATH\"' </dev/null 2>/dev/null | "
    "sed -n 's/^hl://p' | tail -n 1); id -u; printf '%s\\n' \"${hl_path:-$PATH}\""
)


class _Facts(Struct, frozen=True):
    """What a login node is asked once: the number of the user there, and a PATH that has Slurm's commands."""

    user: str
    path: str


class RemoteCommands(Commands):
    """The commands for one cluster: that of `slurm_conf`, a path there, or of the login node's own
    configuration."""

    def __init__(self, login: Login, slurm_conf: str | None):
        super().__init__(slurm_conf)
        self.login = login
        self._connection: Connection = connection(login)

    @property
    def path(self) -> str:
        """A PATH that has Slurm's commands over there."""
        return self._facts.path

    def user(self) -> str:
        """The number of the user over there."""
        return self._facts.user

    def run(
        self,
        command: Sequence[str],
        limit_s: float,
        inherited: Mapping[str, str] = _NOTHING,
        held: tuple[int, ...] = (),
    ) -> tuple[str, str]:
        """As there; Lost, which is a SchedulerError, where the connection broke under the command.
        Descriptors cannot be `held` over there: see `submit`."""
        return self._answer(
            command, words.command(command, self._variables(inherited), self._facts.path), limit_s
        )

    def submit(
        self, command: Sequence[str], limit_s: float, inherited: Mapping[str, str], lock: str
    ) -> tuple[str, str]:
        """As `run`, while the file `lock` is locked over there: sbatch may outlive the connection, and until
        it has ended nobody knows whether there is a job. Raises SchedulerError where an earlier one holds
        it."""
        sending = words.command(command, self._variables(inherited), self._facts.path)
        body = f"({locking(lock)} || exit {_LOCKED}; {sending})"
        return self._answer(command, body, limit_s)

    def _answer(self, command: Sequence[str], body: str, limit_s: float) -> tuple[str, str]:
        name = command[0]
        done = self._connection.run(body, limit_s)
        out, err = (text.decode("utf-8", "replace") for text in (done.out, done.err))
        if done.status == _LOCKED:
            raise still_sent(self.login)
        if done.status == 127:
            raise Refused(
                f"{name} is not on the PATH of {self.login}",
                "Set slurm.path in the site to the folder of Slurm's commands there.",
            )
        if done.status:
            message = in_order(err.strip()) or f"{name} ended with status {done.status} and no message"
            # A signal may come when all is sent.
            kind = SchedulerError if done.status > 128 else kind_of(message)
            raise kind(message, advice_for(message))
        return out, err

    def _variables(self, inherited: Mapping[str, str]) -> dict[str, str]:
        return {**({"SLURM_CONF": self.slurm_conf} if self.slurm_conf else {}), **inherited}

    @property
    def _facts(self) -> _Facts:
        return _facts_of(self.login, self.slurm_conf)


@cache
def _facts_of(login: Login, slurm_conf: str | None) -> _Facts:
    first = f"PATH={words.quote(login.path)}:$PATH; " if login.path else ""
    conf = words.quote(slurm_conf or "/")
    done = connection(login).run(f"({first}[ -e {conf} ] || exit 72; {_LOOK}) </dev/null", QUERY_S)
    if done.status == 72:
        # Slurm's commands would look for the file again and again for a minute
        raise Refused(f"there is no slurm.conf at {slurm_conf} on {login}", "Check the site file.")
    user, _, path = done.out.decode("utf-8", "surrogateescape").partition("\n")
    if done.status or not user.isdigit():
        said = done.err.decode("utf-8", "replace").strip()
        raise Refused(f"{login} does not answer as a login node: {said}")
    return _Facts(user, path.rstrip("\n"))


def locking(lock: str, options: str = "") -> str:
    """A text for sh that locks the file for itself and what it starts, and fails where another one has it.
    Who only looks shares it (`-s`), for a moment. Where the file system has no locks it goes on."""
    return (
        f"exec 9>>{words.quote(lock)} && "
        f"{{ flock {options} -w 3 -E {_LOCKED} 9 2>/dev/null; [ $? -ne {_LOCKED} ]; }}"
    )


def still_sent(login: Login) -> SchedulerError:
    """The error of a submission of which nobody can tell yet whether it arrives."""
    return SchedulerError(
        f"an earlier sbatch of this submission has not ended on {login}", "Ask again in a few minutes."
    )
