"""Objects that have pods, as `podmodels` has these: MPIJob in kubeflow/mpi-operator 0.2.3 to 0.8.0 and
training-operator 1.8, a Job of k8s.io/api batch/v1, and a pod by itself.
"""

from typing import Any, Literal

from hpclaunch.readback.kubernetes.podmodels import Meta, Model, PodSpec, Restart, Template


class Replica(Model, frozen=True):
    """The launcher's pod, or the workers'."""

    template: Template
    replicas: int | None = None
    restart_policy: Restart = ""


class Replicas(Model, frozen=True, rename="pascal"):
    """Both kinds of pods."""

    launcher: Replica
    worker: Replica | None = None


class RunPolicy(Model, frozen=True):
    """How pods end."""

    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    clean_pod_policy: Any = None
    ttl_seconds_after_finished: Any = None
    scheduling_policy: Any = None
    suspend: Any = None
    managed_by: Any = None


class MpiSpec(Model, frozen=True):
    """What all versions of an MPIJob have."""

    mpi_replica_specs: Replicas
    slots_per_worker: int = 1
    run_policy: RunPolicy = RunPolicy()


class V2Beta1(MpiSpec, frozen=True):
    """v2beta1: ssh."""

    ssh_auth_mount_path: str = "/root/.ssh"
    mpi_implementation: Literal["OpenMPI", "Intel", "MPICH"] = "OpenMPI"
    run_launcher_as_worker: bool = False
    launcher_creation_policy: str = "AtStartup"


class V1(MpiSpec, frozen=True):
    """v1: kubectl exec. The training-operator's has a run policy without times of its own."""

    clean_pod_policy: Any = None
    main_container: str = ""


class V1Alpha2(MpiSpec, frozen=True):
    """v1alpha2: kubectl exec, and the run policy's fields also here; a run policy goes before them."""

    clean_pod_policy: Any = None
    main_container: str = ""
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    mpi_distribution: Literal["OpenMPI", "IntelMPI", "MPICH"] = "OpenMPI"


class BatchSpec(Model, frozen=True):
    """A batch/v1 Job."""

    template: Template
    parallelism: int = 1
    completions: int | None = None
    backoff_limit: int = 6
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: Any = None
    suspend: Any = None


class MpiJobV2Beta1(Model, frozen=True):
    """kubeflow.org/v2beta1."""

    spec: V2Beta1
    metadata: Meta = Meta()
    api_version: str = ""
    kind: str = ""
    status: Any = None


class MpiJobV1(Model, frozen=True):
    """kubeflow.org/v1."""

    spec: V1
    metadata: Meta = Meta()
    api_version: str = ""
    kind: str = ""
    status: Any = None


class MpiJobV1Alpha2(Model, frozen=True):
    """kubeflow.org/v1alpha2."""

    spec: V1Alpha2
    metadata: Meta = Meta()
    api_version: str = ""
    kind: str = ""
    status: Any = None


class BatchJob(Model, frozen=True):
    """batch/v1."""

    spec: BatchSpec
    metadata: Meta = Meta()
    api_version: str = ""
    kind: str = ""
    status: Any = None


class BarePod(Model, frozen=True):
    """v1, a pod by itself."""

    spec: PodSpec
    metadata: Meta = Meta()
    api_version: str = ""
    kind: str = ""
    status: Any = None
