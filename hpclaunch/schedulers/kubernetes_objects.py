"""The little that is read of the API's objects. Field names are the API's own, in Python's spelling; what a
server leaves out or sends as null is empty here."""

from typing import Generic, TypeVar

from msgspec import Struct, field


class _Read(Struct, frozen=True, rename="camel"):
    pass


class Owner(_Read, frozen=True):
    """Whom an object goes with."""

    kind: str
    name: str
    uid: str


class Meta(_Read, frozen=True):
    """An object's name and life; the times are RFC 3339."""

    name: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[Owner] | None = None

    def label(self, name: str) -> str:
        """A label's value, "" where there is none."""
        return (self.labels or {}).get(name, "")


class Condition(_Read, frozen=True):
    """One of an object's conditions."""

    type: str
    status: str = "Unknown"
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class RunPolicy(_Read, frozen=True):
    """The part of an MPIJob that Kueue sets."""

    suspend: bool | None = None


class JobSpec(_Read, frozen=True):
    """The same of an MPIJob and of a batch Job."""

    suspend: bool | None = None
    run_policy: RunPolicy | None = None


class JobState(_Read, frozen=True):
    """What a controller says of a job."""

    conditions: list[Condition] | None = None
    start_time: str | None = None
    completion_time: str | None = None


class JobObject(_Read, frozen=True):
    """An MPIJob, or a batch Job."""

    metadata: Meta
    kind: str = ""
    spec: JobSpec = JobSpec()
    status: JobState | None = None

    def condition(self, *types: str) -> Condition | None:
        """The condition of one of these types that holds."""
        found = (self.status.conditions or ()) if self.status else ()
        return next((one for one in found if one.type in types and one.status == "True"), None)

    @property
    def suspended(self) -> bool:
        """True while Kueue, or somebody else, holds it."""
        return bool(self.spec.suspend or (self.spec.run_policy and self.spec.run_policy.suspend))


class Waiting(_Read, frozen=True):
    """Why a container does not run yet."""

    reason: str | None = None
    message: str | None = None


class Running(_Read, frozen=True):
    """Since when a container runs."""

    started_at: str | None = None


class Terminated(_Read, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    signal: int | None = None
    reason: str | None = None
    message: str | None = None
    started_at: str | None = None
    finished_at: str | None = None


class ContainerState(_Read, frozen=True):
    """One of the three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(_Read, frozen=True):
    """A container as the kubelet sees it."""

    name: str = ""
    image: str = ""
    state: ContainerState | None = None
    last_state: ContainerState | None = None


class Container(_Read, frozen=True):
    """A container as it was asked for."""

    name: str = ""
    image: str = ""


class PodSpec(_Read, frozen=True):
    """Where a pod is, and what runs in it."""

    node_name: str | None = None
    containers: list[Container] | None = None


class PodState(_Read, frozen=True):
    """How a pod is."""

    phase: str = ""
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class Pod(_Read, frozen=True):
    """A pod."""

    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodState = PodState()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def container(self) -> str:
        """The job's own container: the first, others were added by the cluster."""
        return self.spec.containers[0].name if self.spec.containers else ""

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type, whether it holds or not."""
        return next((one for one in self.status.conditions or () if one.type == kind), None)

    @property
    def main(self) -> ContainerState:
        """How the job's own container is."""
        for one in self.status.container_statuses or ():
            if one.name == self.container:
                return one.state or ContainerState()
        return ContainerState()

    @property
    def runs(self) -> bool:
        """True while the job's own container runs."""
        return self.main.running is not None


class Involved(_Read, frozen=True):
    """What an event is about."""

    kind: str = ""
    name: str = ""
    uid: str = ""


class Event(_Read, frozen=True):
    """Something that happened to an object, kept for an hour or so."""

    involved_object: Involved = Involved()
    reason: str | None = None
    message: str | None = None
    type: str | None = None
    metadata: Meta = Meta()
    last_timestamp: str | None = None
    event_time: str | None = None

    @property
    def moment(self) -> str:
        """When it last happened."""
        return self.last_timestamp or self.event_time or self.metadata.creation_timestamp or ""


class SecretObject(_Read, frozen=True):
    """A Secret without what is in it."""

    metadata: Meta


T = TypeVar("T", bound=Struct)


class ListMeta(Struct, frozen=True):
    """`more` is where the next part of a list begins, if any."""

    more: str | None = field(default=None, name="continue")


class Listing(Struct, Generic[T], frozen=True):
    """A part of a list."""

    items: list[T]
    metadata: ListMeta = ListMeta()


class Cause(Struct, frozen=True):
    """One thing that is wrong with an object that was sent."""

    message: str = ""
    field: str = ""


class Details(Struct, frozen=True):
    """What a refusal is about."""

    kind: str = ""
    name: str = ""
    causes: list[Cause] | None = None


class ApiStatus(Struct, frozen=True):
    """The API's own form of a refusal."""

    message: str | None = None
    reason: str | None = None
    details: Details | None = None


class GroupVersion(_Read, frozen=True):
    """One version of a group of kinds."""

    version: str = ""


class Group(Struct, frozen=True):
    """A group of kinds, and the versions of it that are served."""

    name: str = ""
    versions: list[GroupVersion] | None = None


class Groups(Struct, frozen=True):
    """All groups that the server has."""

    groups: list[Group] | None = None


class Version(_Read, frozen=True):
    """The server's release."""

    git_version: str = ""
