"""What the job wants of the network between its nodes, in Slurm's options and in variables.

`locality: unit` is a wish, as it is to Slurm: its tree plugin gives any nodes once a job has waited for
SchedulerParameters' max_switch_wait (five minutes by default, slurm.conf(5)). So a site that does not tell
Slurm its topology is named in a warning, and the same job file still goes there. SHARP is a
demand, since a job asks for it to measure or to use it: a site without it is an error.
"""

from hpclaunch.capability.tables import slurm_feature_since, slurm_has_feature
from hpclaunch.plan.findings import Findings
from hpclaunch.spec import units
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.values.amount import counted
from hpclaunch.values.errors import Problem
from hpclaunch.values.words import EnvVar, Option


def unsuitable(job: Job, site: Site) -> list[Problem]:
    """What the job asks of the fabric and this Slurm site cannot give."""
    problems = []
    if job.fabric.sharp and site.fabric.sharp is None:
        message = f"site {site.name} does not say that it has SHARP: its file would have fabric.sharp"
        problems.append(Problem(message, "job", ("fabric", "sharp")))
    if _near(job) and site.fabric.topology == "block":
        message = _no_segment(job, site)
        if message:
            problems.append(Problem(message, "job", ("locality",)))
    return problems


def options(job: Job, site: Site, found: Findings) -> tuple[tuple[Option, ...], tuple[Option, ...]]:
    """Options of sbatch, and options of srun, for a job that is not unsuitable."""
    batch: list[Option] = []
    step: list[Option] = []
    if _near(job):
        if site.fabric.topology == "tree":
            count = -(-job.nodes // units.unit(site))
            why = f"{counted(count, 'scalable unit')}, waiting up to the site's max_switch_wait"
            batch.append(Option(f"--switches={count}", why))
        elif site.fabric.topology == "block":
            size = _segment(job.nodes, _block(site))
            batch.append(Option(f"--segment={size}", "nodes of a segment are in one scalable unit"))
        else:
            found.warnings.append(
                f"locality: unit has no effect: site {site.name} names no topology plugin of its Slurm "
                "(fabric.topology)"
            )
    sharp = site.fabric.sharp if job.fabric.sharp else None
    if sharp is not None and sharp.network is not None:
        batch.append(Option(f"--network={sharp.network}", "SHARP: reductions in the switches"))
        step.append(Option(f"--network={sharp.network}"))
    return tuple(batch), tuple(step)


def variables(job: Job, site: Site) -> dict[str, str]:
    """The variables of a rank that follow from `fabric`."""
    if not job.fabric.sharp or site.fabric.sharp is None:
        return {}
    return {"NCCL_COLLNET_ENABLE": "1", **site.fabric.sharp.env}


def for_the_host(job: Job, site: Site) -> tuple[EnvVar, ...]:
    """What Enroot's hook for SHARP reads: srun makes it of --network from 24.05 on alone, before that on a
    Cray (src/srun/opt.c), and the script's cleared environment has not kept the job's."""
    sharp = site.fabric.sharp if job.fabric.sharp else None
    if sharp is None or sharp.network is None:
        return ()
    return (EnvVar("SLURM_NETWORK", sharp.network, "hpclaunch"),)


def without_scheduler(job: Job) -> list[str]:
    """Warnings for a job that runs on this machine alone."""
    return ["fabric.sharp has no effect: there is one machine, and no switch between"] * job.fabric.sharp


def _near(job: Job) -> bool:
    return job.locality == "unit" and job.nodes > 1


def _block(site: Site) -> int:
    assert site.slurm is not None
    return units.base_block(site, slurm_has_feature("small_blocks", site.slurm.version))


def _segment(nodes: int, block: int) -> int:
    """The largest size of equal segments that fit in a block: Slurm refuses one that does not divide the
    nodes, or that is larger than a block (sbatch(1), --segment)."""
    return next(size for size in range(min(nodes, block), 0, -1) if nodes % size == 0)


def _no_segment(job: Job, site: Site) -> str:
    """Why the job cannot be cut into segments, or "". A segment of one node would say nothing."""
    assert site.slurm is not None
    if not slurm_has_feature("block_sizes", site.slurm.version):
        since = slurm_feature_since("block_sizes")
        return (
            f"unit needs --segment, which came with Slurm {since}, and this site has {site.slurm.version}; "
            "write locality: any"
        )
    block = _block(site)
    if units.unit(site) == 1 or _segment(job.nodes, block) > 1:
        return ""
    if block == 1:
        return (
            f"the smallest unit of site {site.name} has one node, and no segment of its Slurm "
            f"{site.slurm.version} may be larger; write locality: any"
        )
    low = next(nodes for nodes in range(job.nodes - 1, 0, -1) if nodes <= block or _segment(nodes, block) > 1)
    return (
        f"{job.nodes} nodes cannot be cut into equal segments of at most {block} nodes, as --segment needs; "
        f"take {low} or {job.nodes + 1} nodes, or write locality: any"
    )
