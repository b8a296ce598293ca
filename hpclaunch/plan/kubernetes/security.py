"""What the containers may do: as little as the site's profile needs."""

from hpclaunch.capability import kubernetes as cluster
from hpclaunch.plan.hints import of_site
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Problem
from hpclaunch.values.pods import Security


def of_pod(job: Job, site: Site, sshd: bool, rdma: bool) -> tuple[Security, list[Problem], list[str]]:
    """The rights of a pod that runs sshd, or reaches HCAs, or neither; problems and warnings."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    hints = of_site(job, site)
    problems = _problems(job, site.name, kubernetes, hints, sshd)
    warnings = []
    if job.container.privileged:
        warnings.append(
            "container.privileged: every process of the job has all rights on its node; RDMA needs none "
            "(kubernetes.rdma gives the pods their HCAs)"
        )
    if rdma and not job.container.privileged and (kubernetes.profile == "rootless" or hints.user):
        warnings.append(
            "without root IPC_LOCK has no effect: HCAs need the runtime's memlock limit to be lifted "
            "(hpclaunch site export machine-config), and ranks stop with a clear error where it is not"
        )
    if kubernetes.profile == "rootless":
        run_as = kubernetes.run_as
        user = hints.user if hints.user is not None else (run_as.user if run_as else None)
        group = run_as.group if run_as else None
        changes = cluster.has_field("fsGroupChangePolicy", kubernetes.version)
        seccomp = cluster.has_field("seccompProfile", kubernetes.version)
        return (
            Security(
                run_as_user=user,
                run_as_group=group,
                fs_group=group,
                fs_group_change_policy="OnRootMismatch" if changes and group is not None else "",
                drop_all=not job.container.privileged,
                allow_privilege_escalation=None if job.container.privileged else False,
                run_as_non_root=True,
                seccomp_profile="RuntimeDefault" if seccomp and not job.container.privileged else "",
                read_only_root=not job.container.writable,
                privileged=job.container.privileged,
            ),
            problems,
            warnings,
        )
    root = sshd or job.container.remap_root
    run_as_user = hints.user if hints.user is not None else 0 if root else None
    add = cluster.SSHD if sshd else ()
    return (
        Security(
            run_as_user=run_as_user,
            add=(*add, cluster.PINNING) if rdma else add,
            read_only_root=not job.container.writable,
            privileged=job.container.privileged,
        ),
        problems,
        warnings,
    )


def _problems(job: Job, site: str, kubernetes: KubernetesSite, hints: SiteHints, sshd: bool) -> list[Problem]:
    found = []
    if kubernetes.profile == "rootless" and job.container.remap_root:
        message = f"site {site} runs no container as root (kubernetes.profile: rootless)"
        found.append(Problem(message, "job", ("container", "remap_root")))
    if kubernetes.profile == "rootless" and hints.user == 0:
        message = f"0 is root, and site {site} runs no container as root (kubernetes.profile: rootless)"
        found.append(Problem(message, "job", ("sites", site, "user")))
    if hints.user and job.container.remap_root:
        message = f"container.remap_root makes it 0, and here it is {hints.user}: leave one of them out"
        found.append(Problem(message, "job", ("sites", site, "user")))
    if hints.user is not None and sshd:
        message = (
            "sshd of the workers knows only the users of the image, and the site says which it runs as "
            "(kubernetes.profile, run_as): leave it out"
        )
        found.append(Problem(message, "job", ("sites", site, "user")))
    return found
