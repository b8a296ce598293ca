"""Pods: the fields of the API that a reading needs, typed, and those that it may pass over (`Any`): they say
where and when pods run, or serve people and controllers, and no rank is another for them.

A field that is missing here is reported by its path (`typed.typed`), not lost. Names and types are those of
k8s.io/api core/v1.
"""

from typing import Any, Literal

from msgspec import Struct, field

Amounts = dict[str, str | int | float]
Restart = Literal["Always", "OnFailure", "Never", "ExitCode", ""]


class Model(Struct, frozen=True, rename="camel"):
    """The API writes names in camel case."""


class Meta(Model, frozen=True):
    """An object's or a pod's metadata."""

    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    generate_name: str = ""


class KeyRef(Model, frozen=True):
    """A key of a Secret or a config map."""

    key: str
    name: str = ""
    optional: bool = False


class FieldRef(Model, frozen=True):
    """A field of the pod itself."""

    field_path: str


class EnvSource(Model, frozen=True):
    """Where a variable's value is."""

    secret_key_ref: KeyRef | None = None
    config_map_key_ref: KeyRef | None = None
    field_ref: FieldRef | None = None


class EnvEntry(Model, frozen=True):
    """One variable of a container."""

    name: str
    value: str = ""
    value_from: EnvSource | None = None


class Mount(Model, frozen=True):
    """Where a container sees a volume."""

    name: str
    mount_path: str
    sub_path: str = ""
    read_only: bool = False


class Capabilities(Model, frozen=True):
    """Beyond the runtime's, and less than those."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class Security(Model, frozen=True):
    """A container's rights."""

    privileged: bool = False
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    allow_privilege_escalation: bool | None = None
    read_only_root_filesystem: bool = False
    capabilities: Capabilities = Capabilities()
    seccomp_profile: Any = None


class PodSecurity(Model, frozen=True):
    """A pod's rights, which its containers' come before."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    fs_group: int | None = None
    fs_group_change_policy: Any = None
    supplemental_groups: tuple[int, ...] = ()
    seccomp_profile: Any = None


class Resources(Model, frozen=True):
    """Amounts that a container may have, and those that the scheduler looks for (unset: the same)."""

    limits: Amounts = field(default_factory=dict)
    requests: Amounts = field(default_factory=dict)


class Container(Model, frozen=True):
    """A container of a pod."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[EnvEntry, ...] = ()
    resources: Resources = Resources()
    security_context: Security = Security()
    volume_mounts: tuple[Mount, ...] = ()
    image_pull_policy: Any = None
    ports: Any = None
    readiness_probe: Any = None
    startup_probe: Any = None
    termination_message_path: Any = None
    termination_message_policy: Any = None


class Claim(Model, frozen=True):
    """A claim of the namespace."""

    claim_name: str
    read_only: bool = False


class HostPath(Model, frozen=True):
    """A path of the node."""

    path: str
    type: str = ""


class Nfs(Model, frozen=True):
    """A folder of an NFS server."""

    server: str
    path: str
    read_only: bool = False


class EmptyDir(Model, frozen=True):
    """A folder that lives as long as the pod."""

    medium: str = ""
    size_limit: str | int = ""


class ConfigMap(Model, frozen=True):
    """Files from a config map."""

    name: str = ""
    optional: bool = False
    default_mode: Any = None


class Volume(Model, frozen=True):
    """A volume of a pod: one of these is there, or a kind that is not known here."""

    name: str
    persistent_volume_claim: Claim | None = None
    host_path: HostPath | None = None
    nfs: Nfs | None = None
    empty_dir: EmptyDir | None = None
    config_map: ConfigMap | None = None


class Expression(Model, frozen=True):
    """A label with one of these values, or without."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class Selector(Model, frozen=True):
    """Which pods, by their labels."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[Expression, ...] = ()


class AffinityTerm(Model, frozen=True):
    """Pods that are looked at, and what they may share or not: a node, by its host name."""

    topology_key: str
    label_selector: Selector = Selector()


class PodAntiAffinity(Model, frozen=True):
    """Which pods may not be beside this one; the preferred part binds nobody."""

    required_during_scheduling_ignored_during_execution: tuple[AffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: Any = None


class Affinity(Model, frozen=True):
    """What a pod wants near."""

    pod_anti_affinity: PodAntiAffinity = PodAntiAffinity()
    node_affinity: Any = None
    pod_affinity: Any = None


class PodSpec(Model, frozen=True):
    """A pod."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    restart_policy: Restart = ""
    active_deadline_seconds: int | None = None
    affinity: Affinity = Affinity()
    security_context: PodSecurity = PodSecurity()
    host_network: bool = False
    host_ipc: bool = field(default=False, name="hostIPC")
    host_pid: bool = field(default=False, name="hostPID")
    automount_service_account_token: Any = None
    dns_policy: Any = None
    enable_service_links: Any = None
    image_pull_secrets: Any = None
    node_selector: Any = None
    priority_class_name: Any = None
    scheduler_name: Any = None
    service_account: Any = None
    service_account_name: Any = None
    termination_grace_period_seconds: Any = None
    tolerations: Any = None


class Template(Model, frozen=True):
    """What pods are made of."""

    spec: PodSpec
    metadata: Meta = Meta()
