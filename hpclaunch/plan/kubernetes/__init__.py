"""The launch in Kubernetes' words: an MPIJob, or for one node a batch/v1 Job of one pod."""

from msgspec import structs

from hpclaunch.plan import hints as site_hints
from hpclaunch.plan import wrapper
from hpclaunch.plan.kubernetes import mpijob, names, nodes, pods, unsuitable, volumes
from hpclaunch.spec.job import Job
from hpclaunch.spec.kubernetes import KubernetesSite
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.spec.site import Site
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import Common
from hpclaunch.values.pods import KubernetesTarget
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
    assert common.container is not None
    many = common.nodes > 1
    problems = mpijob.problems(job, site) if many else []
    if problems:
        raise InputError(problems)
    served = mpijob.served(site) if many else None
    mpi = mpijob.mpi_job(job, kubernetes, common, served) if served else None
    ssh = served is not None and served.ssh

    of_group = site.node_types[group]
    needs, warnings = nodes.resources(job, site, of_group, machine, common)
    taken = mpijob.mounted(kubernetes, served) if served else {}
    mounted, more = volumes.of_job(job, site, common.container.mounts, taken)
    problems += more
    staging = None
    if common.stage_in:
        from hpclaunch.plan.kubernetes import staging as staged  # most jobs need not pay for it

        staging, mounted, more = staged.of_job(site, common.stage_in, mounted, needs.owned)
        problems += more
        warnings += staged.warnings(site, served)
    rights, more, said = pods.rights(job, site, ssh, needs.rdma)
    problems += more
    warnings += said
    choice, more, said = nodes.choice(job, site, of_group, machine)
    problems += more
    warnings += said
    if problems:
        raise InputError(problems)
    policy, said = mpijob.run_policy(job, site, common, mpi)
    warnings += said

    name = names.of_job(job.name, common.nodes if many else None)
    if name != job.name:
        warnings.append(f"{job.name!r} cannot be a name in Kubernetes: there the job is called {name}")
    secret = pods.secret_name(common, kubernetes, name)
    variables = pods.secrets(common, kubernetes, secret)
    worker = pods.worker(job, site, common, name, needs, mounted, rights, choice)
    worker = structs.replace(worker, staging=staging)
    if ssh:
        worker = pods.with_sshd(worker, kubernetes)
        warnings += _without_sshd(common.container.image, kubernetes.sshd.kit)
    if not many:
        worker = pods.alone(worker, kubernetes, common, variables)
    launcher = pods.launcher(job, site, common, worker, name, variables, ssh) if many else None
    if launcher is not None and mpi is not None:
        limit = mpijob.launcher_deadline(site, common, mpi)
        launcher = structs.replace(launcher, active_deadline_s=limit)
    # Where one rank is all there is, the pod's own process is it.
    started = many or common.ranks_per_node > 1
    stays = bool(common.steps) or common.trials is not None
    launch, serve = mpijob.settings(job, kubernetes, served) if started else ((), ())
    return (
        KubernetesTarget(
            name=name,
            namespace=site_hints.of_site(job, site).namespace or kubernetes.namespace,
            labels=pods.of_object(kubernetes, job, site, name),
            annotations=(*kubernetes.annotations.items(), *mpijob.queue_annotation(site, mpi)),
            run_policy=policy,
            mpi_job=mpi,
            launcher=launcher,
            worker=worker,
            starter=mpijob.starter(job, kubernetes, common, many) if started else (),
            launch=launch or ((mpijob.WITHOUT_MPI,) if stays else ()),
            serve=serve,
            wrapper=_wrapper(job, site, common, machine, started),
            variables_secret=secret,
            context=kubernetes.context or "",
            stays=stays,
            alone=_alone(job, kubernetes, common) if any(step.per != "rank" for step in common.steps) else (),
        ),
        [
            *warnings,
            *unsuitable.warnings(job, site),
            *pods.unset_on_pods(common),
            *site_hints.unheeded(job, site),
        ],
    )


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
