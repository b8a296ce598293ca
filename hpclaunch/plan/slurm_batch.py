"""What a job asks of sbatch: nodes, and what of each node."""

from collections.abc import Sequence

from hpclaunch.capability.tables import means
from hpclaunch.plan import raw
from hpclaunch.plan.slurm_share import Share
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import SlurmSite
from hpclaunch.topology import model
from hpclaunch.values.amount import clock
from hpclaunch.values.launchplan import Common
from hpclaunch.values.words import Option

# Of what is fitted, firmware and kernel keep some 2 %, and sites more (RealMemory, MemSpecLimit). What all
# parts of a node ask for must fit together, or the last of them waits for ever.
_FOR_JOBS = 0.9
_MEMORY = frozenset({"--mem", "--mem-per-cpu", "--mem-per-gpu"})


def options(
    job: Job,
    slurm: SlurmSite,
    hints: SiteHints,
    common: Common,
    of_node: tuple[Option, ...],
    gres: str,
) -> tuple[Option, ...]:
    """The #SBATCH lines but for those of the fabric. `of_node` are those of `whole` or `part`."""
    lines = [
        Option(f"--job-name={job.name}"),
        Option(f"--nodes={common.nodes}"),
        Option(f"--ntasks-per-node={common.ranks_per_node}"),
    ]
    if common.gpus_per_node:
        lines.append(Option(f"--gres={gres}"))
    lines += of_node
    if common.minutes is not None:
        lines.append(Option(f"--time={clock(common.minutes)}"))
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
        Option("--requeue", "it starts again where it lost a node, or its place to another job")
        if job.requeue
        else Option("--no-requeue", "a job never runs twice by itself"),
        Option("--open-mode=append"),
        Option("--propagate=NONE", "the nodes' limits, not the login node's (memlock)"),
    ]
    return tuple(lines)


def whole(masked: bool) -> tuple[Option, ...]:
    """All of each node."""
    why = "the CPU masks below name cores of the whole node" if masked else "no other job on its nodes"
    return Option("--exclusive", why), Option("--mem=0", "all of its memory")


def part(common: Common, machines: Sequence[NodeType], hints: SiteHints, share: Share) -> tuple[Option, ...]:
    """CPUs, and the GPUs' part of the memory where the node types tell how much there is and the job's own
    options do not. A job without GPUs gets the partition's default."""
    cpus = Option(f"--cpus-per-task={share.cpus_per_task}")
    gib = [model.memory_gib(machine) for machine in machines]
    own = any(means(text.partition("=")[0], _MEMORY) for text in hints.sbatch)
    if own or not common.gpus_per_node or None in gib:
        return (cpus,)
    least = min(size for size in gib if size is not None)
    mib = int(least * 1024 * _FOR_JOBS) * common.gpus_per_node // share.gpus_of_node
    gpus = f"{common.gpus_per_node} of {share.gpus_of_node} GPUs"
    return cpus, Option(f"--mem={mib}M", f"{gpus}, as much of the memory: a default may be a few GB")
