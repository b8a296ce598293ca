"""The pods of a job and their rights: workers, or the one that is all of it; and the launcher."""

from msgspec import Struct, structs

from hpclaunch.capability import kubernetes as known
from hpclaunch.plan import environment
from hpclaunch.plan.findings import Findings
from hpclaunch.plan.hints import of_site
from hpclaunch.plan.kubernetes import names, volumes
from hpclaunch.plan.kubernetes.nodes import Resources, tolerated
from hpclaunch.plan.mounts import in_container
from hpclaunch.spec.job import Job, SiteHints
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import Problem
from hpclaunch.values.launchplan import Common
from hpclaunch.values.pods import (
    JOB_LABEL,
    MANAGED,
    ROLE_LABEL,
    Labels,
    NodeChoice,
    Pod,
    SecretRef,
    Security,
    StagingContainer,
)
from hpclaunch.values.words import EnvVar

_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_MULTUS = "k8s.v1.cni.cncf.io/networks"

# To copy a few files. Without limits of each container the pod would have no CPUs of its own (Guaranteed).
_COPYING = (("cpu", "100m"), ("memory", "128Mi"))

# The device plugin sets this to the GPUs that a pod has. The pod's own value would win, and show others'.
_DEVICE_PLUGINS = "NVIDIA_VISIBLE_DEVICES"
_HOOKS = ("NVIDIA_", "MELLANOX_")  # read by the container runtime


class Given(Struct, frozen=True):
    """What each worker is given: its part of a node, its volumes and the container that copies data to them
    (None for most jobs), its rights, and the nodes that it may be on."""

    needs: Resources
    mounted: volumes.Volumes
    staging: StagingContainer | None
    rights: Security
    nodes: NodeChoice


def of_object(kubernetes: KubernetesSite, job: Job, site: Site, name: str) -> Labels:
    """The labels of the MPIJob or Job."""
    queue = of_site(job, site).queue or kubernetes.queue
    return (
        MANAGED,
        (JOB_LABEL, name),
        *(((_QUEUE_LABEL, queue),) if queue else ()),
        *kubernetes.labels.items(),
    )


def worker(job: Job, site: Site, common: Common, name: str, given: Given) -> Pod:
    """A pod with GPUs, as one of several; `alone` makes it the only one."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    needs, mounted = given.needs, given.mounted
    first = _pod(job, site, common, name, "worker")
    networks = ((_MULTUS, ",".join(kubernetes.networks)),) if kubernetes.networks else ()
    own = () if _mounts_shm(mounted) else (volumes.shm(needs.shm),)
    return structs.replace(
        first,
        annotations=(*first.annotations, *networks),
        nodes=given.nodes,
        # Of workers: with the launcher's label too, there would have to be a node more than the job takes.
        apart=() if of_site(job, site).share_nodes else ((JOB_LABEL, name), (ROLE_LABEL, "worker")),
        security=given.rights,
        env=tuple(each for each in _host_env(common) if each.name.startswith(_HOOKS)),
        requests=needs.owned,
        limits=(*needs.owned, *needs.devices),
        volumes=(*mounted[0], *(volume for volume, _ in own)),
        mounts=(*mounted[1], *(mount for _, mount in own)),
        staging=given.staging,
    )


def alone(pod: Pod, kubernetes: KubernetesSite, common: Common, secrets: tuple[SecretRef, ...]) -> Pod:
    """The worker as the pod of a Job: its own process starts the ranks, or is the one rank."""
    assert common.container is not None
    gang = kubernetes.gang
    return structs.replace(
        pod,
        apart=(),
        scheduler_name=gang.scheduler_name or "" if gang else "",
        env=_host_env(common),
        secrets=secrets,
        working_dir=common.container.workdir,
        # On the pod, where it counts from when a node takes the pod; on the Job it would count the queue.
        active_deadline_s=common.minutes * 60 if common.minutes else None,
    )


def with_sshd(pod: Pod, kubernetes: KubernetesSite) -> Pod:
    """A worker that the launcher reaches by ssh: it is ready when sshd answers."""
    kit = kubernetes.sshd.kit or ""
    return structs.replace(
        pod,
        ready_port=kubernetes.sshd.port,
        kit=kit,
        kit_folder=kubernetes.sshd.folder if kit else "",
        kit_amounts=_COPYING if kit else (),
    )


def launcher(
    job: Job, site: Site, common: Common, like: Pod, name: str, secrets: tuple[SecretRef, ...], ssh: bool
) -> Pod:
    """The pod that runs mpirun. It has the worker's image, whose variables the ranks are given, and none of
    its devices and data. Without `ssh` it starts processes through the API, by kubectl exec."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    own = kubernetes.launcher
    amounts = (("cpu", str(own.cpu)), ("memory", own.memory))
    return structs.replace(
        _pod(job, site, common, name, "launcher"),
        nodes=NodeChoice(selector=tuple(own.selector.items()), tolerations=tolerated(own.tolerations)),
        security=structs.replace(like.security, add=(), privileged=False),
        env=tuple(each for each in _host_env(common) if not each.name.startswith(_HOOKS)),
        secrets=secrets,
        requests=amounts,
        limits=amounts,
        kit=like.kit,
        kit_folder=like.kit_folder,
        kit_amounts=like.kit_amounts,
        uses_api=not ssh,
    )


def secret_name(common: Common, kubernetes: KubernetesSite, name: str) -> str:
    """The Secret that a submission makes of the submitter's own values, "" where none is needed."""
    own = [*common.inherit, *(secret for secret in common.secrets if secret not in kubernetes.secrets)]
    return names.label(f"{name}-env") if own else ""


def secrets(common: Common, kubernetes: KubernetesSite, made: str) -> tuple[SecretRef, ...]:
    """The variables whose values lie in Secrets: the site's own, or `made`, that of the submission."""
    found = [SecretRef(variable, made, variable, optional=True) for variable in common.inherit]
    for variable in common.secrets:
        kept = kubernetes.secrets.get(variable)
        found.append(
            SecretRef(variable, kept.name, kept.key) if kept else SecretRef(variable, made, variable)
        )
    return tuple(found)


def unset_on_pods(common: Common) -> list[str]:
    """A warning where the job sets what a pod must leave to the device plugin."""
    if all(each.name != _DEVICE_PLUGINS for each in common.environment):
        return []
    return [
        f"{_DEVICE_PLUGINS} reaches the ranks and not the pod: there the device plugin says which GPUs it has"
    ]


def rights(job: Job, site: Site, sshd: bool, rdma: bool, found: Findings) -> Security:
    """The rights of a pod that runs sshd, or reaches HCAs, or neither."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    hints = of_site(job, site)
    found.problems += _unfit(job, site.name, kubernetes, hints, sshd)
    if job.container.privileged:
        found.warnings.append(
            "container.privileged: every process of the job has all rights on its node; RDMA needs none "
            "(kubernetes.rdma gives the pods their HCAs)"
        )
    if rdma and not job.container.privileged and (kubernetes.profile == "rootless" or hints.user):
        found.warnings.append(
            "without root IPC_LOCK has no effect: HCAs need the runtime's memlock limit to be lifted "
            "(hpclaunch site export machine-config), and ranks stop with a clear error where it is not"
        )
    if kubernetes.profile == "rootless":
        run_as = kubernetes.run_as
        user = hints.user if hints.user is not None else (run_as.user if run_as else None)
        group = run_as.group if run_as else None
        changes = known.has_field("fsGroupChangePolicy", kubernetes.version)
        seccomp = known.has_field("seccompProfile", kubernetes.version)
        return Security(
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
        )
    root = sshd or job.container.remap_root
    run_as_user = hints.user if hints.user is not None else 0 if root else None
    add = known.SSHD if sshd else ()
    return Security(
        run_as_user=run_as_user,
        add=(*add, known.PINNING) if rdma else add,
        read_only_root=not job.container.writable,
        privileged=job.container.privileged,
    )


def _pod(job: Job, site: Site, common: Common, name: str, role: str) -> Pod:
    """What all pods of a job share."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    assert common.container is not None
    return Pod(
        container=role,
        image=common.container.image,
        image_pull_policy=kubernetes.image_pull_policy or "",
        labels=((JOB_LABEL, name), (ROLE_LABEL, role), *kubernetes.labels.items()),
        annotations=tuple(kubernetes.annotations.items()),
        service_account=kubernetes.service_account or "",
        image_pull_secrets=kubernetes.image_pull_secrets,
        priority_class=of_site(job, site).priority_class or kubernetes.priority_class or "",
        service_links=False if known.has_field("enableServiceLinks", kubernetes.version) else None,
    )


def _mounts_shm(mounted: volumes.Volumes) -> bool:
    """Whether the job brings a /dev/shm of its own."""
    return any(in_container(mount.mount_path) == volumes.SHM_TARGET for mount in mounted[1])


def _host_env(common: Common) -> tuple[EnvVar, ...]:
    return tuple(
        each for each in environment.for_the_host(common.environment) if each.name != _DEVICE_PLUGINS
    )


def _unfit(job: Job, site: str, kubernetes: KubernetesSite, hints: SiteHints, sshd: bool) -> list[Problem]:
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
