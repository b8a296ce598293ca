"""What the pods of a site's jobs need to be allowed, as few things as its profile and its volumes make it."""

from typing import Literal

from msgspec import Struct

from hpclaunch.capability import mpi_operator
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.site import Site

# sshd as root becomes another user for each connection, and while that is not known has an empty root folder
# (OpenSSH's privilege separation).
SSHD = ("SETGID", "SETUID", "SYS_CHROOT")
PINNING = "IPC_LOCK"  # verbs pin memory beyond the limit of a container

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
    root, ssh, rdma = kubernetes.profile == "root", api == "v2beta1", bool(kubernetes.rdma)
    host_paths = tuple(name for name, volume in site.volumes.items() if volume.behind == "path")
    nfs = any(volume.behind == "nfs" for volume in site.volumes.values())
    added = (*(SSHD if ssh else ()), *((PINNING,) if rdma else ())) if root else ()
    level, why = _pod_security(root, rdma, api, host_paths, nfs)
    return PodNeeds(root, api is not None, ssh, rdma, host_paths, nfs, tuple(sorted(added)), level, why)


def kubernetes_of(site: Site) -> KubernetesSite:
    """The Kubernetes part of a site that `export` has found to have one."""
    assert site.kubernetes is not None
    return site.kubernetes


def mpi_api(kubernetes: KubernetesSite) -> str | None:
    """The version of the MPIJob's API that jobs use there; None without an operator."""
    if kubernetes.mpijob is not None:
        return kubernetes.mpijob.api
    served = mpi_operator.apis(kubernetes.mpi_operator) if kubernetes.mpi_operator else ()
    return served[0] if served else None


def _pod_security(
    root: bool, rdma: bool, api: str | None, host_paths: tuple[str, ...], nfs: bool
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
    if api in ("v1", "v1alpha2"):
        return "baseline", "restricted forbids the init container that the MPI operator adds to launchers"
    return "restricted", ""
