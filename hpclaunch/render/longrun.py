"""What a script says of a job that does not end by itself, or tells others of its end."""

import signal as signals

import msgspec

from hpclaunch.rank import beside
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.longrun import LongRun, Notify

_TEMPFAIL = 75  # EX_TEMPFAIL of sysexits.h
_TERMINATED = 128 + signals.SIGTERM


def of_slurm(plan: LaunchPlan, run: LongRun) -> dict[str, object]:
    """For the template of an sbatch script."""
    again = run.requeue or run.chain > 0
    return {
        "again": again,
        "chain": _chain(plan, run) if run.chain else None,
        "notify": _notify(plan, run.notify) if run.notify is not None else None,
        "ending": run.notify is not None or run.chain > 0 or (again and bool(plan.common.secrets)),
    }


def _chain(plan: LaunchPlan, run: LongRun) -> dict[str, object]:
    """`file` is the start of the name of what says that the chain has ended, for a script sent by hand;
    `signal` the status of ranks that the signal before the time limit has ended; `told` are statuses that say
    by themselves whether another link follows; `followed` patterns of why/status where one does."""
    number = 128 + signals.Signals[f"SIG{run.signal.name}"] if run.signal is not None else 0
    asks = [_TEMPFAIL, number] if number else [_TEMPFAIL]
    followed = [f"*/{status}" for status in asks]
    if _TERMINATED not in asks:
        followed.append(f"UNKNOWN/{_TERMINATED}")
    told = sorted({*asks, _TERMINATED})
    return {
        "links": run.chain,
        "file": plan.common.name,
        "signal": number,
        "told": told,
        "followed": followed,
    }


def _notify(plan: LaunchPlan, how: Notify) -> dict[str, object]:
    """`facts` are the members of a JSON object that are known now, without its braces."""
    common = plan.common
    facts = {
        "name": common.name,
        "site": plan.site,
        "scheduler": plan.scheduler,
        "nodes": common.nodes,
        "ranks_per_node": None if plan.parts else common.ranks_per_node,  # groups may differ
        "gpus_per_node": None if plan.parts else common.gpus_per_node,
        "image": common.container.image if common.container is not None else None,
        "minutes": common.minutes,
    }
    return {
        "facts": msgspec.json.encode(facts).decode()[1:-1],
        "start": how.start,
        "command": how.command,
        "folder": how.folder,
        "url": how.webhook_secret or how.webhook,
        "token": how.token,
        "text": beside.text("webhook") if not how.command else "",
    }
