"""A job that does more than to start its ranks once, in Slurm's words."""

from collections.abc import Sequence

from hpclaunch.capability.tables import means
from hpclaunch.plan import host_steps, sharedimage
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.values.launchplan import Common, SlurmSteps
from hpclaunch.values.words import EnvVar, Option

# The time before a job's limit that its `after` steps have, and the shortest limit that can spare it. Slurm
# looks every 30 seconds which jobs are near theirs (job_time_limit in src/slurmctld/job_mgr.c).
_LAST_S = 60
_SHORTEST_MINUTES = 5


def steps(
    job: Job,
    hints: SiteHints,
    common: Common,
    gres: str,
    cpus: Sequence[Option],
    exported: Sequence[EnvVar],
) -> tuple[SlurmSteps, tuple[Option, ...]]:
    """The steps, and options of sbatch. `cpus` are srun's for a step that has all CPUs of the job on a node,
    and `exported` what the script exports for hooks."""
    box = common.container
    within = [step for step in common.steps if step.where == "container"]
    several = bool(within) or (common.trials is not None and common.trials.count > 1)
    found = SlurmSteps(
        once=(
            *((Option(f"--gres={gres}"),) if common.gpus_per_node else ()),
            *cpus,
            Option("--cpu-bind=none"),
            Option("--mem-bind=none"),
            Option("--mpi=none"),
            Option("--export=ALL"),
            Option("--propagate=NONE"),
            Option("--kill-on-bad-exit=1"),
            Option("--open-mode=append"),
        ),
        host=host_steps.host(job, common, exported),
        image=sharedimage.uri(box.image) if box is not None and box.shared else "",
        one_container=box is not None and several,
    )
    raw = any(means(text.partition("=")[0], frozenset({"--signal"})) for text in hints.sbatch)
    own = raw or job.signal is not None
    return found, () if own else _signals(common)


def _signals(common: Common) -> tuple[Option, ...]:
    short = common.minutes is not None and 0 < common.minutes < _SHORTEST_MINUTES
    if short or common.minutes == 0 or not any(step.when == "after" for step in common.steps):
        return ()
    why = f"the `after` steps have the last {_LAST_S} s before the time limit"
    return (Option(f"--signal=TERM@{_LAST_S}", why),)
