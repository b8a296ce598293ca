"""The check of a job's nodes before its ranks start, in Slurm's words. Only jobs that have one load this."""

from collections.abc import Sequence

from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.preflight import PreflightSite
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Problem
from hpclaunch.values.launchplan import Common
from hpclaunch.values.preflight import Preflight
from hpclaunch.values.words import Option

# Verbs pin the buffers that they send from; below this a job dies in ibv_reg_mr (as in plan/wrapper.py).
_MEMLOCK_KIB = 1_048_576


def unheeded(scheduler: str) -> str:
    """The warning where there is no Slurm."""
    where = (
        "pods get the nodes that the scheduler has for them"
        if scheduler == "kubernetes"
        else "there is one node"
    )
    return f"preflight has no effect: nodes are not checked, and no spare ones are asked for; {where}"


def of_slurm(
    job: Job, site: Site, common: Common, machines: Sequence[NodeType], gres: str, cpus: Sequence[Option]
) -> tuple[Preflight, list[Problem], list[str]]:
    """The check, what this site cannot do of it, and warnings. `cpus` are srun's options for all CPUs that
    the job has on a node."""
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
        command = known.command or (
            "all_reduce_perf",
            "-b",
            "256M",
            "-e",
            "256M",
            "-g",
            str(common.gpus_per_node),
        )
        if known.all_reduce_gbs is None:
            name = f"site {site.name} has no preflight.all_reduce_gbs"
            warnings.append(f"preflight.nccl: {name}, so an all_reduce of any bandwidth is good")
    elif spec.nccl:
        warnings.append("preflight.nccl has no effect: an all_reduce needs two GPUs on a node")
    once = (
        *((Option(f"--gres={gres}"),) if common.gpus_per_node else ()),
        *cpus,
        Option("--overlap", "a node that hangs in it keeps nothing from the ranks"),
        *map(
            Option, ("--cpu-bind=none", "--mem-bind=none", "--mpi=none", "--export=ALL", "--propagate=NONE")
        ),
        Option("--kill-on-bad-exit=0"),
    )
    found = Preflight(spec.spares, spec.limit, once, tuple(settings), measure, command)
    return found, problems, warnings


def of_sbatch(batch: Sequence[Option], common: Common, check: Preflight, requeue: bool) -> tuple[Option, ...]:
    """The options of sbatch with the spare nodes. A job that has some outlives a node that fails in the
    check, unless Slurm starts it again then."""
    if not check.spares:
        return tuple(batch)
    why = f"{common.nodes} for the ranks, and {check.spares} spare"
    wanted = Option(f"--nodes={common.nodes + check.spares}", why)
    found = tuple(wanted if each.text.startswith("--nodes=") else each for each in batch)
    return found if requeue else (*found, Option("--no-kill", "a node that fails in the check is left out"))


def _hcas(common: Common, machine: NodeType) -> str:
    rates = {hca.pci: hca.rate_gbps or 0 for hca in machine.hcas}
    return " ".join(
        f"{hca.name}/{hca.pci}/{hca.port}/{hca.link_layer}/{rates.get(hca.pci, 0)}"
        for hca in common.shape.hcas
    )
