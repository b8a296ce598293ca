"""Objects that start ranks, each down to what a reading needs of it: which pods, how many, how they end."""

from typing import Any

import msgspec
from msgspec import Struct

from hpclaunch.readback.kubernetes import jobmodels
from hpclaunch.readback.kubernetes.document import Document
from hpclaunch.readback.kubernetes.podmodels import Meta, Template
from hpclaunch.values.launch import Unbridged

MODELS: dict[tuple[str, str], type[Any]] = {
    ("kubeflow.org/v2beta1", "MPIJob"): jobmodels.MpiJobV2Beta1,
    ("kubeflow.org/v1", "MPIJob"): jobmodels.MpiJobV1,
    ("kubeflow.org/v1alpha2", "MPIJob"): jobmodels.MpiJobV1Alpha2,
    ("batch/v1", "Job"): jobmodels.BatchJob,
    ("v1", "Pod"): jobmodels.BarePod,
}
HOSTFILE = "/etc/mpi/hostfile"  # the operator's list of workers
_KUEUE = "kueue.x-k8s.io/queue-name"
_WITHOUT_END = -1
_DEFAULT_RETRIES = 6  # of a batch/v1 Job, which the launcher of v2beta1 and v1alpha2 is too


class Parts(Struct, frozen=True):
    """What is left of an object once its kind does not count: the pod that starts the ranks, the pods that
    they run in, how many, and how they end. `by_exec`: ranks start by kubectl exec, with the variables of
    their own pod; `waits`: the operator starts the launcher when the workers are ready; `keys` is where it
    puts the key of ssh."""

    name: str
    starter: Template
    ranks: Template
    nodes: int
    slots: int
    main: str
    mpi: str
    retries: int
    seconds: int | None
    unbridged: tuple[Unbridged, ...] = ()
    many: bool = False
    by_exec: bool = False
    waits: bool = False
    keys: str = ""
    where: tuple[tuple[str, str], ...] = ()


def parts_of(found: Any, document: Document) -> Parts:
    """The parts of a model. Raises InputError for an MPIJob without workers."""
    if isinstance(found, jobmodels.BarePod):
        never = found.spec.restart_policy == "Never"
        template = Template(found.spec, found.metadata)
        retries = 0 if never else _WITHOUT_END
        return Parts(
            found.metadata.name, template, template, 1, 1, "", "", retries, found.spec.active_deadline_seconds
        )
    if isinstance(found, jobmodels.BatchJob):
        return _of_batch(found)
    return _of_mpi_job(found, document)


def _of_batch(found: jobmodels.BatchJob) -> Parts:
    spec = found.spec
    template = spec.template
    unbridged: tuple[Unbridged, ...] = ()
    if (spec.completions or spec.parallelism) != 1 or spec.parallelism != 1:
        why = "each pod is a launch of its own; ranks of several pods need an MPIJob"
        unbridged = (Unbridged(f"{spec.completions or spec.parallelism} pods", why),)
    return Parts(
        name=found.metadata.name,
        starter=template,
        ranks=template,
        nodes=1,
        slots=1,
        main="",
        mpi="",
        retries=_retries(spec.backoff_limit, template.spec.restart_policy),
        seconds=_least(spec.active_deadline_seconds, template.spec.active_deadline_seconds),
        unbridged=(*unbridged, *_suspended(spec.suspend)),
        where=_where(found.metadata),
    )


def _of_mpi_job(found: Any, document: Document) -> Parts:
    spec = found.spec
    launcher, worker = spec.mpi_replica_specs.launcher, spec.mpi_replica_specs.worker
    policy: jobmodels.RunPolicy = spec.run_policy
    limit, seconds = policy.backoff_limit, policy.active_deadline_seconds
    default = _DEFAULT_RETRIES
    restart = launcher.restart_policy or "OnFailure"
    mpi = "openmpi"
    if isinstance(spec, jobmodels.V2Beta1):
        mpi = spec.mpi_implementation.lower()
    elif isinstance(spec, jobmodels.V1Alpha2):
        limit = spec.backoff_limit if limit is None else limit
        seconds = spec.active_deadline_seconds if seconds is None else seconds
        mpi = spec.mpi_distribution.lower().removesuffix("mpi") if spec.mpi_distribution != "OpenMPI" else mpi
    else:
        # v1 makes the launcher a pod of its own, which only its restart policy starts again.
        default, restart = 0, launcher.restart_policy or "Never"
    as_worker = isinstance(spec, jobmodels.V2Beta1) and spec.run_launcher_as_worker
    if launcher.replicas not in (None, 1):
        raise document.refuse(("spec", "mpiReplicaSpecs", "Launcher", "replicas"), "a launcher is one pod")
    nodes = (worker.replicas or 0 if worker else 0) + as_worker
    if nodes < 1 or spec.slots_per_worker < 1:
        raise document.refuse(("spec", "mpiReplicaSpecs"), "an MPIJob without a worker starts no rank")
    return Parts(
        name=found.metadata.name,
        starter=launcher.template,
        ranks=worker.template if worker else launcher.template,
        nodes=nodes,
        slots=spec.slots_per_worker,
        main=getattr(spec, "main_container", ""),
        mpi=mpi,
        retries=_retries(default if limit is None else limit, restart),
        seconds=_least(seconds, launcher.template.spec.active_deadline_seconds),
        unbridged=(*_suspended(policy.suspend), *_restarting(worker)),
        many=True,
        by_exec=not isinstance(spec, jobmodels.V2Beta1),
        waits=isinstance(spec, jobmodels.V2Beta1) and spec.launcher_creation_policy == "WaitForWorkersReady",
        keys=spec.ssh_auth_mount_path if isinstance(spec, jobmodels.V2Beta1) else "",
        where=_where(found.metadata, policy.scheduling_policy),
    )


def _retries(limit: int, restart: str) -> int:
    """With OnFailure the kubelet starts the container again before the Job counts it as failed."""
    return max(limit, 1) if restart == "OnFailure" else limit


def _where(meta: Meta, gang: Any = None) -> tuple[tuple[str, str], ...]:
    """What of an object chooses where and when its pods run, and which claims and Secrets are meant."""
    choices = {
        "namespace": meta.namespace,
        "queue": meta.labels.get(_KUEUE, ""),
        "schedulingPolicy": msgspec.json.encode(gang).decode() if gang else "",
    }
    return tuple((name, each) for name, each in choices.items() if each)


def _least(*seconds: int | None) -> int | None:
    given = [each for each in seconds if each is not None]
    return min(given) if given else None


def _restarting(worker: jobmodels.Replica | None) -> tuple[Unbridged, ...]:
    if worker is None or worker.restart_policy in ("", "Never", "ExitCode"):
        return ()
    return (
        Unbridged(f"workers with restartPolicy {worker.restart_policy}", "they start again by themselves"),
    )


def _suspended(suspend: Any) -> tuple[Unbridged, ...]:
    return (Unbridged("suspend", "it waits until somebody resumes it"),) if suspend is True else ()
