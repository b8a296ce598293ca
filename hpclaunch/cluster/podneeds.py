"""What the pods of a site's jobs need to be allowed, as few things as its profile and its volumes make it."""

from typing import Literal

from msgspec import Struct

from hpclaunch.capability.kubernetes import PINNING, SSHD, api_of_jobs, by_ssh
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.site import Site

PodSecurity = Literal["privileged", "baseline", "restricted"]


class PodNeeds(Struct, frozen=True):
    """`capabilities` are those to be added to what a container has by default. `mpi`: there is an operator,
    by whose API `ssh` starts the ranks. `pod_security` is the strictest of the Pod Security Standards that
    lets the pods in, and `why` the reason that it is no stricter."""

    root: bool
    mpi: bool
    ssh: bool
    rdma: bool
    host_paths: tuple[str, ...]
    nfs: bool
    capabilities: tuple[str, ...]
    pod_security: PodSecurity
    why: str


def pod_needs(site: Site) -> PodNeeds:
    """The needs of jobs that use what the site names."""
    kubernetes = kubernetes_of(site)
    api = mpi_api(kubernetes)
    root, rdma = kubernetes.profile == "root", bool(kubernetes.rdma)
    ssh = api is not None and by_ssh(api)
    host_paths = tuple(name for name, volume in site.volumes.items() if volume.behind == "path")
    nfs = any(volume.behind == "nfs" for volume in site.volumes.values())
    added = (*(SSHD if ssh else ()), *((PINNING,) if rdma else ())) if root else ()
    level, why = _pod_security(root, rdma, api is not None and not ssh, host_paths, nfs)
    return PodNeeds(root, api is not None, ssh, rdma, host_paths, nfs, tuple(sorted(added)), level, why)


def kubernetes_of(site: Site) -> KubernetesSite:
    """The Kubernetes part of a site that `export` has found to have one."""
    assert site.kubernetes is not None
    return site.kubernetes


def mpi_api(kubernetes: KubernetesSite) -> str | None:
    """The version of the MPIJob's API that jobs use there; None without an operator."""
    said = kubernetes.mpijob.api if kubernetes.mpijob is not None else None
    return api_of_jobs(said, kubernetes.mpi_operator)


def _pod_security(
    root: bool, rdma: bool, by_exec: bool, host_paths: tuple[str, ...], nfs: bool
) -> tuple[PodSecurity, str]:
    """Kubernetes, Pod Security Standards: what each level forbids."""
    if host_paths:
        return "privileged", f"baseline forbids host paths, which are behind {', '.join(host_paths)}"
    if root and rdma:
        return "privileged", f"baseline forbids {PINNING}, which RDMA as root needs"
    if root:
        return "baseline", "restricted forbids root"
    if nfs:
        return "baseline", "restricted forbids NFS volumes that no claim stands for"
    if by_exec:
        return "baseline", "restricted forbids the init container that the MPI operator adds to launchers"
    return "restricted", ""
