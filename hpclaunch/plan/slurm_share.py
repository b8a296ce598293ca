"""What a job has of each of its nodes, in Slurm's words: GPUs, and CPUs for its ranks."""

from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.capability.tables import slurm_has_feature
from hpclaunch.plan import gpukind
from hpclaunch.plan.findings import Findings
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site, SlurmSite
from hpclaunch.topology import model
from hpclaunch.values.launchplan import Common
from hpclaunch.values.placement import NodeShape
from hpclaunch.values.words import Option


class Share(Struct, frozen=True):
    """`gres` is the value of --gres, and `gpus_of_node` how many GPUs of that kind a node has. `cpus` are
    srun's options for the CPUs of the ranks, `cpus_once` those for one task that has all of them on a node.
    """

    gres: str
    gpus_of_node: int
    cpus_per_task: int
    cpus: tuple[Option, ...]
    cpus_once: tuple[Option, ...]


def share(job: Job, site: Site, machines: Sequence[NodeType], common: Common, found: Findings) -> Share:
    """The job's share; `machines` are the node types of its shapes."""
    assert site.slurm is not None
    gpus_of_node = gpukind.of_a_node(job, site, machines[0])
    per_task = _cpus_per_task(common, machines, gpus_of_node)
    if common.whole_node:
        cpus = cpus_once = _all_cores(machines, common, site.slurm, found)
    else:
        cpus = (Option(f"--cpus-per-task={per_task}"),)
        cpus_once = (Option(f"--cpus-per-task={per_task * common.ranks_per_node}"),)
    gres = gpukind.gres(job, site, machines[0], common.gpus_per_node)
    return Share(gres, gpus_of_node, per_task, cpus, cpus_once)


def _cpus_per_task(common: Common, machines: Sequence[NodeType], gpus_of_node: int) -> int:
    """The GPUs' part of the node's CPUs, divided among the ranks; one each for a job without GPUs.

    Whole cores where there are enough: sbatch gives three tasks of 3 CPUs 5 cores of two threads, and srun
    wants 2 for each of them, so the step would wait for a sixth until the job's time is over.
    """
    if not common.gpus_per_node:
        return 1
    least = min(shape.cpu_count for shape in common.shapes)
    part = least * common.gpus_per_node // gpus_of_node // common.ranks_per_node
    threads = max(len(numa.threads) for machine in machines for numa in machine.numa)
    return max(1, part if part < threads else part - part % threads)


def _all_cores(
    machines: Sequence[NodeType], common: Common, slurm: SlurmSite, found: Findings
) -> tuple[Option, ...]:
    """What makes a step on whole nodes get the cores that are far from the GPUs too."""
    loses = slurm_has_feature("far_cores_lost", slurm.version)
    if not loses or not _uses_far_cores(machines, common.shapes):
        return ()
    cpus = min(shape.cpu_count for shape in common.shapes)
    each = cpus // common.gpus_per_node
    if any(each * common.gpus_per_node < shape.cpu_count for shape in common.shapes):
        found.warnings.append(
            f"Slurm {slurm.version} may keep cores that are far from the GPUs out of a step: if it says "
            '"CPU binding outside of job step allocation", let bind.cpus be local and the ranks one per GPU'
        )
    return (Option(f"--cpus-per-gpu={each}", "all cores: else those far from the GPUs are lost"),)


def _uses_far_cores(machines: Sequence[NodeType], shapes: Sequence[NodeShape]) -> bool:
    """Whether a rank may run on a core of a NUMA node that no GPU hangs on, as every unbound one may."""
    return any(_uses_them(*both) for both in zip(machines, shapes, strict=True))


def _uses_them(machine: NodeType, shape: NodeShape) -> bool:
    near = {gpu.numa for gpu in shape.gpus}
    far = {
        cpu
        for node in machine.numa
        if node.node not in near
        for core in model.cores(machine, node.node)
        for cpu in core
    }
    return bool(near and far) and any(not seat.cpus or not far.isdisjoint(seat.cpus) for seat in shape.seats)
