"""The launch in Kubernetes' words: an MPIJob, or for one node a batch/v1 Job of one pod."""

from msgspec import structs

from hpclaunch.plan import hints as site_hints
from hpclaunch.plan import wrapper
from hpclaunch.plan.findings import Findings
from hpclaunch.plan.kubernetes import mpijob, names, nodes, pods, unsuitable, volumes
from hpclaunch.spec.job import Job
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import Common
from hpclaunch.values.pods import KubernetesTarget, Pod
from hpclaunch.values.words import Option

# Pods have a network of their own, so PyTorch's usual port is free in each.
PORT = 29500


def target(
    job: Job, site: Site, machine: NodeType, group: int, common: Common
) -> tuple[KubernetesTarget, list[str]]:
    """The target, and warnings, for a job that is not unsuitable; `group` is the index of its nodes among
    the site's node_types. Raises InputError for what this cluster cannot do."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    served = _served(job, site) if common.nodes > 1 else None
    mpi = mpijob.mpi_job(job, kubernetes, common, served) if served else None
    found = Findings()
    given = _given(job, site, machine, site.node_types[group], common, served, found)
    found.end_if_refused()
    policy = mpijob.run_policy(job, site, common, mpi, found)
    name = _name(job, common, found)
    worker, launcher = _pods(job, site, common, name, given, served, found)
    # Where one rank is all there is, the pod's own process is it.
    started = served is not None or common.ranks_per_node > 1
    stays = bool(common.steps) or common.trials is not None
    launch, serve = mpijob.settings(job, kubernetes, served) if started else ((), ())
    found.warnings += unsuitable.warnings(job, site)
    found.warnings += pods.unset_on_pods(common)
    found.warnings += site_hints.unheeded(job, site)
    made = KubernetesTarget(
        name=name,
        namespace=site_hints.of_site(job, site).namespace or kubernetes.namespace,
        labels=pods.of_object(kubernetes, job, site, name),
        annotations=(*kubernetes.annotations.items(), *mpijob.queue_annotation(site, mpi)),
        run_policy=policy,
        mpi_job=mpi,
        launcher=launcher,
        worker=worker,
        starter=mpijob.starter(job, kubernetes, common, served is not None) if started else (),
        launch=launch or ((mpijob.WITHOUT_MPI,) if stays else ()),
        serve=serve,
        wrapper=_wrapper(job, site, common, machine, started),
        variables_secret=pods.secret_name(common, kubernetes, name),
        context=kubernetes.context or "",
        stays=stays,
        alone=_alone(job, kubernetes, common) if any(step.per != "rank" for step in common.steps) else (),
    )
    return made, found.warnings


def _served(job: Job, site: Site) -> mpijob.Served:
    """Which MPIJob a job of several nodes is. Raises InputError for what its operator cannot do."""
    problems = mpijob.problems(job, site)
    if problems:
        raise InputError(problems)
    return mpijob.served(site)


def _given(
    job: Job,
    site: Site,
    machine: NodeType,
    group: NodeGroup,
    common: Common,
    served: mpijob.Served | None,
    found: Findings,
) -> pods.Given:
    """What each worker is given, of nodes of this group, and all of it that this cluster cannot give."""
    assert site.kubernetes is not None
    assert common.container is not None
    needs = nodes.resources(job, site, group, machine, common, found)
    taken = mpijob.mounted(site.kubernetes, served) if served else {}
    mounted = volumes.of_job(job, site, common.container.mounts, taken, found)
    staging = None
    if common.stage_in:
        from hpclaunch.plan.kubernetes import staging as staged  # most jobs need not pay for it

        staging, mounted = staged.of_job(site, common.stage_in, mounted, needs.owned, found)
        found.warnings += staged.warnings(site, served)
    rights = pods.rights(job, site, served is not None and served.ssh, needs.rdma, found)
    choice = nodes.choice(job, site, group, machine, found)
    return pods.Given(needs, mounted, staging, rights, choice)


def _name(job: Job, common: Common, found: Findings) -> str:
    """What the job is called in the cluster."""
    name = names.of_job(job.name, common.nodes if common.nodes > 1 else None)
    if name != job.name:
        found.warnings.append(f"{job.name!r} cannot be a name in Kubernetes: there the job is called {name}")
    return name


def _pods(
    job: Job,
    site: Site,
    common: Common,
    name: str,
    given: pods.Given,
    served: mpijob.Served | None,
    found: Findings,
) -> tuple[Pod, Pod | None]:
    """The workers, and the launcher that starts their ranks; one pod alone needs none."""
    kubernetes = site.kubernetes
    assert kubernetes is not None
    worker = pods.worker(job, site, common, name, given)
    variables = pods.secrets(common, kubernetes, pods.secret_name(common, kubernetes, name))
    if served is None:
        return pods.alone(worker, kubernetes, common, variables), None
    if served.ssh:
        worker = pods.with_sshd(worker, kubernetes)
        found.warnings += _without_sshd(worker.image, kubernetes.sshd.kit)
    launcher = pods.launcher(job, site, common, worker, name, variables, served.ssh)
    limit = mpijob.launcher_deadline(site, common, served)
    return worker, structs.replace(launcher, active_deadline_s=limit)


def _wrapper(job: Job, site: Site, common: Common, machine: NodeType, started: bool) -> tuple[Option, ...]:
    """The settings of the rank wrapper. The kubelet may have given a pod fewer cores than the plan names, and
    the runtime's seccomp profile may forbid numactl what it does."""
    assert site.kubernetes is not None
    mpi = job.container.mpi or site.kubernetes.mpi
    by = mpijob.RANKS_FROM[mpi] if started else "local"
    found = wrapper.settings(job, common, [machine], by, binds=True)
    if not started:
        found += [Option("rank=0"), Option("ranks=1")]
    if common.rendezvous == "torch":
        found.append(Option(f"port={PORT}"))
    if any(option.text.startswith(("cpus=", "membind=", "preferred=", "part=")) for option in found):
        found.append(Option("besteffort=1", "what the pod's own cores do not allow is a warning"))
    return tuple(found)


def _alone(job: Job, kubernetes: KubernetesSite, common: Common) -> tuple[Option, ...]:
    """Of the wrapper of a step that is alone on its node, and no rank: it has no cores, memory and HCAs of
    its own, and no rendezvous."""
    if common.nodes > 1:
        return (Option(f"from={mpijob.RANKS_FROM[job.container.mpi or kubernetes.mpi]}"),)
    return Option("from=local"), Option("rank=0"), Option("ranks=1")


def _without_sshd(image: str, kit: str | None) -> list[str]:
    """NVIDIA's images have Open MPI and no sshd; under Pyxis they need none."""
    if kit or not image.startswith("nvcr.io/"):
        return []
    return [
        f"most images of nvcr.io have no sshd, which the workers need ({image}): build one in, or let the "
        "site bring it (kubernetes.sshd.kit)"
    ]
