"""The keys of jobs that outlive a time limit, a node, or somebody's patience."""

from typing import Literal

from msgspec import Struct

# Signals that a program can heed and every release of Slurm has a name for (sig_name2num in its
# src/common/proc_args.c, 20.11 to 26.05).
SignalName = Literal["HUP", "INT", "QUIT", "ABRT", "ALRM", "TERM", "USR1", "USR2", "URG", "CONT"]


class SignalSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A signal to the ranks before the time limit. `before` is in seconds, read from the forms of `time`."""

    name: SignalName
    before: int


class NotifySpec(Struct, frozen=True, forbid_unknown_fields=True):
    """Who is told of the job's end, as JSON: a command reads it, or it is posted to a URL. `webhook` is the
    URL, or the name of the secret that has it; `token` the name of a secret that is sent with it. `start`: of
    each start of the job as well."""

    command: str | tuple[str, ...] | None = None
    webhook: str | None = None
    token: str | None = None
    start: bool = False
