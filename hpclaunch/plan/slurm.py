"""The launch in Slurm's words: what stands on #SBATCH lines, on srun's command line and in the wrapper's."""

from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.plan import (
    environment,
    fabric,
    gpukind,
    pyxis,
    raw,
    slurm_batch,
    slurm_share,
    slurm_step,
    wrapper,
)
from hpclaunch.plan import hints as site_hints
from hpclaunch.plan.findings import Findings
from hpclaunch.plan.slurm_share import Share
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.cpulist import format_mask
from hpclaunch.values.errors import Problem
from hpclaunch.values.launchplan import Common, SlurmSteps, SlurmTarget
from hpclaunch.values.words import EnvVar, Option

# What the script needs of its environment: where srun is, and which job this is. Everything else that Slurm
# sets is an option of srun too, and each of those is written out.
KEEP = (
    "PATH",
    "SLURM_CONF",
    "SLURM_JOB*",
    "SLURM_ARRAY_*",
    "SLURM_SUBMIT_*",
    "SLURM_CLUSTER_NAME",
    "SLURMD_NODENAME",
)


def unsuitable(job: Job, site: Site) -> list[Problem]:
    """What the job asks for and this site's Slurm cannot give, whatever the nodes are."""
    assert site.slurm is not None
    problems = fabric.unsuitable(job, site)
    if job.mpi == "none" or job.mpi in site.slurm.mpi_plugin:
        return problems
    known = ", ".join(sorted(site.slurm.mpi_plugin)) or "none"
    message = f"site {site.name} has no plugin for {job.mpi} under slurm.mpi_plugin; it has: {known}"
    return [*problems, Problem(message, "job", ("mpi",))]


class _Masks(Struct, frozen=True):
    """What --cpu-bind and --mem-bind have for each local rank, empty where the job leaves that alone.
    Without `possible` the rank wrapper binds in their place."""

    possible: bool
    cpus: tuple[str, ...] = ()
    mems: tuple[str, ...] = ()


def target(
    job: Job, site: Site, machines: Sequence[NodeType], common: Common, exclusive: bool
) -> tuple[SlurmTarget, list[str]]:
    """The target and warnings, for a job that is not unsuitable; `machines` are the node types of its shapes.
    Raises InputError for raw options and for what this version of Pyxis cannot do."""
    slurm = site.slurm
    assert slurm is not None
    hints = site_hints.of_site(job, site)
    masks = _masks(common)
    found = Findings(site_hints.unheeded(job, site))
    _check(job, site, common, masks, found)
    exported = _exported(job, site, common)
    container = _container(job, site, common, found)

    share = slurm_share.share(job, site, machines, common, found)
    of_batch, of_fabric = fabric.options(job, site, found)
    step = _step(job, site, common, masks, share, of_fabric, found)

    beside, of_signals = _beside(job, hints, common, share, exported)
    told, of_end = _long_run(common, found)
    if exclusive:
        of_node = slurm_batch.whole(bool(masks.cpus))
    else:
        of_node = slurm_batch.part(common, machines, hints, share)
    batch = slurm_batch.options(job, slurm, hints, common, of_node, share.gres)
    batch = (*batch, *of_batch, *of_signals, *of_end)

    check = None
    if job.preflight is not None:
        from hpclaunch.plan import preflight  # most jobs need not pay for it

        check = preflight.of_slurm(job, site, common, machines[0], share, of_fabric, found)
        batch = preflight.of_sbatch(batch, common, check)
    own = (Option("--container-name"),) if beside is not None and beside.one_container else ()
    raw_batch = raw.of_sbatch(hints, site.name, batch, found)
    raw_step = raw.of_srun(hints, site.name, (*step, *container, *own), found)
    found.end_if_refused()
    made = SlurmTarget(
        version=slurm.version,
        sbatch=(*batch, *raw_batch),
        srun=(*step, *raw_step),
        pyxis=container,
        cpu_masks=masks.cpus,
        mem_masks=masks.mems,
        mem_policy="prefer,mask_mem" if job.bind.memory == "prefer" else "mask_mem",
        path=slurm.path or "",
        keep=(*KEEP, *(each.value for each in told if not each.value.startswith("SLURM_ARRAY_"))),
        wrapper=tuple(wrapper.settings(job, common, machines, "slurm", binds=not masks.possible)),
        host_env=exported,
        beside=beside,
        told=told,
        preflight=check,
    )
    return made, found.warnings


def _masks(common: Common) -> _Masks:
    """Masks are the same on all nodes of a step, and name cores of whole nodes."""
    if not common.whole_node or len(common.shapes) > 1:
        return _Masks(False)
    seats = common.shape.seats
    return _Masks(
        True,
        tuple(format_mask(seat.cpus) for seat in seats) if seats[0].cpus else (),
        tuple(format_mask(seat.mems) for seat in seats) if seats[0].mems else (),
    )


def _check(job: Job, site: Site, common: Common, masks: _Masks, found: Findings) -> None:
    """What of the job has no effect, is not checked, or cannot be on nodes of this size."""
    assert site.slurm is not None
    if job.container.privileged:
        found.warnings.append(
            "container.privileged has no effect: Pyxis' containers have no rights of their own"
        )
    hints = site_hints.of_site(job, site)
    raw.check(hints, site.name, site.slurm, bool(masks.cpus or masks.mems), found)
    cpus = min(shape.cpu_count for shape in common.shapes)
    if common.whole_node and common.ranks_per_node > cpus:
        message = f"{common.ranks_per_node} ranks on a node of {cpus} CPUs: each needs one"
        found.refuse(message, "ranks_per_node")


def _exported(job: Job, site: Site, common: Common) -> tuple[EnvVar, ...]:
    """What must be set where the script runs: outside of the container, and for srun's plugins."""
    host_env = environment.for_the_host(common.environment)
    return (*host_env, *fabric.for_the_host(job, site), *slurm_step.for_pmix(job, common.environment))


def _container(job: Job, site: Site, common: Common, found: Findings) -> tuple[Option, ...]:
    """Pyxis' options, none for a job without a container."""
    if common.container is None:
        return ()
    host_env = environment.for_the_host(common.environment)
    outside = tuple(variable.name for variable in host_env) + common.secrets
    return pyxis.options(common.container, job.directory, site, outside, found)


def _step(
    job: Job,
    site: Site,
    common: Common,
    masks: _Masks,
    share: Share,
    of_fabric: Sequence[Option],
    found: Findings,
) -> tuple[Option, ...]:
    """srun's options. Of MIG slices no mask can be made: each rank is given its own."""
    assert site.slurm is not None
    plugin = "none" if job.mpi == "none" else site.slurm.mpi_plugin[job.mpi]
    unbound: tuple[Option, ...] = ()
    of_slices: tuple[Option, ...] = ()
    if gpukind.slices(job, site):
        kind = gpukind.bind(common.ranks_per_node, common.gpus_per_node)
        why = "each rank sees its own MIG slice: CUDA shows a process one alone"
        of_slices = (Option(f"--gpu-bind={kind}", why),)
        found.warnings.append(
            f"the ranks are not bound: which slices of {job.gpu_type} come is known only when the job runs"
        )
    else:
        unbound = slurm_step.not_bound_by_slurm(job, masks.possible)
    usual = slurm_step.options(job, common, plugin, share.gres, unbound, share.cpus)
    return (*usual, *of_fabric, *of_slices)


def _beside(
    job: Job, hints: SiteHints, common: Common, share: Share, exported: Sequence[EnvVar]
) -> tuple[SlurmSteps | None, tuple[Option, ...]]:
    """What the job does beside its ranks, None for most jobs, and what it asks of sbatch for that."""
    if not job.beside_ranks:
        return None, ()
    from hpclaunch.plan import slurm_beside  # most jobs need not pay for it

    return slurm_beside.steps(job, hints, common, share.gres, share.cpus_once, exported)


def _long_run(common: Common, found: Findings) -> tuple[tuple[EnvVar, ...], tuple[Option, ...]]:
    """What Slurm tells the ranks of a job that says how it ends, and what that asks of sbatch."""
    if common.long_run is None:
        return (), ()
    from hpclaunch.plan import longrun  # most jobs need not pay for it

    found.warnings += longrun.warnings_of_slurm(common.long_run, common)
    return longrun.told_by_slurm(common.long_run), longrun.of_sbatch(common.long_run)
