"""The way to Slurm by its commands on a login node."""

from collections.abc import Sequence

from hpclaunch.records.sending import LOCK
from hpclaunch.schedulers.ssh.remote_commands import RemoteCommands
from hpclaunch.schedulers.ways.commands import SBATCH_S, ByCommands
from hpclaunch.schedulers.ways.contract import Request
from hpclaunch.values.login import Login


class OverSsh(ByCommands):
    """As the commands here; sbatch holds a lock beside the script, since it may outlive the connection."""

    def __init__(self, login: Login, slurm_conf: str | None):
        self._remote = RemoteCommands(login, slurm_conf)
        super().__init__(self._remote)

    def _send(self, command: Sequence[str], request: Request) -> tuple[str, str]:
        lock = str(request.script.parent / LOCK)
        return self._remote.submit(command, SBATCH_S, request.inherited, lock)
