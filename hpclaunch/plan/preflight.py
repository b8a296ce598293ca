"""The check of a job's nodes before its ranks start, in Slurm's words. Only jobs that have one load this."""

from collections.abc import Sequence

from msgspec import structs

from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.preflight import PreflightSite
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Problem
from hpclaunch.values.launchplan import Common, SlurmTarget
from hpclaunch.values.preflight import Links, Preflight
from hpclaunch.values.words import Option

# Verbs pin the buffers that they send from; below this a job dies in ibv_reg_mr (as in plan/wrapper.py).
_MEMLOCK_KIB = 1_048_576


# What lets a job go on without a node that fails.
OUTLIVES = Option("--no-kill", "a node that fails in the check is left out")

_ENDS = (
    "preflight: a node that fails while the job runs ends it, also one that the check has left out: of one "
    "world of unlike groups Slurm might end a group alone, for which the others would wait; with "
    "`world: separate` the job outlives nodes that the ranks do not need"
)


def unheeded(scheduler: str) -> str:
    """The warning where there is no Slurm."""
    where = (
        "pods get the nodes that the scheduler has for them"
        if scheduler == "kubernetes"
        else "there is one node"
    )
    return f"preflight has no effect: nodes are not checked, and no spare ones are asked for; {where}"


def of_slurm(
    job: Job,
    site: Site,
    common: Common,
    machines: Sequence[NodeType],
    gres: str,
    cpus: Sequence[Option],
    of_fabric: Sequence[Option],
) -> tuple[Preflight, list[Problem], list[str]]:
    """The check, what this site cannot do of it, and warnings. `cpus` are srun's options for all CPUs that
    the job has on a node, `of_fabric` those of its ranks for the network."""
    spec = job.preflight
    assert spec is not None
    problems: list[Problem] = []
    warnings: list[str] = []
    if len(common.shapes) > 1:
        message = f"nodes of several types may come: choose one with sites.{site.name}.node_type"
        problems.append(Problem(message, "job", ("preflight",)))
    settings: list[Option] = []
    if spec.gpu and common.gpus_per_node:
        settings.append(Option(f"gpus={common.gpus_per_node}", "as many GPUs, and none with ECC errors"))
    elif spec.gpu:
        warnings.append("preflight.gpu has no effect: the job has no GPUs")
    hcas = _hcas(common, machines[0])
    if spec.hca and hcas:
        settings.append(Option(f"hcas={hcas}", "NAME/PCI/PORT/LINK/RATE, active and with that rate in Gb/s"))
        settings.append(Option(f"memlock={_MEMLOCK_KIB}", "KiB that InfiniBand must be able to pin"))
    elif spec.hca:
        warnings.append(f"preflight.hca has no effect: no HCA of a {machines[0].name} is known")
    known = site.preflight or PreflightSite()
    measure: tuple[Option, ...] = ()
    command: tuple[str, ...] = ()
    if spec.nccl and common.gpus_per_node > 1:
        measure = (Option(f"floor={known.all_reduce_gbs or 0}", "GB/s that an all_reduce must reach"),)
        command = known.command or _perf("256M", common)
        if known.all_reduce_gbs is None:
            name = f"site {site.name} has no preflight.all_reduce_gbs"
            warnings.append(f"preflight.nccl: {name}, so an all_reduce of any bandwidth is good")
    links = None
    if spec.nccl and common.gpus_per_node and common.nodes > 1:
        links, more = _links(job, site, common, known, of_fabric)
        warnings += more
    if spec.nccl and not measure and links is None:
        warnings.append("preflight.nccl has no effect: an all_reduce needs two GPUs")
    if not (settings or measure or links is not None):
        problems.append(Problem("nothing is to be checked of these nodes", "job", ("preflight",)))
    if any(step.where == "host" and step.per == "job" for step in common.steps):
        warnings.append(
            "steps on the host with `per: job` run on the first node of the allocation, also where preflight "
            "leaves that out"
        )
    once = (
        *((Option(f"--gres={gres}"),) if common.gpus_per_node else ()),
        *cpus,
        Option("--overlap", "a node that hangs in it keeps nothing from the ranks"),
        *map(
            Option, ("--cpu-bind=none", "--mem-bind=none", "--mpi=none", "--export=ALL", "--propagate=NONE")
        ),
        Option("--kill-on-bad-exit=0"),
    )
    outlived = spec.spares and not job.requeue  # Slurm starts it again instead
    found = Preflight(
        spec.spares,
        spec.limit,
        once,
        tuple(settings),
        measure,
        command,
        links,
        node_failure="outlived" if outlived else "ends",
    )
    return found, problems, warnings


def _links(
    job: Job, site: Site, common: Common, known: PreflightSite, of_fabric: Sequence[Option]
) -> tuple[Links | None, list[str]]:
    """What is measured between nodes, and warnings. A job without MPI has its nodes measured by what MPI the
    site has: without one they do not find one another."""
    assert site.slurm is not None
    plugins = site.slurm.mpi_plugin
    plugin = plugins.get("pmix" if job.mpi == "none" else job.mpi) or next(iter(plugins.values()), None)
    if plugin is None:
        why = f"site {site.name} names no MPI plugin (slurm.mpi_plugin)"
        return None, [f"preflight.nccl: {why}, so nothing is measured between nodes"]
    warnings = []
    if known.between_nodes_gbs is None:
        name = f"site {site.name} has no preflight.between_nodes_gbs"
        warnings.append(f"preflight.nccl: {name}, so between nodes any bandwidth is good")
    options = (
        Option(f"--mpi={plugin}"),
        Option("--kill-on-bad-exit=1"),
        *(Option(each.text) for each in of_fabric),
    )
    return Links(known.between_nodes_gbs or 0, known.command or _perf("1G", common), options), warnings


def _perf(size: str, common: Common) -> tuple[str, ...]:
    """all_reduce_perf of nccl-tests, one process on a node with all of its GPUs: as many ranks of NCCL as MPI
    processes times -g (README.md of NVIDIA/nccl-tests)."""
    return ("all_reduce_perf", "-b", size, "-e", size, "-g", str(common.gpus_per_node))


def of_sbatch(batch: Sequence[Option], common: Common, check: Preflight) -> tuple[Option, ...]:
    """The options of sbatch with the spare nodes."""
    if not check.spares:
        return tuple(batch)
    why = f"{common.nodes} for the ranks, and {check.spares} spare"
    wanted = Option(f"--nodes={common.nodes + check.spares}", why)
    found = tuple(wanted if each.text.startswith("--nodes=") else each for each in batch)
    return (*found, OUTLIVES) if check.node_failure == "outlived" else found


def with_every_node(target: SlurmTarget) -> tuple[SlurmTarget, list[str]]:
    """One world of unlike groups, which no node that fails is left out of, and a warning where it would be.

    Of a step of several components Slurm ends that one alone all of whose nodes fail, be they in one
    allocation or in several, and the others would wait for it until the time limit (seen on 22.05.8). Without
    --no-kill any node that fails ends all allocations (`kill_running_job_by_node_name` and `_het_job_on_node`
    in src/slurmctld/job_mgr.c, 22.05 to 26.05; seen)."""
    check = target.preflight
    if check is None or check.node_failure != "outlived":
        return target, []
    batch, *components = (
        tuple(option for option in options if option != OUTLIVES)
        for options in (target.sbatch, *target.components)
    )
    check = structs.replace(check, node_failure="ends_groups")
    return structs.replace(target, sbatch=batch, components=tuple(components), preflight=check), [_ENDS]


def _hcas(common: Common, machine: NodeType) -> str:
    rates = {hca.pci: hca.rate_gbps or 0 for hca in machine.hcas}
    return " ".join(
        f"{hca.name}/{hca.pci}/{hca.port}/{hca.link_layer}/{rates.get(hca.pci, 0)}"
        for hca in common.shape.hcas
    )
