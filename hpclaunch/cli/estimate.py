"""What `submit --dry-run` says of a job for Slurm beside its script: what it asks for, and when it would
start."""

from collections.abc import Sequence
from datetime import datetime

from hpclaunch.cli.output import say
from hpclaunch.cli.planning import Planned
from hpclaunch.cli.reach import slurm_conf_of
from hpclaunch.schedulers import slurm_estimate
from hpclaunch.schedulers.ways.options import HETJOB
from hpclaunch.spec.limits import LimitsSpec
from hpclaunch.values.amount import clock, counted
from hpclaunch.values.errors import first_line
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget


def tell(planned: Sequence[Planned], scripts: Sequence[str]) -> None:
    """On standard error. Raises Refused where Slurm says that it would not take a job."""
    say(f"asks for {_asked(planned)}")
    first = f", the first of {len(planned)} jobs" if len(planned) > 1 else ""
    say(_start(planned[0], scripts[0]) + first)


def _asked(planned: Sequence[Planned]) -> str:
    runs = sum(map(_runs, (each.plan for each in planned)))
    size, *others = [_sizes(each.plan) for each in planned]
    alike = all(other == size for other in others)
    many = f"{runs:,} runs" if runs > 1 else ""
    what = ", ".join(filter(None, (many, size if alike else "of unlike size")))
    limits = [each.plan.common.minutes for each in planned]
    hours = sum(_gpu_hours(each.plan) for each in planned)
    ceiling = _ceiling(planned[0].site.value.limits)
    if not all(limits):
        return f"{what}; its GPU-hours are not known, since it sets no time limit{ceiling}"
    longest = max(filter(None, limits))
    return f"{what}, for at most {clock(longest)}: {hours:,.1f} GPU-hours{ceiling}"


def _ceiling(limits: LimitsSpec | None) -> str:
    """The most that the site lets one run ask for, "" where it sets nothing."""
    if limits is None:
        return ""
    most = [
        counted(limits.nodes, "node") if limits.nodes is not None else "",
        clock(limits.time) if limits.time is not None else "",
        f"{limits.gpu_hours:,} GPU-hours" if limits.gpu_hours is not None else "",
    ]
    told = ", ".join(filter(None, most))
    return f" (the site lets a run have at most {told})" if told else ""


def _sizes(plan: LaunchPlan) -> str:
    shared = f" and {_shared_spares(plan)} spare" if _shared_spares(plan) else ""
    return " and ".join(map(_size, plan.each)) + shared


def _size(plan: LaunchPlan) -> str:
    common = plan.common
    number = common.nodes + _spares(plan)
    nodes = f"{number} nodes" if number > 1 else "1 node"
    return nodes + (f" with {common.gpus_per_node} GPUs each" if common.gpus_per_node else " without GPUs")


def _gpu_hours(plan: LaunchPlan) -> float:
    gpus = sum((each.common.nodes + _spares(each)) * each.common.gpus_per_node for each in plan.each)
    gpus += _shared_spares(plan) * plan.common.gpus_per_node
    return _runs(plan) * gpus * (plan.common.minutes or 0) / 60


def _spares(plan: LaunchPlan) -> int:
    """The nodes that it asks for beside those of its ranks."""
    check = plan.target.preflight if isinstance(plan.target, SlurmTarget) else None
    return check.spares if check is not None else 0


def _shared_spares(plan: LaunchPlan) -> int:
    """Those of unlike groups in one allocation; groups with one each have their own."""
    apart = isinstance(plan.target, SlurmTarget) and plan.target.components
    return _spares(plan) if plan.parts and not apart else 0


def _runs(plan: LaunchPlan) -> int:
    """How many jobs of its size and time the launch may become."""
    common = plan.common
    if common.sweep is not None:
        return len(common.sweep.points)
    return common.long_run.chain or 1 if common.long_run is not None else 1


def _start(planned: Planned, script: str) -> str:
    site, target = planned.site.value, planned.plan.target
    assert isinstance(target, SlurmTarget)
    access = site.access
    assert access is not None
    options = (HETJOB,) if target.components else tuple(option.text for option in target.sbatch)
    try:
        found = slurm_estimate.estimate(slurm_conf_of(site), access, script, options)
    except slurm_estimate.NotAsked as error:
        return f"Slurm was not asked when it would start: {first_line(error)}"
    if not found.start:
        return f"Slurm's own estimate: {found.said}"
    where = f" on {found.nodes}" + (f" in partition {found.partition}" if found.partition else "")
    return f"Slurm would start it at {_local(found.start)}{where}"


def _local(text: str) -> str:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
