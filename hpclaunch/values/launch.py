"""What a rendered text would launch, as `readback` finds it there. Two of them can be compared."""

from typing import Literal

from msgspec import Struct

from hpclaunch.values.longrun import Notify
from hpclaunch.values.steps import StageIn, Step, Trials


class SeenMount(Struct, frozen=True):
    """A mount. `kind` is what is behind it: a path of the host, a claim, an NFS export, a config map or an
    empty folder; `source` names that (SERVER:PATH for NFS, "" for an empty folder on disk,
    "memory" for one in memory), and `folder` a folder within it."""

    target: str
    kind: Literal["path", "claim", "nfs", "config map", "empty"]
    source: str
    folder: str = ""
    read_only: bool = False


class SeenSeat(Struct, frozen=True):
    """What one local rank is given. Empty `cpus` or `mems`: not bound; `hcas` are those that it uses, and
    `next_hcas` those in reserve, as NAME/PCI/PORT/LINK. `gpus` are positions among the job's on the node,
    where the text tells them."""

    local_rank: int
    cpus: tuple[int, ...] = ()
    mems: tuple[int, ...] = ()
    memory: Literal["", "membind", "preferred"] = ""
    hcas: tuple[str, ...] = ()
    next_hcas: tuple[str, ...] = ()
    gpus: tuple[int, ...] = ()


class SeenTable(Struct, frozen=True):
    """The seats of one kind of node; `hosts` "" is all. `hcas` are all compute HCAs of such a node, `part`
    the settings with which a part of a node finds its own cores (cores=, gpus=, part=), by name."""

    hosts: str
    seats: tuple[SeenSeat, ...]
    hcas: tuple[str, ...] = ()
    part: tuple[tuple[str, str], ...] = ()


class SeenVariable(Struct, frozen=True):
    """A variable of a rank. `source` is "text" for a value that stands in the text, else where it comes from
    when the job starts: the submitter's shell, a secret, a field of the pod, the scheduler, or commands of
    the script. The value is then where it lies, where the text says that: SECRET/KEY, the path of the field,
    the scheduler's variable."""

    name: str
    value: str = ""
    source: Literal["text", "submitter", "secret", "pod", "scheduler", "script"] = "text"


class SeenGroup(Struct, frozen=True):
    """A group of ranks: how many there are, and their command and variables, over those of all ranks."""

    name: str
    ranks: int
    environment: tuple[SeenVariable, ...]
    argv: tuple[str, ...]


class Unbridged(Struct, frozen=True):
    """Something in the text that the other scheduler has nothing for, and why."""

    what: str
    why: str


class Launch(Struct, frozen=True):
    """The launch of a text.

    `argv`, `cwd` ("": the image's own) and `environment` are those of each rank, after its wrapper;
    `before` are variables that hooks, launchers and daemons see outside it. `numbering` is how ranks go over
    nodes: "block" is 0 1 2 on the first, 3 4 5 on the next. `seconds` is the time limit, None for none said,
    0 for no limit. `image` is in Docker's form. `wrapper` says whether the text beside each rank is the one
    that this hpclaunch has for these settings. `settings` are the wrapper's others (from= left out).
    `apart`: each worker has a node to itself. `unread` is what the reader did not understand, `unbridged`
    what it understood and another scheduler lacks. `retries` -1 is without end. `resources` are the amounts
    that a pod may have, by the API's names and without the GPUs (and the size of its /dev/shm), `where` is
    what chooses its nodes, networks and queue, and `gpu_kind` is Slurm's type of GPU or a MIG profile, ""
    for any. `stage_in`, `steps` and `trials` are what the text does beside starting the ranks once; a side of
    `stage_in` that is no path of the node is its kind and name ("claim imagenet-pvc sets/1") as a volume.
    `tasks` are those of a job array ("0-99%4") whose tasks read variables and arguments of their own.
    With `groups` in one or separate worlds (`world` "" without them) `argv` is empty. Where these differ in
    ranks or nodes `parts` are launches of each, and sizes but for `nodes` are the first one's.
    """

    scheduler: Literal["slurm", "kubernetes"]
    name: str
    nodes: int
    ranks_per_node: int
    gpus_per_node: int
    whole_node: bool
    apart: bool
    numbering: str
    one_failure_ends_all: bool
    retries: int
    seconds: int | None
    image: str
    argv: tuple[str, ...]
    cwd: str
    environment: tuple[SeenVariable, ...]
    before: tuple[SeenVariable, ...]
    mounts: tuple[SeenMount, ...]
    tables: tuple[SeenTable, ...]
    settings: tuple[tuple[str, str], ...]
    wrapper: str
    rights: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    unbridged: tuple[Unbridged, ...] = ()
    resources: tuple[tuple[str, str], ...] = ()
    gpu_kind: str = ""
    where: tuple[tuple[str, str], ...] = ()
    stage_in: tuple[StageIn, ...] = ()
    steps: tuple[Step, ...] = ()
    trials: Trials | None = None
    tasks: str = ""
    groups: tuple[SeenGroup, ...] = ()
    world: Literal["", "one", "separate"] = ""
    notify: Notify | None = None
    parts: tuple["Launch", ...] = ()


class Difference(Struct, frozen=True):
    """Something that is not the same in two launches. `a` and `b` say what each has. A "difference" and what
    is "unbridged" (one scheduler has nothing for it) make two launches, "place" does not: every job meets it
    where the two places differ. `why` says what is behind it, "" where the two values tell."""

    what: str
    a: str
    b: str
    kind: Literal["difference", "unbridged", "place"] = "difference"
    why: str = ""
