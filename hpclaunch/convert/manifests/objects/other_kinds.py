"""Kinds of objects that start ranks by another controller: refused as a whole, with what could be told.

Where their pods are: TFJob, JAXJob, MXJob, XGBoostJob and PaddleJob in kubeflow/training-operator 1.9,
pkg/apis/kubeflow.org/v1; Job in volcano-sh/apis, pkg/apis/batch/v1alpha1; JobSet in kubernetes-sigs/jobset,
api/jobset/v1alpha2; TrainJob in kubeflow/trainer 2.0, pkg/apis/trainer/v1alpha1; RayJob in
ray-project/kuberay, apis/ray/v1; LeaderWorkerSet in kubernetes-sigs/lws, api/leaderworkerset/v1; MiniCluster
in flux-framework/flux-operator, api/v1alpha2.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.draft import WRITE_ONE, Draft, shown
from hpclaunch.convert.launch_facts import OF_OTHER_PODS
from hpclaunch.convert.manifests.numbers.size import is_gpu
from hpclaunch.convert.manifests.objects import claims, flux, ray, runtimes
from hpclaunch.convert.manifests.objects.workload import COMMAND, OF_TORCH, Pod
from hpclaunch.convert.manifests.pods import environment, storage
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.repair import Object
from hpclaunch.spec.tree import MappingNode
from hpclaunch.values.conversion import Place

_LONGEST = 90  # of what its pods run, where it is told
_EACH = "*"
# What a job has beside the numbers of its pods, for which no field of such an object is read.
_UNREAD = "mpi, time and bind"
_OF_RANKS = frozenset((*OF_TORCH, "NODE_RANK", "MASTER_HOST"))
_OF_KUBERNETES = frozenset(("apps", "batch", "policy", "autoscaling", "extensions"))
_MOST_FIELDS = 500
# How kinds that nobody told hpclaunch call the number of their pods.
_COUNTS = ("replicas", "numWorkers", "workerReplicas", "numNodes", "parallelism")
_TEMPLATE = ("template", "spec")
_HEAD = "the head, beside the nodes of the workers"
# What else an object of a group says of the launch.
_MORE = {"ray.io": ray.put, "flux-framework.org": flux.put}


class _Kind(Struct, frozen=True):
    """Whose object it is, where its parts are ("*": each of a list, or of an object), and in a part the
    numbers that make the number of its pods, and the pod or the one container. `heads` are pods beside those
    of the parts: what they are called, and where their spec is. `alone` is the number where no field has it,
    None where another object tells it."""

    title: str
    parts: tuple[str, ...]
    counts: tuple[tuple[str, ...], ...] = (("replicas",),)
    pod: tuple[str, ...] = _TEMPLATE
    heads: tuple[tuple[str, tuple[str, ...]], ...] = ()
    alone: int | None = 1


def _of_kubeflow(kind: str, key: str) -> _Kind:
    article = "an" if kind[0] in "MX" else "a"  # an em, an ex
    return _Kind(f"{article} {kind} of Kubeflow's training operator", ("spec", key, _EACH))


_TRAIN = _Kind("a TrainJob of Kubeflow's trainer", ("spec", "trainer"), (("numNodes",),), (), alone=None)
_KINDS: dict[tuple[str, str], _Kind] = {
    ("kubeflow.org", "TFJob"): _of_kubeflow("TFJob", "tfReplicaSpecs"),
    ("kubeflow.org", "JAXJob"): _of_kubeflow("JAXJob", "jaxReplicaSpecs"),
    ("kubeflow.org", "MXJob"): _of_kubeflow("MXJob", "mxReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _of_kubeflow("XGBoostJob", "xgbReplicaSpecs"),
    ("xgboostjob.kubeflow.org", "XGBoostJob"): _of_kubeflow("XGBoostJob", "xgbReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): _of_kubeflow("PaddleJob", "paddleReplicaSpecs"),
    ("kubeflow.org", "TrainJob"): _TRAIN,
    ("trainer.kubeflow.org", "TrainJob"): _TRAIN,
    ("batch", "CronJob"): _Kind(
        "a CronJob", ("spec", "jobTemplate", "spec"), (("parallelism",),), ("template", "spec")
    ),
    ("batch.volcano.sh", "Job"): _Kind("a Job of Volcano", ("spec", "tasks", _EACH)),
    ("jobset.x-k8s.io", "JobSet"): _Kind(
        "a JobSet",
        ("spec", "replicatedJobs", _EACH),
        (("replicas",), ("template", "spec", "parallelism")),
        (*_TEMPLATE, *_TEMPLATE),
    ),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _Kind(
        "a LeaderWorkerSet",
        ("spec",),
        (("replicas",), ("leaderWorkerTemplate", "size")),
        ("leaderWorkerTemplate", "workerTemplate", "spec"),
        (("the leader, one of the nodes", ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec")),),
    ),
    ("flux-framework.org", "MiniCluster"): _Kind("a MiniCluster of Flux", ("spec",), (("size",),), ()),
    ("ray.io", "RayJob"): _Kind(
        "a RayJob",
        ("spec", "rayClusterSpec", "workerGroupSpecs", _EACH),
        heads=((_HEAD, ("spec", "rayClusterSpec", "headGroupSpec", *_TEMPLATE)),),
    ),
    ("ray.io", "RayCluster"): _Kind(
        "a RayCluster",
        ("spec", "workerGroupSpecs", _EACH),
        heads=((_HEAD, ("spec", "headGroupSpec", *_TEMPLATE)),),
    ),
}


class _Part(Struct, frozen=True):
    """Pods that are alike: what they are called, how many, and the container that counts, with the pod's spec
    where it has one and its other containers. `written` is what the lines say of their number, and `image`
    that of a container that has none of its own."""

    name: str
    pods: int | None
    places: tuple[Place, ...]
    container: Field
    spec: Field | None = None
    beside: tuple[Field, ...] = ()
    written: str = ""
    image: Field | None = None

    @property
    def gpus(self) -> tuple[int | None, tuple[Place, ...]]:
        """Those of a pod, None where no line tells a number."""
        field = _gpus_of(self.container)
        if field is None or not field.peek().isdecimal():
            return None, ()
        return int(field.peek()), (field.at,)

    @property
    def targets(self) -> list[str]:
        """Where its mounts are."""
        mounts = self.container.get("volumeMounts")
        found = [each.get("mountPath") for each in (mounts.items() if mounts is not None else ())]
        return [each.peek() for each in found if each is not None]

    @property
    def names(self) -> list[str]:
        """Its variables."""
        entries = _variables(self.container)
        if entries is None or not entries.is_list:
            return [name for name, _ in entries.fields()] if entries is not None else []
        found = [each.get("name") for each in entries.items()]
        return [each.peek() for each in found if each is not None]


def _variables(container: Field) -> Field | None:
    """What sets them: `environment` in a MiniCluster."""
    return container.get("env") or container.get("environment")


def _gpus_of(container: Field) -> Field | None:
    """The line that asks for its GPUs."""
    for key in ("resources", "resourcesPerNode"):
        for below in ("limits", "requests"):
            amounts = container.get(key, below)
            for name, field in amounts.fields() if amounts is not None else ():
                if is_gpu(name):
                    return field
    return None


def is_other(given: Object) -> bool:
    """Whether the object starts ranks by a controller whose objects are not read."""
    group, kind = _key(given)
    if (group, kind) in _KINDS:
        return True
    if group == "apps":  # a server, but for one whose pods have GPUs
        return any(_gpus_of(part.container) is not None for part in _pods(given.root))
    if not group or group in _OF_KUBERNETES or group.endswith(".k8s.io"):
        return False
    return kind.endswith("Job") or any(True for _ in _pods(given.root))


def keeps_pods(given: Object) -> bool:
    """Whether it keeps pods running, such as a StatefulSet."""
    return _key(given)[0] == "apps"


def refuse(given: Object, others: Sequence[Object], draft: Draft) -> None:
    """Refuse it as a whole, and tell what could be told: name, and of its pods image, numbers, variables and
    mounts. `others` are the objects beside it."""
    kind = _KINDS.get(_key(given))
    if kind is None:
        found = list(_pods(given.root))
    else:
        found = [part for field in _below([given.root], kind.parts) for part in _part(field, kind)]
    found = _filled(found, given, others)
    name = given.root.get("metadata", "name")
    if name is not None:
        draft.put(("name",), name.text(), [name.at], "metadata.name")
    most = max((part.gpus[0] or 0 for part in found), default=0)
    alike = [part for part in found if (part.gpus[0] or 0) == most]
    if len(alike) == 1:
        _put(alike[0], others, draft)
    for part in found:
        if len(alike) != 1 or part is not alike[0]:
            _say(part, draft)
    for title, path in kind.heads if kind is not None else ():
        for part in _pods(spec) if (spec := given.root.get(*path)) is not None else ():
            _say(replace(part, name=title, pods=1), draft)
    more = _MORE.get(_key(given)[0])
    if more is not None:
        more(given, draft, WRITE_ONE)
    given.root.take()
    why, todo = "no line is read for them in an object of this kind", "see its fields, and its commands"
    unread = _UNREAD if ("ranks_per_node",) in draft.facts else f"ranks_per_node, {_UNREAD}"
    draft.say("question", [given.root.at], unread, why=why, todo=todo)
    reason = f"{_title(given)}: hpclaunch reads MPIJob, PyTorchJob, Job and Pod, and no object of this kind"
    draft.refuse(reason, [given.root.place], given.name, todo=WRITE_ONE)


def _filled(found: Sequence[_Part], given: Object, others: Sequence[Object]) -> list[_Part]:
    """The parts of a TrainJob, or of a runtime, with what only the runtime says: the number and the image."""
    is_alone = runtimes.is_runtime(given)
    runtime = given if is_alone else runtimes.named_by(given, others)
    pod = runtimes.of_ranks(runtime) if runtime is not None else None
    if runtime is None or pod is None:
        return list(found)
    nodes = runtime.root.get(*runtimes.NODES)
    filled: list[_Part] = []
    for part in found:
        if is_alone and part.container.path != pod[1].path:  # such as what brings the data near
            filled.append(part)
            continue
        if nodes is not None and part.pods is None and not part.written:
            number = nodes.peek()
            pods = int(number) if number.isdecimal() and len(number) < 7 else None
            part = replace(part, pods=pods, places=(nodes.at,), written=number)
        filled.append(replace(part, image=pod[1].get("image")))
    return filled


def beside(given: Object, draft: Draft) -> None:
    """Say that it is there, beside the object that the job is made of."""
    if runtimes.is_runtime(given):
        runtimes.beside(given, draft)
        return
    given.root.take()
    why = f"{_title(given)}: it is a launch of its own, and a job file is one job"
    todo = "convert it on its own, for what can be told of it; hpclaunch reads no object of this kind"
    draft.say("left", [given.root.place], f"{given.name} ({given.version})", why=why, todo=todo)


def pods_beside(others: Sequence[Object], image: str, draft: Draft) -> list[Object]:
    """Say the pods of objects that keep some running, such as a StatefulSet. Where they have the image of the
    job and are told of each other as ranks are, they are ranks too: the nodes of all are asked for. Returns
    the other objects."""
    left: list[Object] = []
    for each in others:
        found = list(_pods(each.root)) if keeps_pods(each) else []
        for part in found:
            own = part.container.get("image")
            _say(replace(part, name=each.name), draft, "apply it on its own, if the job needs it")
            if own is not None and own.text() == image and not _OF_RANKS.isdisjoint(part.names):
                what = f"the pods of {each.name}"
                question = f"how many nodes: {what} have the same image, and may be ranks of the same run"
                draft.ask(("nodes",), question, [*part.places, part.container.place], what)
        if found:
            each.root.take()
        else:
            left.append(each)
    return left


def _title(given: Object) -> str:
    kind = _KINDS.get(_key(given))
    return kind.title if kind is not None else f"{given.kind} of {given.version}"


def _pods(root: Field) -> Iterator[_Part]:
    """The pods of an object whose fields nobody told hpclaunch, wherever there is a list of containers: with
    the number that stands beside their template."""
    waiting: list[tuple[Field, Field | None, str]] = [(root, None, "")]
    seen = 0
    while waiting and seen < _MOST_FIELDS:
        field, count, name = waiting.pop(0)
        seen += 1
        if field.is_list:
            waiting += [(each, count, name) for each in field.items()]
            continue
        if not isinstance(field.node, MappingNode):
            continue
        count = next((each for name in _COUNTS if (each := field.get(name)) is not None), count)
        listed = field.get("containers")
        if listed is not None and listed.is_list and (containers := listed.items()):
            number = count.peek() if count is not None else ""
            pods = int(number) if number.isdecimal() and len(number) < 7 else None
            places = (count.at,) if count is not None else (field.at,)
            chosen, *more = _by_gpus(containers)
            yield _Part(name or "its pods", pods, places, chosen, field, tuple(more), number)
            continue
        for key, below in field.fields():
            is_part = key not in ("spec", "template", "metadata") and not key.isdigit()
            waiting.append((below, count, key if is_part else name))


def _by_gpus(containers: Sequence[Field]) -> list[Field]:
    """First the one that asks for GPUs, where one alone does."""
    with_gpus = [each for each in containers if _gpus_of(each) is not None]
    first = with_gpus[0] if len(with_gpus) == 1 else containers[0]
    return [first, *(each for each in containers if each is not first)]


def _key(given: Object) -> tuple[str, str]:
    group, slash, _ = given.version.partition("/")
    return group if slash else "", given.kind


def _below(fields: Sequence[Field], path: Sequence[str]) -> list[Field]:
    found = list(fields)
    for key in path:
        if key == _EACH:
            found = [
                each
                for field in found
                for each in (field.items() if field.is_list else [value for _, value in field.fields()])
            ]
        else:
            found = [below for field in found if (below := field.get(key)) is not None]
    return found


def _part(field: Field, kind: _Kind) -> list[_Part]:
    counts = [below for path in kind.counts if (below := field.get(*path)) is not None]
    numbers = [below.peek() for below in counts]
    pods: int | None = 1 if numbers else kind.alone
    for number in numbers:
        pods = pods * int(number) if pods is not None and number.isdecimal() and len(number) < 7 else None
    spec = field.get(*kind.pod)
    listed = spec.get("containers") if spec is not None else None
    containers = listed.items() if listed is not None and listed.is_list else [spec] if kind.pod == () else []
    ordered = _by_gpus([each for each in containers if each is not None]) if containers else []
    called = field.get("name") or field.get("groupName")
    label = called.peek() if called is not None else str(field.path[-1])
    places = tuple(below.at for below in counts) or (field.at,)
    written = " * ".join(numbers)
    return [
        _Part(label, pods, places, each, spec if listed is not None else None, tuple(ordered[1:]), written)
        for each in ordered[:1]
    ]


def _put(part: _Part, others: Sequence[Object], draft: Draft) -> None:
    image = part.container.get("image") or part.image
    if image is not None:
        draft.put(("image",), image.text(), [image.at], f"image of {part.name}")
    if part.pods:
        draft.put(("nodes",), part.pods, part.places, f"the pods of {part.name}")
    else:
        what = f"nodes: {part.written}" if part.written else "nodes"
        draft.say("question", part.places, what, why=f"no line tells how many: {part.name}", todo=WRITE_ONE)
    number, places = part.gpus
    asked = _gpus_of(part.container)
    if number:
        draft.put(("gpus_per_node",), number, places, f"GPUs of a pod of {part.name}")
    elif asked is not None and number is None:
        what = f"gpus_per_node: {shown(asked.peek(), 40)}"
        draft.say("question", [asked.at], what, why=f"no line tells how many: {part.name}", todo=WRITE_ONE)
    _environment(part, others, draft)
    if part.spec is not None:
        sources = storage.Sources(claims.Claims(others), {})
        storage.put_mounts(Pod(part.spec, part.spec, part.container, part.name), sources, draft)
    own = part.container.get("volumes")  # no container of a pod has them
    if own is not None:
        why = "what is mounted is not read in an object of this kind"
        draft.say("left", [own.place], f"volumes of {part.name}", why=why, todo=WRITE_ONE)
    for each in part.beside:
        named = each.get("name")
        what = f"the container {named.peek()} of {part.name}" if named is not None else "another container"
        draft.say("left", [each.place], what, why="a job has one container on each node", todo=WRITE_ONE)
    for key in COMMAND:
        field = part.container.get(key)
        if field is not None:
            what = f"{key} of {part.name}: {shown(field.plain(), _LONGEST)}"
            draft.say("left", [field.place], what, why="what its pods run", todo=WRITE_ONE)


def _environment(part: _Part, others: Sequence[Object], draft: Draft) -> None:
    """Its variables, which some kinds have as a list, as pods do, and others by their names."""
    entries = _variables(part.container)
    if entries is not None and not entries.is_list:
        pairs = entries.fields()
        found = {name: Variable(name, each.text(), each.at) for name, each in pairs if name.isidentifier()}
    else:
        found = environment.variables(part.container, claims.config(others), draft)
    environment.put(found, draft)


def _say(part: _Part, draft: Draft, todo: str = WRITE_ONE) -> None:
    image = part.container.get("image")
    pods = "pods, how many is not told," if part.pods is None else f"{part.pods} pod{'s' * (part.pods != 1)}"
    number, _ = part.gpus
    what = f"{part.name}: {pods} of {image.text() if image is not None else 'an image that no line tells'}"
    what += f", each with {number} GPUs" if number else ""
    what += f", with mounts at {', '.join(part.targets)}" if part.targets else ""
    what += f", with the variables {', '.join(part.names)}" if part.names else ""
    places = [*part.places, part.container.place]
    draft.say("left", places, what, why=OF_OTHER_PODS, todo=todo)
