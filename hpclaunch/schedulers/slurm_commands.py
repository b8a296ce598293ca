"""Running Slurm's commands: without a shell, with a time limit, and in a closed environment."""

import errno
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.environment import closed
from hpclaunch.schedulers.slurm_advice import advice_for, in_order, kind_of
from hpclaunch.values.errors import SchedulerError

QUERY_S = 60.0  # an unreachable controller makes squeue give up after about 20 s
_NOT_BEGUN = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})  # of pipe(2) and fork(2)
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Commands:
    """The commands for one cluster: that of `slurm_conf`, or of the machine's own configuration."""

    def __init__(self, slurm_conf: str | None):
        # the commands do not run in the user's folder
        self.slurm_conf = slurm_conf and os.path.abspath(slurm_conf)

    def user(self) -> str:
        """The number of the user whose jobs they are."""
        return str(os.getuid())

    def query(self, command: Sequence[str]) -> str:
        """The standard output of a command that only asks. Raises SchedulerError as `run` does."""
        # UTC, because Slurm prints times without a zone; and 0 for an array's tasks in full
        return self.run(command, QUERY_S, {"TZ": "UTC", "SLURM_BITSTR_LEN": "0"})[0]

    def run(
        self,
        command: Sequence[str],
        limit_s: float,
        inherited: Mapping[str, str] = _NOTHING,
        held: tuple[int, ...] = (),
    ) -> tuple[str, str]:
        """The command's standard output and error; `inherited` are variables beside those of the closed
        environment, and `held` descriptors that it keeps open. Raises Refused, or SchedulerError where a
        submission is open."""
        name = command[0]
        if self.slurm_conf and not Path(self.slurm_conf).is_file():
            # Slurm's commands would look for the file again and again for a minute
            raise Refused(
                f"there is no slurm.conf at {self.slurm_conf}", "Check SLURM_CONF and the site file."
            )
        begun: list[_Process] = []
        try:
            process = _Process(
                begun,
                command,
                cwd="/",  # the user's own may have been deleted, and sbatch asks for it
                env=closed(os.environ, inherited, self.slurm_conf),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=held,
            )
        except FileNotFoundError:
            raise Refused(
                f"{name} is not on the PATH", "Use a login node of the cluster, or load Slurm's module."
            ) from None
        except OSError as error:
            # What names no file is no exec that failed, so the command may run: until here.
            refused = error.filename is not None or error.errno in _NOT_BEGUN
            for each in begun:
                each.end()
            raise (Refused if refused else SchedulerError)(f"{name} cannot be started: {error}") from error
        out, said = _answer(process, name, limit_s)
        if process.returncode:
            message = (
                in_order(said.strip()) or f"{name} ended with status {process.returncode} and no message"
            )
            # A signal may come when all is sent.
            kind = SchedulerError if process.returncode < 0 else kind_of(message)
            raise kind(message, advice_for(message))
        return out, said


class _Process(subprocess.Popen[bytes]):
    """A command that whoever starts it knows also where the start failed and it runs all the same."""

    def __init__(self, begun: "list[_Process]", argv: Sequence[str], **options: Any):
        begun.append(self)
        super().__init__(argv, **options)

    def end(self) -> None:
        """Kills it where it runs, and returns when it is gone."""
        if getattr(self, "pid", None) is not None and self.returncode is None:
            self.kill()
            self.wait()


def _answer(process: "subprocess.Popen[bytes]", name: str, limit_s: float) -> tuple[str, str]:
    """What the command wrote. Raises SchedulerError; then it does not run any more."""
    with process:
        try:
            out, said = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            message = f"{name} did not answer within {limit_s:.0f} s"
            raise SchedulerError(message, "The controller is busy or down: `scontrol ping` tells.") from None
        except OSError as error:
            process.kill()
            raise SchedulerError(f"what {name} wrote cannot be read: {error}") from error
        except BaseException:
            process.kill()
            raise
    return out.decode("utf-8", "replace"), said.decode("utf-8", "replace")
