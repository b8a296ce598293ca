"""What the workers take: which nodes, of those that the job is planned for, and how much of each."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hpclaunch.plan import gpukind
from hpclaunch.plan.findings import Findings
from hpclaunch.plan.hints import of_site
from hpclaunch.spec import hosts
from hpclaunch.spec.job import Job
from hpclaunch.spec.kubernetes import KubernetesSite, mig_resource, rdma_resource
from hpclaunch.spec.kubernetes import Toleration as Taint
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.topology import allocatable, model
from hpclaunch.values import quantity
from hpclaunch.values.errors import InputError, Path, Problem
from hpclaunch.values.launchplan import Common
from hpclaunch.values.placement import Hca
from hpclaunch.values.pods import Labels, NodeChoice, Toleration

# More names than that make a manifest that nobody reads; labels are the way to name many nodes.
MOST_NAMES = 64


class Resources(Struct, frozen=True):
    """Of one worker. `owned` are CPUs, memory and huge pages, asked for and limited alike, so that the
    kubelet gives the pod CPUs of its own (Guaranteed); `devices` are GPUs and HCAs. `shm` is the size of
    /dev/shm, "" where the memory is not known; `rdma`: there are HCAs."""

    owned: Labels
    devices: Labels
    shm: str
    rdma: bool


def choice(job: Job, site: Site, group: NodeGroup, machine: NodeType, found: Findings) -> NodeChoice:
    """The labels of the group's nodes (its host names, where it has no labels) and the job's own choice."""
    hints = of_site(job, site)
    problems: list[Problem] = []
    size = hosts.count(group.hosts) if group.hosts is not None else 0
    by_name = not group.selector and size <= MOST_NAMES
    # Names are read where they are compared or written alone: that takes longer than all else here.
    needed = by_name or hints.nodelist is not None or hints.exclude is not None
    of_group = hosts.expand(group.hosts) if group.hosts is not None and needed else []
    chosen = _names(hints.nodelist, ("sites", site.name, "nodelist"), problems)
    excluded = _names(hints.exclude, ("sites", site.name, "exclude"), problems)
    if not problems:
        problems += _outside(chosen, of_group, group, site)
        problems += _too_few(job, site, group, machine, chosen or of_group, excluded)
    found.problems += problems
    if not chosen and by_name:
        chosen = tuple(of_group)
    elif not chosen and not group.selector:
        found.warnings.append(
            f"the pods may go to any node that has what they ask for: {size} names "
            "(node_types.hosts) are too many for a manifest, and the nodes have no labels in the site "
            "(node_types.selector)"
        )
    return NodeChoice(
        selector=tuple(group.selector.items()),
        hosts=chosen,
        not_hosts=excluded,
        tolerations=tolerated(group.tolerations),
    )


def tolerated(taints: Iterable[Taint]) -> tuple[Toleration, ...]:
    """Tolerations of the site file in the API's words."""
    return tuple(
        Toleration(each.key or "", each.operator, each.value or "", each.effect or "") for each in taints
    )


def resources(
    job: Job, site: Site, group: NodeGroup, machine: NodeType, common: Common, found: Findings
) -> Resources:
    """The resources. A part of a node is as much of its CPUs and memory as of its GPUs; without
    GPUs it is a CPU for each rank, as under Slurm. Raises InputError where a job that insists on its HCAs
    cannot have them."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    cpus = allocatable.cpus(group, machine)
    _check(site, group, machine)
    parts = (common.gpus_per_node, gpukind.of_a_node(job, site, machine))
    if not common.gpus_per_node:
        parts = (min(common.ranks_per_node, cpus), cpus)
    owned = [("cpu", str(max(1, cpus * parts[0] // parts[1])))]
    memory = allocatable.memory(group, machine)
    shm = kubernetes.shm or ""
    if memory is None:
        found.warnings.append(
            f"how much memory a {machine.name} has is not known, so the pods have no limit of it: set "
            "node_types.allocatable.memory in the site"
        )
    else:
        share = allocatable.rounded(memory * parts[0] // parts[1])
        owned.append(("memory", quantity.of_bytes(share)))
        half = quantity.of_bytes(allocatable.rounded(share // 2))
        if shm and quantity.whole(shm) > share:
            found.warnings.append(
                f"/dev/shm has {half} and not the site's {shm} (kubernetes.shm): it counts towards the pod's "
                f"memory, which is {quantity.of_bytes(share)}"
            )
            shm = half
        shm = shm or half
    owned += [(f"hugepages-{size}", amount) for size, amount in kubernetes.hugepages.items()]
    devices = []
    if common.gpus_per_node:
        devices.append((_gpu(job, site, kubernetes), str(common.gpus_per_node)))
    hcas = _hcas(job, site.name, kubernetes, common.shape.hcas, found)
    return Resources(tuple(owned), (*devices, *hcas), shm, bool(hcas))


def _names(text: str | None, path: Path, problems: list[Problem]) -> tuple[str, ...]:
    if text is None:
        return ()
    try:
        return tuple(hosts.expand(text))
    except ValueError as error:
        problems.append(Problem(str(error), "job", path))
        return ()


def _outside(chosen: Sequence[str], of_group: Sequence[str], group: NodeGroup, site: Site) -> list[Problem]:
    """Nodes that the job names and its plan is not for."""
    strange = sorted(set(chosen) - set(of_group)) if of_group else []
    if not strange:
        return []
    message = f"{hosts.fold(strange)} is not among the nodes that the job is planned for ({group.hosts})"
    if len(site.node_types) > 1:
        message += f": choose their type with sites.{site.name}.node_type"
    return [Problem(message, "job", ("sites", site.name, "nodelist"))]


def _too_few(
    job: Job,
    site: Site,
    group: NodeGroup,
    machine: NodeType,
    names: Sequence[str],
    excluded: Sequence[str],
) -> list[Problem]:
    """Workers that would wait for ever, since the names that are left have no room for them. (Slurm adds
    nodes to a nodelist that is too short.)"""
    hints = of_site(job, site)
    if not names or (hints.nodelist is None and hints.exclude is None):
        return []
    left, of_each = len(set(names) - set(excluded)), gpukind.room(job, site, group, machine)
    room = left * (job.nodes if of_each is None else of_each)
    if job.nodes <= room:
        return []
    key = "nodelist" if hints.nodelist is not None else "exclude"
    message = f"the job takes {job.nodes} nodes, and this leaves room for {room}"
    return [Problem(message, "job", ("sites", site.name, key))]


def _check(site: Site, group: NodeGroup, machine: NodeType) -> None:
    """Raises InputError for more CPUs than the machine has: such pods fit on no node, and wait for ever."""
    said = group.allocatable.cpu
    if said is not None and said > (most := model.cpu_count(machine)):
        path: Path = ("node_types", site.node_types.index(group), "allocatable", "cpu")
        raise InputError([Problem(f"{said} CPUs, and a {machine.name} has {most}", "site", path)])


def _gpu(job: Job, site: Site, kubernetes: KubernetesSite) -> str:
    if job.gpu_type is None or not gpukind.slices(job, site):
        return kubernetes.gpu_resource
    return mig_resource(kubernetes.gpu_resource, job.gpu_type)


def _hcas(
    job: Job, site_name: str, kubernetes: KubernetesSite, hcas: Sequence[Hca], found: Findings
) -> Labels:
    """How many of each resource stand for the compute HCAs."""
    if job.bind.hcas == "none" or not hcas:
        return ()
    counts: dict[str, int] = {}
    without = []
    for hca in hcas:
        resource = kubernetes.rdma.get(hca.pci) or kubernetes.rdma.get(hca.name)
        if resource is None:
            without.append(hca.name)
        else:
            full = rdma_resource(resource)
            counts[full] = counts.get(full, 0) + 1
    if without and job.bind.hcas == "strict":
        message = (
            f"the pods would not get the HCAs {', '.join(without)}, and `strict` ends a job that lacks one: "
            f"site {site_name} names no resource for them (kubernetes.rdma)"
        )
        raise InputError([Problem(message, "job", ("bind", "hcas"))])
    if without:
        found.warnings.append(
            f"the pods do not get the HCAs {', '.join(without)}: site {site_name} names no resource for them "
            "(kubernetes.rdma), so ranks do without"
        )
    return tuple((name, str(number)) for name, number in counts.items())
