"""What Slurm tells of a user and of its clock, and what one of its nodes tells."""

import re
import shlex
import time
from collections.abc import Iterator, Sequence

from hpclaunch.schedulers.contract import Warn
from hpclaunch.schedulers.slurm_commands import Commands
from hpclaunch.schedulers.slurm_nodes import list_nodes, one_of_each, run_on
from hpclaunch.values.checkup import Check
from hpclaunch.values.errors import SchedulerError, first_line

NOTICED_S = 5.0
TOO_MUCH_S = 300.0  # munge takes no credential that is older (TTL of 300 s, munge(1))
MEMLOCK = "memlock limit"


def clock(commands: Commands, now: float) -> Check:
    """How far the controller's clock is from this machine's, `now` in seconds since 1970. sdiag prints the
    controller's own moment (`req_time` of stats_info_response_msg_t, src/sdiag/sdiag.c, tags 20.11 to 26.05),
    in whole seconds."""
    subject = "clocks"
    begun = time.monotonic()
    try:
        text = commands.query(["sdiag"])
    except SchedulerError as error:
        return Check(subject, "not known", f"sdiag does not tell: {first_line(error)}")
    now += (time.monotonic() - begun) / 2
    match = re.search(r"output at .*\((\d+)\)", text)
    if match is None:
        return Check(subject, "not known", "what sdiag prints was not understood")
    return skew(subject, "the controller", int(match[1]) + 0.5 - now)


def skew(subject: str, who: str, seconds: float) -> Check:
    """What a difference of clocks means."""
    if abs(seconds) < NOTICED_S:
        return Check(subject, "ok", f"{who} and this machine agree")
    way = "ahead of" if seconds > 0 else "behind"
    found = f"{who} is {abs(seconds):.0f} s {way} this machine"
    advice = "Ask the administrators for NTP: times of jobs are wrong, and munge refuses at 5 minutes."
    return Check(subject, "bad" if abs(seconds) >= TOO_MUCH_S else "warning", found, advice)


def associations(commands: Commands, keeps_accounts: bool, accounts: Sequence[str]) -> Check:
    """The accounts that this user may submit under, and whether `accounts` are among them."""
    subject = "accounts"
    if not keeps_accounts:
        return Check(subject, "not known", "the cluster keeps no accounts, and asks for none")
    try:
        user = commands.query(["id", "-un"]).strip()
    except SchedulerError as error:
        return Check(subject, "not known", f"this user has no name: {first_line(error)}")
    subject = f"accounts of {user}"
    query = ["sacctmgr", "-nP", "show", "assoc", f"user={user}", "format=account"]
    try:
        found = list(dict.fromkeys(commands.query(query).split()))
    except SchedulerError as error:
        return Check(subject, "not known", f"sacctmgr does not tell: {first_line(error)}")
    names = ", ".join(found) or "none"
    lacking = [account for account in accounts if account not in found]
    if lacking:
        advice = "Set `account` for the site in the job file, or ask the administrators for this one."
        return Check(subject, "bad", f"{', '.join(lacking)}: not among them: {names}", advice)
    if not found:
        return Check(subject, "warning", names, "Ask the administrators for an account.")
    return Check(subject, "ok", names)


def on_a_node(commands: Commands, partition: str | None, paths: Sequence[str], warn: Warn) -> Iterator[Check]:
    """What one node that can take a job says of its limits, its clock and these paths. Raises SchedulerError
    where no step can be run."""
    free = [node for node in one_of_each(list_nodes(commands, partition, warn)).values() if node]
    if not free:
        yield Check("a compute node", "not known", "none of them takes a job at present")
        return
    name = free[0].name
    tests = "".join(f'[ -e {shlex.quote(path)} ]; echo "path $?"\n' for path in paths)
    script = f'echo "memlock $(ulimit -l)"\n{tests}echo "now $(date +%s)"\n'
    said = [line.split() for line in run_on(commands, name, script, partition).splitlines()]
    values = [words for words in said if len(words) == 2]
    now = time.time()
    there = iter([value for key, value in values if key == "path"])
    for key, value in values:
        if key == "memlock":
            yield memlock(value, name)
        if key == "now" and value.isdigit():
            yield skew(f"clock of {name}", name, int(value) + 0.5 - now)
    for path in paths:
        if next(there, "") == "0":
            yield Check(f"{path} on {name}", "ok", "it is there")
        else:
            yield Check(f"{path} on {name}", "bad", "it is not there", "See that the node mounts it.")


def memlock(value: str, name: str) -> Check:
    """What `ulimit -l` on a node means for InfiniBand, which locks the memory that it sends from. Jobs have
    the node's own limit (--propagate=NONE)."""
    if value == "unlimited":
        return Check(MEMLOCK, "ok", f"unlimited on {name}")
    advice = "Let the administrators give slurmd LimitMEMLOCK=infinity: InfiniBand locks memory."
    return Check(MEMLOCK, "warning", f"{value} KiB on {name}", advice)
