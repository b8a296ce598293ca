"""Slurm's refusals and what to do about them, as data. The messages are those of src/common/slurm_errno.c,
tags 20.11 to 26.05, and of sbatch's own option parser."""

from hpclaunch.schedulers.contract import Busy, Refused
from hpclaunch.values.errors import SchedulerError

# A part of Slurm's message -> what to do. The first that matches is used.
ADVICE = (
    (
        "invalid partition",
        "Name one of the site's partitions (`sinfo -s` lists them) as the site's or the job's `partition`.",
    ),
    ("no partition specified", "The cluster has no default partition: set `partition` in the site file."),
    (
        "invalid account",
        "Set `account` for the site in the job file; `sacctmgr show assoc user=$USER` lists yours.",
    ),
    ("invalid qos", "Set a `qos` that your account may use; `sacctmgr show assoc user=$USER` lists them."),
    ("group not permitted to use this partition", "Ask for access to the partition, or name another."),
    ("node count specification", "Ask for fewer nodes; `sinfo -s` shows how many the partition has."),
    ("more processors requested", "Ask for fewer nodes or ranks; `sinfo -s` shows what the partition has."),
    (
        "node configuration is not available",
        "No node of the partition has what the job asks for: compare the "
        "site's node types with `sinfo -N -o '%N %c %m %G'`.",
    ),
    (
        "partition configuration not available",
        "The partition gives no job that much: `scontrol show partition` shows its limits.",
    ),
    ("generic resource", "Compare the GPUs that the job asks for with `sinfo -o '%N %G'`."),
    ("invalid gres", "Compare the GPUs that the job asks for with `sinfo -o '%N %G'`."),
    ("memory specification", "Ask for less memory; `sinfo -N -o '%N %m'` shows what the nodes have."),
    ("time limit", "Set a shorter `time`; `sinfo -s` shows the limit of each partition."),
    ("--time", "Check `time` in the job file."),
    ("invalid feature", "Check `constraint`; `sinfo -o '%N %f'` lists the features of the nodes."),
    ("invalid node name", "Check `nodelist` and `exclude`; `sinfo -N` lists the nodes."),
    ("not in this partition", "Check `nodelist` and `partition`; `sinfo -N` lists the nodes of each."),
    ("reservation", "Check `reservation`; `scontrol show reservation` lists those that you may use."),
    ("license", "Check the licences that are asked for; `scontrol show licenses` lists them."),
    ("dependency", "The job that is waited for is unknown, or cannot end that way any more."),
    (
        "job violates accounting/qos policy",
        "A limit of your account or QOS is reached: `sacctmgr show assoc "
        "user=$USER` and `sacctmgr show qos` show them.",
    ),
    ("submissions disabled", "The administrators let nobody submit at present: try later."),
    ("queue full", "The queue is full: try later."),
    ("temporarily", "Try again in a minute."),
    (
        "unrecognized option",
        "The site's Slurm does not know this option: check `sbatch` for the site in the "
        "job file, and the Slurm version in the site file.",
    ),
    (
        "unknown option",
        "The site's Slurm does not know this option: check `sbatch` for the site in the job "
        "file, and the Slurm version in the site file.",
    ),
    (
        "access/permission denied",
        "Slurm does not let you do this: is the job yours, and are you known on the cluster?",
    ),
    (
        "unable to contact slurm controller",
        "The controller is down or cannot be reached from here: try later "
        "(`scontrol ping` tells), or ask the administrators.",
    ),
    ("socket timed out", "The controller is busy: try again in a minute."),
    ("connection refused", "The controller is down: try later (`scontrol ping` tells)."),
    (
        "authentication",
        "munge does not work on this machine (`munge -n | unmunge` tells): ask the administrators.",
    ),
    ("munge", "munge does not work on this machine (`munge -n | unmunge` tells): ask the administrators."),
    (
        "incompatible versions",
        "The commands on this machine are of another Slurm than the controller: use "
        "the cluster's own login node.",
    ),
    ("configuration file", "No usable slurm.conf: set SLURM_CONF, or `slurm: {conf: ...}` in the site file."),
    (
        "configuration source",
        "No usable slurm.conf: set SLURM_CONF, or `slurm: {conf: ...}` in the site file.",
    ),
)

# Messages of a controller that took nothing, and may in a moment: it restarts, stands by for another, or has
# too much to do (sbatch itself has waited for two minutes then, the other ways to Slurm have not).
BUSY = (
    "connect failure",
    "connection refused",
    "standby mode",
    "rate limit exceeded",
    "unable to create job record, try again",
    "resource temporarily unavailable",
)

# munge on this machine did not sign the request, for which Slurm itself has asked it for a minute
# (src/plugins/auth/munge): a munged that is started again is not noticed.
NEVER_LEFT = "munge encode failed"
# What such lines have in them, and what Slurm adds for administrators.
_OF_SIGNING = ("munge", "authentication")
_HINT = "if munged is up, restart with"

# Messages after which nobody can tell whether the controller has the job, of Slurm (a socket that is missing
# is one that broke while an answer was read, slurm_recv_timeout of src/common/slurm_protocol_socket.c) and of
# the system. Authentication is among them: it may be the answer that is not believed.
UNREACHABLE = (
    "unable to contact",
    "timed out",
    "connection",
    "communication",
    "receive failure",
    "send failure",
    "not responding",
    "protocol authentication",
    "credential expired",
    "unexpected message",
    "insane message",
    "zero bytes",
    "missing socket",
    "file descriptor",
    "would block",
    "broken pipe",
    "not connected",
    "no route to host",
    "host is down",
    "network is",
)


def advice_for(message: str) -> str:
    """What to do about a message of Slurm, or nothing where the message says it all."""
    lowered = message.lower()
    if NEVER_LEFT in lowered:  # and not what munge says about its own socket
        lowered = NEVER_LEFT
    return next((advice for part, advice in ADVICE if part in lowered), "")


def kind_of(message: str) -> type[SchedulerError]:
    """Refused or Busy where there is surely no job, else SchedulerError: one line that leaves it open is
    enough, since a command tries several times and tells of each."""
    lines = message.lower().splitlines()
    if any(NEVER_LEFT in line for line in lines):
        lines = [line for line in lines if not any(word in line for word in _OF_SIGNING)]
    kinds = {_kind_of_line(line) for line in lines}
    return next((kind for kind in (SchedulerError, Busy) if kind in kinds), Refused)


def _kind_of_line(line: str) -> type[SchedulerError]:
    if any(part in line for part in BUSY):
        return Busy
    return SchedulerError if any(part in line for part in UNREACHABLE) else Refused


def in_order(message: str) -> str:
    """The message with each line once, and where munge did not sign it with that first: it stands for all."""
    lines = [line for line in dict.fromkeys(message.splitlines()) if _HINT not in line.lower()]
    return "\n".join(sorted(lines, key=lambda line: NEVER_LEFT not in line.lower())) or message
