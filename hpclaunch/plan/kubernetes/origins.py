"""Where the values of a Kubernetes target came from."""

from collections.abc import Iterator

from hpclaunch.plan.hints import of_site
from hpclaunch.plan.kubernetes.mpijob import served
from hpclaunch.plan.kubernetes.volumes import SHM
from hpclaunch.plan.origin import Origin, Place
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import Site
from hpclaunch.topology.allocatable import FOR_PODS
from hpclaunch.values.pods import KubernetesTarget

_DEFAULT = "default"


def of_target(job: Job, site: Site, group: int, target: KubernetesTarget) -> Iterator[Origin]:
    """The object first, then what each pod is given. `group` is the index of the nodes in node_types."""
    hints = of_site(job, site)
    mpi = target.mpi_job
    by = (_site("mpijob"), _site("mpi_operator")) if mpi else ()
    yield Origin("object", _object(site, target), by, "one node")
    yield Origin("object's name", target.name, (), "the job's name", (Place("job", ("name",)),))
    yield Origin("namespace", target.namespace, (_hint(site, "namespace"), _site("namespace")), _DEFAULT)
    if target.starter:
        family = job.container.mpi or site.kubernetes.mpi if site.kubernetes else ""
        yield Origin("MPI of the image", family, (Place("job", ("container", "mpi")), _site("mpi")), _DEFAULT)
    for name, amount in target.worker.limits:
        yield Origin(f"pod: {name}", amount, *_of_amount(job, site, group, name))
    for volume in target.worker.volumes:
        if volume.name == SHM:
            size = str(dict(volume.fields).get("sizeLimit", "no limit"))
            yield Origin("pod: /dev/shm", size, (_site("shm"),), "half of the pod's memory")
    selector = ", ".join(f"{key}={value}" for key, value in target.worker.nodes.selector)
    if selector:
        yield Origin("nodes with", selector, (Place("site", ("node_types", group, "selector")),))
    for key, names in (("nodelist", target.worker.nodes.hosts), ("exclude", target.worker.nodes.not_hosts)):
        if names:
            hosts = Place("site", ("node_types", group, "hosts"))
            yield Origin(key, ", ".join(names), (_hint(site, key), hosts))
    apart = "a node each" if target.worker.apart else "nodes may have several"
    if mpi is not None:
        yield Origin("workers", f"{mpi.workers}, {apart}", (_hint(site, "share_nodes"),), _DEFAULT)
    user = target.worker.security.run_as_user
    if user is not None:
        why = "root, which sshd or container.remap_root needs"
        yield Origin("user", str(user), (_hint(site, "user"), _site("run_as", "user")), why)
    if target.worker.service_account:
        yield Origin("service account", target.worker.service_account, (_site("service_account"),))
    for key in ("queue", "priority_class"):
        own = getattr(hints, key) or getattr(site.kubernetes, key)
        if own:
            yield Origin(key, own, (_hint(site, key), _site(key)))


def _of_amount(job: Job, site: Site, group: int, name: str) -> tuple[tuple[Place, ...], str]:
    """What sets an amount, and what it is where nothing does."""
    if name in ("cpu", "memory") and job.gpus_per_node == 0:
        return (Place("job", ("ranks_per_node",)),), "without GPUs: a CPU for each rank, and as much memory"
    if name in ("cpu", "memory"):
        place = Place("site", ("node_types", group, "allocatable", name))
        return (place,), f"{FOR_PODS:.0%} of the node type, or the GPUs' part of that"
    if name.startswith("hugepages-"):
        return (_site("hugepages"),), ""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    if name.partition("/")[2].startswith("mig-") or name == kubernetes.gpu_resource:
        return (Place("job", ("gpus_per_node",)),), "default: all of the node's GPUs"
    return (_site("rdma"),), ""


def _object(site: Site, target: KubernetesTarget) -> str:
    if target.mpi_job is None:
        return "Job (batch/v1)"
    way = "ssh" if served(site).ssh else "kubectl exec"
    return f"MPIJob (kubeflow.org/{target.mpi_job.api}), workers reached by {way}"


def _site(*path: str) -> Place:
    return Place("site", ("kubernetes", *path))


def _hint(site: Site, key: str) -> Place:
    return Place("job", ("sites", site.name, key))
