"""Kinds of GPUs: whole ones by Slurm's name of their type, and MIG slices by their profile."""

from collections.abc import Mapping, Sequence

from hpclaunch.capability.tables import slurm_feature_since, slurm_has_feature
from hpclaunch.plan.hints import of_site
from hpclaunch.spec.job import Job
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values.errors import Problem

UNTYPED = "gpu"  # a node type whose GPUs have no name of their own in Slurm


def kinds(group: NodeGroup, machine: NodeType) -> dict[str, int]:
    """Kind -> how many of them a node of the group has. Of a group with MIG slices these alone are given
    out: whole GPUs of a machine that is cut in part are not known."""
    if group.mig:
        return dict(group.mig)
    return {machine.gres: len(machine.gpus)} if machine.gpus else {}


def count(job: Job, group: NodeGroup, machine: NodeType) -> int:
    """How many GPUs of the job's kind a node of the group has: 0 where it has others. A job that names no
    kind means whole ones."""
    if job.gpu_type is not None:
        return kinds(group, machine).get(job.gpu_type, 0)
    return 0 if group.mig else len(machine.gpus)


def fits(job: Job, group: NodeGroup, machine: NodeType) -> bool:
    """Whether nodes of the group have the GPUs that the job asks for, in kind and number."""
    if job.gpu_type is None and group.mig:
        return job.gpus_per_node == 0
    wanted = job.gpus_per_node or (0 if job.gpu_type is None else 1)
    return wanted <= count(job, group, machine)


def room(job: Job, site: Site, group: NodeGroup, machine: NodeType) -> int | None:
    """How many of the job's nodes one machine of the group has room for, None where that is not known. It is
    one, but for pods that may share a machine."""
    if site.scheduler != "kubernetes" or not of_site(job, site).share_nodes or job.gpus_per_node is None:
        return 1
    return count(job, group, machine) // job.gpus_per_node if job.gpus_per_node else None


def too_few(job: Job, found: Sequence[tuple[NodeGroup, NodeType]]) -> str:
    """Why none of these groups fits, for a kind of GPU that the site has."""
    most, name = max((count(job, group, machine), machine.name) for group, machine in found)
    if not most and any(group.mig for group, _ in found):
        profiles = sorted({profile for group, _ in found for profile in group.mig})
        return f"a {name} gives out MIG slices alone: set gpu_type to one of {', '.join(profiles)}"
    kind = f" of type {job.gpu_type}" if job.gpu_type else ""
    return f"{job.gpus_per_node or 'all'} GPUs{kind} per node, and a {name} has {most}"


def of_a_node(job: Job, site: Site, machine: NodeType) -> int:
    """How many GPUs of the job's kind a node of this type has at the site."""
    if slices(job, site):
        return max(group.mig.get(job.gpu_type or "", 0) for group in site.node_types)
    return len(machine.gpus)


def slices(job: Job, site: Site) -> bool:
    """Whether the job's GPUs are MIG slices."""
    return any(job.gpu_type in group.mig for group in site.node_types)


def gres(job: Job, site: Site, machine: NodeType, gpus: int) -> str:
    """The value of --gres. The type is named where the job names it, and at a site that gives out MIG slices:
    there a bare gpu:8 could be eight slices."""
    kind = job.gpu_type
    if kind is None and any(group.mig for group in site.node_types):
        kind = machine.gres
    return f"gpu:{kind}:{gpus}" if kind not in (None, UNTYPED) else f"gpu:{gpus}"


def bind(ranks: int, gpus: int) -> str:
    """The value of srun's --gpu-bind for MIG slices: each rank sees its own, since CUDA shows a process the
    first of its slices alone (NVIDIA's MIG user guide, "Device enumeration")."""
    return "per_task:1" if ranks == gpus else f"single:{ranks // gpus}"


def unsuitable(job: Job, site: Site, machines: Mapping[str, NodeType]) -> list[Problem]:
    """What is wrong with the job's kind of GPU at this site."""
    if job.gpu_type is None:
        return []
    known = sorted({name for group in site.node_types for name in kinds(group, machines[group.type])})
    if site.scheduler == "local":
        message = f"site {site.name} has no scheduler to choose GPUs by their type: leave gpu_type out"
        return [Problem(message, "job", ("gpu_type",))]
    if job.gpu_type not in known:
        message = f"site {site.name} has no GPUs of type {job.gpu_type}; it has: {', '.join(known) or 'none'}"
        return [Problem(message, "job", ("gpu_type",))]
    if job.gpus_per_node == 0:
        message = "gpu_type needs GPUs: leave it out, or set gpus_per_node above 0"
        return [Problem(message, "job", ("gpu_type",))]
    return _slice_problems(job, site) if slices(job, site) else []


def _slice_problems(job: Job, site: Site) -> list[Problem]:
    if site.slurm is not None and not slurm_has_feature("mig", site.slurm.version):
        since = slurm_feature_since("mig")
        message = f"MIG slices came with Slurm {since}, and this site has {site.slurm.version}"
        return [Problem(message, "job", ("gpu_type",))]
    if job.gpus_per_node is None:
        message = f"say how many slices of {job.gpu_type} a node gives to the job: gpus_per_node"
        return [Problem(message, "job", ("gpu_type",))]
    ranks = job.ranks_per_node or job.gpus_per_node
    if ranks % job.gpus_per_node:
        message = (
            f"{ranks} ranks on {job.gpus_per_node} slices of {job.gpu_type}: a process uses one slice, so "
            "ranks must be a multiple of slices"
        )
        return [Problem(message, "job", ("ranks_per_node",))]
    return []
