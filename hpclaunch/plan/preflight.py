"""The check of a job's nodes before its ranks start, in Slurm's words. Only jobs that have one load this."""

from collections.abc import Sequence

from msgspec import structs

from hpclaunch.plan.findings import Findings
from hpclaunch.plan.slurm_share import Share
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.preflight import PreflightSite, PreflightSpec
from hpclaunch.spec.site import Site
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
    machine: NodeType,
    share: Share,
    of_fabric: Sequence[Option],
    found: Findings,
) -> Preflight:
    """The check. `machine` is the node type of the first shape, and `of_fabric` are srun's options for the
    network between the ranks."""
    spec = job.preflight
    assert spec is not None
    if len(common.shapes) > 1:
        message = f"nodes of several types may come: choose one with sites.{site.name}.node_type"
        found.refuse(message, "preflight")
    settings = (*_of_gpus(spec, common, found), *_of_hcas(spec, common, machine, found))
    measure, command = _in_nodes(spec, site, common, found)
    links = _between_nodes(job, site, common, of_fabric, found)
    if spec.nccl and not measure and links is None:
        found.warnings.append("preflight.nccl has no effect: an all_reduce needs two GPUs")
    if not (settings or measure or links is not None):
        found.refuse("nothing is to be checked of these nodes", "preflight")
    if any(step.where == "host" and step.per == "job" for step in common.steps):
        found.warnings.append(
            "steps on the host with `per: job` run on the first node of the allocation, also where preflight "
            "leaves that out"
        )
    outlived = spec.spares and not job.requeue  # Slurm starts it again instead
    return Preflight(
        spec.spares,
        spec.limit,
        _once(common, share),
        settings,
        measure,
        command,
        links,
        node_failure="outlived" if outlived else "ends",
    )


def _of_gpus(spec: PreflightSpec, common: Common, found: Findings) -> tuple[Option, ...]:
    """The settings for the GPUs of a node."""
    if not spec.gpu:
        return ()
    if not common.gpus_per_node:
        found.warnings.append("preflight.gpu has no effect: the job has no GPUs")
        return ()
    return (Option(f"gpus={common.gpus_per_node}", "as many GPUs, and none with ECC errors"),)


def _of_hcas(spec: PreflightSpec, common: Common, machine: NodeType, found: Findings) -> tuple[Option, ...]:
    """The settings for the HCAs of a node."""
    if not spec.hca:
        return ()
    hcas = _hcas(common, machine)
    if not hcas:
        found.warnings.append(f"preflight.hca has no effect: no HCA of a {machine.name} is known")
        return ()
    return (
        Option(f"hcas={hcas}", "NAME/PCI/PORT/LINK/RATE, active and with that rate in Gb/s"),
        Option(f"memlock={_MEMLOCK_KIB}", "KiB that InfiniBand must be able to pin"),
    )


def _in_nodes(
    spec: PreflightSpec, site: Site, common: Common, found: Findings
) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    """The setting for an all_reduce among the GPUs of one node, and the command that measures it."""
    if not spec.nccl or common.gpus_per_node < 2:
        return (), ()
    known = site.preflight or PreflightSite()
    if known.all_reduce_gbs is None:
        name = f"site {site.name} has no preflight.all_reduce_gbs"
        found.warnings.append(f"preflight.nccl: {name}, so an all_reduce of any bandwidth is good")
    floor = Option(f"floor={known.all_reduce_gbs or 0}", "GB/s that an all_reduce must reach")
    return (floor,), known.command or _perf("256M", common)


def _between_nodes(
    job: Job, site: Site, common: Common, of_fabric: Sequence[Option], found: Findings
) -> Links | None:
    """What is measured between nodes. A job without MPI has its nodes measured by what MPI the site has:
    without one they do not find one another."""
    assert job.preflight is not None
    assert site.slurm is not None
    if not (job.preflight.nccl and common.gpus_per_node and common.nodes > 1):
        return None
    plugins = site.slurm.mpi_plugin
    plugin = plugins.get("pmix" if job.mpi == "none" else job.mpi) or next(iter(plugins.values()), None)
    if plugin is None:
        why = f"site {site.name} names no MPI plugin (slurm.mpi_plugin)"
        found.warnings.append(f"preflight.nccl: {why}, so nothing is measured between nodes")
        return None
    known = site.preflight or PreflightSite()
    if known.between_nodes_gbs is None:
        name = f"site {site.name} has no preflight.between_nodes_gbs"
        found.warnings.append(f"preflight.nccl: {name}, so between nodes any bandwidth is good")
    options = (
        Option(f"--mpi={plugin}"),
        Option("--kill-on-bad-exit=1"),
        *(Option(each.text) for each in of_fabric),
    )
    return Links(known.between_nodes_gbs or 0, known.command or _perf("1G", common), options)


def _once(common: Common, share: Share) -> tuple[Option, ...]:
    """srun's options for a step that has one task on each node, with all that the job has of it."""
    unbound = ("--cpu-bind=none", "--mem-bind=none", "--mpi=none", "--export=ALL", "--propagate=NONE")
    return (
        *((Option(f"--gres={share.gres}"),) if common.gpus_per_node else ()),
        *share.cpus_once,
        Option("--overlap", "a node that hangs in it keeps nothing from the ranks"),
        *map(Option, unbound),
        Option("--kill-on-bad-exit=0"),
    )


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
