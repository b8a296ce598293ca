"""A command on a login node with this process' own streams: its words lie there in a file for the user alone,
since a terminal takes no long line, and arguments are everybody's to see."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence

from hpclaunch.records.record import Record
from hpclaunch.schedulers.ssh import twin, words
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.schedulers.ssh.contract import KEEPALIVE_S
from hpclaunch.schedulers.ssh.remote_commands import RemoteCommands
from hpclaunch.values.errors import InputError, SchedulerError
from hpclaunch.values.login import Login

# How long nothing may come from here, as of a laptop that sleeps, before a command is ended that must not
# outlive the connection. sshd itself may notice after hours (TCPKeepAlive of sshd_config(5)), and of a
# command without a terminal it ends nothing.
_SILENT_S = 12 * KEEPALIVE_S

# In the folder $1 of a command: `watched` is there while this listens. What becomes the command has put its
# process and when that began in `process`: of two processes with the same number one began later.
_WATCH = """\
cd -- "$1" && : >watched && echo hpclaunch-ready || exit
trap "" HUP PIPE
while read -r -t "$2"; do :; done
rm -f watched
for again in 1 2 3 4 5 6 7 8 9 10; do
  { read -r process began <process && read -r -a stat </proc/"$process"/stat; } 2>/dev/null || break
  [ "${stat[21]}" = "$began" ] || break
  signal=HUP
  [ "$again" -lt 6 ] || signal=TERM
  kill -s "$signal" "$process"
  sleep 1
done
cd / && rm -rf -- "$1"
"""
_BECOME = """\
read -r hl_stat </proc/$$/stat
set -- $hl_stat
printf '%s %s\\n' "$$" "${22}" >FOLDER/process
unset -v hl_stat
[ -e FOLDER/watched ] || exit 125
"""


def run(record: Record, commands: RemoteCommands, command: Sequence[str], keys: bool) -> int:
    """Runs `command` there, with a terminal where `keys`, and gives its exit status. Raises SchedulerError,
    and InputError for a folder that not every login shell can be told."""
    login = commands.login
    path = f"{twin.twin_of(record, login).folder}/inside-{os.urandom(6).hex()}"
    asked = _asked(path)
    _put(login, path, [*_exports(_usual(commands)), f"exec {shlex.join(command)}"])
    return connection(login).attach(asked, keys)


def run_watched(
    commands: RemoteCommands, command: Sequence[str], variables: Mapping[str, str], keys: bool
) -> int:
    """As `run`, with `variables` too, for a command that does not outlive the connection, or this process: it
    gets a hangup. One that is not on the PATH there is a SchedulerError."""
    login = commands.login
    folder = f"{login.home}/attached/{os.urandom(6).hex()}"
    quoted = shlex.quote(folder)
    missing = f"hpclaunch: {command[0]} is not on the PATH of {login}"
    advice = "hpclaunch: Set slurm.path in the site to the folder of Slurm's commands there."
    lines = [
        *_exports({**_usual(commands), **variables}),
        f"command -v {command[0]} >/dev/null || {{",
        f"  printf '%s\\n' {shlex.quote(missing)} {shlex.quote(advice)} >&2",
        f"  exit {SchedulerError.exit_status}",
        "}",
        *_BECOME.replace("FOLDER", quoted).splitlines(),
        f"exec {shlex.join(command)}",
    ]
    watch = ("/bin/bash", "-p", "-c", _WATCH, "hpclaunch-watch", folder, f"{_SILENT_S}")
    path = f"{folder}/run"
    asked = _asked(path)
    twin.make(login, folder)
    there = connection(login)
    with there.watched(" ".join(map(words.quote, watch))):
        # Now, and not before: should this process end, or not hear an answer, who watches removes the values.
        # And where that was done no folder is made again.
        _put(login, path, lines, in_new=False)
        return there.attach(asked, keys)


def _asked(path: str) -> str:
    try:
        return words.run_file(path)
    except ValueError as error:
        raise InputError(str(error)) from None


def _put(login: Login, path: str, lines: Iterable[str], in_new: bool = True) -> None:
    text = "\n".join([f"rm -f {shlex.quote(path)}", "cd /", *lines, ""])
    twin.put(login, path, text.encode("utf-8", "surrogateescape"), in_new)


def _usual(commands: RemoteCommands) -> dict[str, str]:
    return {
        "PATH": commands.path,
        **({"SLURM_CONF": commands.slurm_conf} if commands.slurm_conf else {}),
    }


def _exports(variables: Mapping[str, str]) -> list[str]:
    return [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
