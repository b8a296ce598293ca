"""The launch in Slurm's words: what stands on #SBATCH lines, on srun's command line and in the wrapper's."""

from collections.abc import Sequence

from hpclaunch.capability.tables import slurm_has_feature
from hpclaunch.plan import environment, fabric, gpukind, pyxis, raw, slurm_batch, slurm_step, wrapper
from hpclaunch.plan import hints as site_hints
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site, SlurmSite
from hpclaunch.values.cpulist import format_mask
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launchplan import Common, SlurmTarget
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


def target(
    job: Job, site: Site, machines: Sequence[NodeType], common: Common, exclusive: bool
) -> tuple[SlurmTarget, list[str]]:
    """The target and warnings, for a job that is not unsuitable; `machines` are the node types of its shapes.
    Raises InputError for raw options and for what this version of Pyxis cannot do."""
    slurm = site.slurm
    assert slurm is not None
    hints = site_hints.of_site(job, site)
    seats = common.shape.seats
    # Masks are the same on all nodes of a step, and name cores of whole nodes.
    masked = common.whole_node and len(common.shapes) == 1
    cpu_masks = tuple(format_mask(seat.cpus) for seat in seats) if masked and seats[0].cpus else ()
    mem_masks = tuple(format_mask(seat.mems) for seat in seats) if masked and seats[0].mems else ()
    warnings = site_hints.unheeded(job, site)
    if job.container.privileged:
        warnings.append("container.privileged has no effect: Pyxis' containers have no rights of their own")
    problems, more = raw.check(hints, site.name, slurm, bool(cpu_masks or mem_masks))
    warnings += more
    cpus = min(shape.cpu_count for shape in common.shapes)
    if common.whole_node and common.ranks_per_node > cpus:
        message = f"{common.ranks_per_node} ranks on a node of {cpus} CPUs: each needs one"
        problems.append(Problem(message, "job", ("ranks_per_node",)))
    host_env = environment.for_the_host(common.environment)
    exported = (*host_env, *fabric.for_the_host(job, site), *slurm_step.for_pmix(job, common.environment))
    flags: tuple[Option, ...] = ()
    if common.container is not None:
        outside = tuple(variable.name for variable in host_env) + common.secrets
        try:
            flags, more = pyxis.options(common.container, job.directory, site, outside)
            warnings += more
        except InputError as error:
            problems.extend(error.problems)

    slices = gpukind.slices(job, site)
    gres = gpukind.gres(job, site, machines[0], common.gpus_per_node)
    gpus_of_node = gpukind.of_a_node(job, site, machines[0])
    cpus_per_task = slurm_batch.cpus_per_task(common, machines, gpus_of_node)
    of_node = (
        slurm_batch.whole(bool(cpu_masks))
        if exclusive
        else slurm_batch.part(common, machines, hints, cpus_per_task, gpus_of_node)
    )
    cpus_of_step, more = (
        _all_cores(machines, common, slurm)
        if common.whole_node
        else ((Option(f"--cpus-per-task={cpus_per_task}"),), [])
    )
    warnings += more
    of_batch, of_fabric, more = fabric.options(job, site)
    of_step = of_fabric
    warnings += more
    if slices:
        why = "each rank sees its own MIG slice: CUDA shows a process one alone"
        kind = gpukind.bind(common.ranks_per_node, common.gpus_per_node)
        of_step += (Option(f"--gpu-bind={kind}", why),)
        warnings.append(
            f"the ranks are not bound: which slices of {job.gpu_type} come is known only when the job runs"
        )
    unbound = () if slices else slurm_step.not_bound_by_slurm(job, masked)
    plugin = "none" if job.mpi == "none" else slurm.mpi_plugin[job.mpi]
    batch = (*slurm_batch.options(job, slurm, hints, common, of_node, gres), *of_batch)
    step = (*slurm_step.options(job, common, plugin, gres, unbound, cpus_of_step), *of_step)
    beside = None
    if job.beside_ranks:
        from hpclaunch.plan import slurm_beside  # most jobs need not pay for it

        on_node = cpus_per_task * common.ranks_per_node
        cpus_once = cpus_of_step if common.whole_node else (Option(f"--cpus-per-task={on_node}"),)
        beside, of_signals = slurm_beside.steps(job, hints, common, gres, cpus_once, exported)
        batch += of_signals
    told: tuple[EnvVar, ...] = ()
    if common.long_run is not None:
        from hpclaunch.plan import longrun

        batch += longrun.of_sbatch(common.long_run)
        told = longrun.told_by_slurm(common.long_run)
        warnings += longrun.warnings_of_slurm(common.long_run, common)
    check = None
    if job.preflight is not None:
        from hpclaunch.plan import preflight

        on_node = cpus_per_task * common.ranks_per_node
        cpus_once = cpus_of_step if common.whole_node else (Option(f"--cpus-per-task={on_node}"),)
        check, of_check, more = preflight.of_slurm(job, site, common, machines, gres, cpus_once, of_fabric)
        problems += of_check
        warnings += more
        batch = preflight.of_sbatch(batch, common, check)
    own = (Option("--container-name"),) if beside is not None and beside.one_container else ()
    problems += raw.given_twice("sbatch", hints.sbatch, site.name, batch)
    problems += raw.given_twice("srun", hints.srun, site.name, (*step, *flags, *own))
    if problems:
        raise InputError(problems)
    return (
        SlurmTarget(
            version=slurm.version,
            sbatch=(*batch, *(Option(raw.directive_value(text), "not checked") for text in hints.sbatch)),
            srun=(*step, *(Option(text, "not checked") for text in hints.srun)),
            pyxis=flags,
            cpu_masks=cpu_masks,
            mem_masks=mem_masks,
            mem_policy="prefer,mask_mem" if job.bind.memory == "prefer" else "mask_mem",
            path=slurm.path or "",
            keep=(*KEEP, *(each.value for each in told if not each.value.startswith("SLURM_ARRAY_"))),
            wrapper=tuple(wrapper.settings(job, common, machines, "slurm", binds=not masked)),
            host_env=exported,
            beside=beside,
            told=told,
            preflight=check,
        ),
        warnings,
    )


def _all_cores(
    machines: Sequence[NodeType], common: Common, slurm: SlurmSite
) -> tuple[tuple[Option, ...], list[str]]:
    """What makes a step on whole nodes get the cores that are far from the GPUs too, and warnings."""
    loses = slurm_has_feature("far_cores_lost", slurm.version)
    if not loses or not slurm_step.uses_far_cores(machines, common.shapes):
        return (), []
    cpus = min(shape.cpu_count for shape in common.shapes)
    each = cpus // common.gpus_per_node
    warnings = []
    if any(each * common.gpus_per_node < shape.cpu_count for shape in common.shapes):
        warnings.append(
            f"Slurm {slurm.version} may keep cores that are far from the GPUs out of a step: if it says "
            '"CPU binding outside of job step allocation", let bind.cpus be local and the ranks one per GPU'
        )
    why = "all cores: else those far from the GPUs are lost"
    return (Option(f"--cpus-per-gpu={each}", why),), warnings
