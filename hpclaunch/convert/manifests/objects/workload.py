"""One launch, whatever kind of object it was written as."""

from msgspec import Struct

from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.values.conversion import Place

# kubeflow/training-operator, pkg/controller.v1/pytorch/envvar.go
OF_TORCH = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
# kubernetes.io/docs/concepts/workloads/controllers/job, "Completion mode"
INDEX = "JOB_COMPLETION_INDEX"

COMMAND = ("command", "args")  # keys of a container with the words that it runs


class Count(Struct, frozen=True):
    """A number, None where the lines do not tell it, and what they say."""

    value: int | None
    places: tuple[Place, ...]
    what: str


class Pod(Struct, frozen=True):
    """A pod's template (or the pod itself): `template` has metadata and spec, `container` is the one that
    counts. `of` says whose it is: the launcher's, the workers'. `rivals` are its other containers that ask
    for GPUs."""

    template: Field
    spec: Field
    container: Field
    of: str
    rivals: tuple[Field, ...] = ()

    @property
    def place(self) -> Place:
        return self.container.at


class Workload(Struct, frozen=True):
    """`starter` is the pod whose command starts everything, `ranks` the pod that ranks run in: the same but
    in an MPIJob. `nodes` are its pods with ranks, `slots` the ranks of a pod by the object's own fields.
    `by_ssh`: ranks get nothing of their pod's environment. `mpi` is the MPI that the object names. `torch`:
    the operator tells each pod of the others as torch wants it. `gpus` are those of a pod where the object
    says it and not the container. `others` are pods of the same launch that are compared with `ranks`,
    `sizes` how many pods there are of `ranks` and of each of `others`, where a job may have a group of each,
    `told` the variables that the controller adds to each, and `claims` the objects of resource claims."""

    root: Field
    kind: str
    starter: Pod
    ranks: Pod
    nodes: Count
    slots: Count | None = None
    gpus: Count | None = None
    by_ssh: bool = False
    mpi: str = ""
    torch: bool = False
    others: tuple[Pod, ...] = ()
    sizes: tuple[Count, ...] = ()
    told: tuple[str, ...] = ()
    claims: tuple[Field, ...] = ()

    @property
    def kind_place(self) -> Place:
        """The line of the object's kind."""
        return (self.root.get("kind") or self.root).at

    @property
    def is_apart(self) -> bool:
        """Whether a pod of its own starts the ranks."""
        return self.starter is not self.ranks
