"""The launch in Slurm's words: what stands on #SBATCH lines, on srun's command line and in the wrapper's."""

from hpclaunch.capability.tables import far_cores_lost
from hpclaunch.plan import environment, fabric, gpukind, pyxis, raw, wrapper
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site, SlurmSite
from hpclaunch.topology import model
from hpclaunch.values.cpulist import format_mask
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launchplan import Common, Option, SlurmTarget

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
    job: Job, site: Site, machine: NodeType, common: Common, exclusive: bool
) -> tuple[SlurmTarget, list[str]]:
    """The target and warnings, for a job that is not unsuitable. Raises InputError for raw options and
    for what this version of Pyxis cannot do."""
    slurm = site.slurm
    assert slurm is not None
    hints = job.sites.get(site.name, SiteHints())
    seats = common.shape.seats
    masked = bool(seats[0].cpus or seats[0].mems)
    problems, warnings = raw.check(hints, site.name, slurm, masked)
    if common.whole_node and common.ranks_per_node > common.shape.cpu_count:
        message = f"{common.ranks_per_node} ranks on a node of {common.shape.cpu_count} CPUs: each needs one"
        problems.append(Problem(message, "job", ("ranks_per_node",)))
    host_env = environment.for_the_host(common.environment)
    flags: tuple[Option, ...] = ()
    if common.container is not None:
        outside = tuple(variable.name for variable in host_env) + common.secrets
        try:
            flags, more = pyxis.options(common.container, job.directory, site, outside)
            warnings += more
        except InputError as error:
            problems.extend(error.problems)
    slices = gpukind.slices(job, site)
    cpus_per_task = 0 if common.whole_node else _cpus_per_task(common, gpukind.of_a_node(job, site, machine))
    plugin = "none" if job.mpi == "none" else slurm.mpi_plugin[job.mpi]
    gres = gpukind.gres(job, site, machine, common.gpus_per_node)
    of_batch, of_step, more = fabric.options(job, site)
    warnings += more
    batch = (*_sbatch(job, slurm, hints, common, exclusive, cpus_per_task, gres), *of_batch)
    all_cores = common.whole_node and far_cores_lost(slurm.version) and _uses_far_cores(machine, common)
    cpus_per_gpu = common.shape.cpu_count // common.gpus_per_node if all_cores else 0
    step = _srun(job, common, plugin, bool(seats[0].cpus), cpus_per_task, cpus_per_gpu, gres)
    step = (*step, *of_step)
    if slices:
        why = "each rank sees its own MIG slice: CUDA shows a process one alone"
        step = (*step, Option(f"--gpu-bind={gpukind.bind(common.ranks_per_node, common.gpus_per_node)}", why))
    problems += raw.given_twice("sbatch", hints.sbatch, site.name, batch)
    problems += raw.given_twice("srun", hints.srun, site.name, (*step, *flags))
    if problems:
        raise InputError(problems)

    if not common.whole_node:
        why = f"which slices of {job.gpu_type} come is known only when the job runs"
        warnings.append(f"the ranks are not bound: {why if slices else _why_not_bound(site, common)}")
    elif cpus_per_gpu * common.gpus_per_node < common.shape.cpu_count and all_cores:
        warnings.append(
            f"Slurm {slurm.version} may keep cores that are far from the GPUs out of a step: if it says "
            '"CPU binding outside of job step allocation", let bind.cpus be local and the ranks one per GPU'
        )
    cpu_masks = tuple(format_mask(seat.cpus) for seat in seats) if seats[0].cpus else ()
    mem_masks = tuple(format_mask(seat.mems) for seat in seats) if seats[0].mems else ()
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
            keep=KEEP,
            wrapper=tuple(wrapper.settings(common, "slurm")),
            host_env=host_env,
        ),
        warnings,
    )


def _sbatch(
    job: Job,
    slurm: SlurmSite,
    hints: SiteHints,
    common: Common,
    exclusive: bool,
    cpus_per_task: int,
    gres: str,
) -> tuple[Option, ...]:
    lines = [
        Option(f"--job-name={job.name}"),
        Option(f"--nodes={common.nodes}"),
        Option(f"--ntasks-per-node={common.ranks_per_node}"),
    ]
    if common.gpus_per_node:
        lines.append(Option(f"--gres={gres}"))
    if exclusive:
        masked = bool(common.shape.seats[0].cpus)
        why = "the CPU masks below name cores of the whole node" if masked else "no other job on its nodes"
        lines.append(Option("--exclusive", why))
        lines.append(Option("--mem=0", "all of its memory"))
    else:
        lines.append(Option(f"--cpus-per-task={cpus_per_task}"))
    if common.minutes is not None:
        lines.append(Option(f"--time={_time(common.minutes)}"))
    for name, value in (
        ("account", hints.account or slurm.account),
        ("partition", hints.partition or slurm.partition),
        ("qos", hints.qos or slurm.qos),
        ("reservation", hints.reservation),
        ("constraint", hints.constraint),
        ("nodelist", hints.nodelist),
        ("exclude", hints.exclude),
        ("mail-user", hints.mail),
        ("mail-type", "END,FAIL" if hints.mail else None),
    ):
        if value is not None:
            lines.append(Option(f"--{name}={raw.directive_value(value)}"))
    lines += [
        Option("--no-requeue", "a job never runs twice by itself"),
        Option("--open-mode=append"),
        Option("--propagate=NONE", "the nodes' limits, not the login node's (memlock)"),
    ]
    return tuple(lines)


def _srun(
    job: Job, common: Common, plugin: str, cpu_masks: bool, cpus_per_task: int, cpus_per_gpu: int, gres: str
) -> tuple[Option, ...]:
    ranks = common.nodes * common.ranks_per_node
    lines = [
        Option(f"--nodes={common.nodes}"),
        Option(f"--ntasks={ranks}"),
        Option(f"--ntasks-per-node={common.ranks_per_node}"),
        # From 26.05 `block` follows the network's topology, and rank 0 need not be on the step's first host.
        Option(f"--distribution=plane={common.ranks_per_node}", "rank 0 is on the step's first host")
        if job.rendezvous == "torch"
        else Option("--distribution=block"),
    ]
    if common.gpus_per_node:
        # No --gpu-bind: without one every rank sees all of the job's GPUs, which NVLink and CUDA IPC need;
        # `--gpu-bind=none` makes 22.05 leave CUDA_VISIBLE_DEVICES out.
        lines.append(Option(f"--gres={gres}"))
    if cpus_per_gpu:
        lines.append(
            Option(f"--cpus-per-gpu={cpus_per_gpu}", "all cores: else those far from the GPUs are lost")
        )
    if cpus_per_task:
        lines.append(Option(f"--cpus-per-task={cpus_per_task}"))
    if common.whole_node and not cpu_masks:
        lines.append(Option("--cpu-bind=none"))
    if common.whole_node and not common.shape.seats[0].mems:
        lines.append(Option("--mem-bind=none"))
    lines += [
        Option(f"--mpi={plugin}"),
        Option("--export=ALL"),
        Option("--propagate=NONE"),
        Option("--kill-on-bad-exit=1", "one failing rank ends the job"),
        Option("--open-mode=append"),
    ]
    return tuple(lines)


def _uses_far_cores(machine: NodeType, common: Common) -> bool:
    """Whether a rank may run on a core of a NUMA node that no GPU hangs on, as every unbound one may."""
    near = {gpu.numa for gpu in common.shape.gpus}
    far = {
        cpu
        for node in machine.numa
        if node.node not in near
        for core in model.cores(machine, node.node)
        for cpu in core
    }
    return bool(near and far) and any(
        not seat.cpus or not far.isdisjoint(seat.cpus) for seat in common.shape.seats
    )


def _why_not_bound(site: Site, common: Common) -> str:
    gpus = len(common.shape.gpus)
    if common.gpus_per_node == gpus:
        return f"site {site.name} shares its nodes among jobs (slurm.exclusive: false)"
    return (
        f"the job takes {common.gpus_per_node} of {gpus} GPUs of a {common.shape.node_type}, "
        "and which cores come with them is known only when it runs"
    )


def _cpus_per_task(common: Common, gpus_of_node: int) -> int:
    """The GPUs' part of the node's CPUs, divided among the ranks; one each for a job without GPUs."""
    if not common.gpus_per_node:
        return 1
    part = common.shape.cpu_count * common.gpus_per_node // gpus_of_node
    return max(1, part // common.ranks_per_node)


def _time(minutes: int) -> str:
    if minutes == 0:
        return "UNLIMITED"
    days, rest = divmod(minutes, 1440)
    hours, minutes = divmod(rest, 60)
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:00"
