"""A command on a login node with this process' own streams: its words lie there in a file for the user alone,
since a terminal takes no long line, and arguments are everybody's to see."""

import os
import shlex
from collections.abc import Sequence

from hpclaunch.records.record import Record
from hpclaunch.schedulers.ssh import twin, words
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.schedulers.ssh.remote_commands import RemoteCommands
from hpclaunch.values.errors import InputError


def run(record: Record, commands: RemoteCommands, command: Sequence[str], keys: bool) -> int:
    """Runs `command` there, with a terminal where `keys`, and gives its exit status. Raises SchedulerError,
    and InputError for a folder that not every login shell can be told."""
    login = commands.login
    path = f"{twin.twin_of(record, login).folder}/inside-{os.urandom(6).hex()}"
    try:
        asked = words.run_file(path)
    except ValueError as error:
        raise InputError(str(error)) from None
    variables = {
        "PATH": commands.path,
        **({"SLURM_CONF": commands.slurm_conf} if commands.slurm_conf else {}),
    }
    lines = [f"rm -f {shlex.quote(path)}", "cd /"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    lines.append(f"exec {shlex.join(command)}")
    twin.put(login, path, "\n".join([*lines, ""]).encode("utf-8", "surrogateescape"))
    return connection(login).attach(asked, keys)
