"""Kinds of objects that start ranks by another controller: refused as a whole, with what could be told.

Where their pods are: TFJob, JAXJob, MXJob, XGBoostJob and PaddleJob in kubeflow/training-operator 1.9,
pkg/apis/kubeflow.org/v1; Job in volcano-sh/apis, pkg/apis/batch/v1alpha1; JobSet in kubernetes-sigs/jobset,
api/jobset/v1alpha2; TrainJob in kubeflow/trainer 2.0, pkg/apis/trainer/v1alpha1; RayJob in
ray-project/kuberay, apis/ray/v1; LeaderWorkerSet in kubernetes-sigs/lws, api/leaderworkerset/v1; MiniCluster
in flux-framework/flux-operator, api/v1alpha2.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.fields import Field
from hpclaunch.convert.manifests.repair import Object
from hpclaunch.convert.manifests.size import is_gpu
from hpclaunch.spec.tree import MappingNode
from hpclaunch.values.conversion import Place

_TODO = "write a job file with what is told here: `hpclaunch schema job` has its keys, examples/ has some"
_EACH = "*"
_OF_KUBERNETES = frozenset(("apps", "batch", "policy", "autoscaling", "extensions"))
_MOST_FIELDS = 500
_TEMPLATE = ("template", "spec")


class _Kind(Struct, frozen=True):
    """Whose object it is, where its parts are ("*": each of a list, or of an object), and in a part the
    numbers that make the number of its pods, and the pod or the one container."""

    title: str
    parts: tuple[str, ...]
    counts: tuple[tuple[str, ...], ...] = (("replicas",),)
    pod: tuple[str, ...] = _TEMPLATE


def _of_kubeflow(kind: str, key: str) -> _Kind:
    article = "an" if kind[0] in "MX" else "a"  # an em, an ex
    return _Kind(f"{article} {kind} of Kubeflow's training operator", ("spec", key, _EACH))


_TRAIN = _Kind("a TrainJob of Kubeflow's trainer", ("spec", "trainer"), (("numNodes",),), ())
_KINDS: dict[tuple[str, str], _Kind] = {
    ("kubeflow.org", "TFJob"): _of_kubeflow("TFJob", "tfReplicaSpecs"),
    ("kubeflow.org", "JAXJob"): _of_kubeflow("JAXJob", "jaxReplicaSpecs"),
    ("kubeflow.org", "MXJob"): _of_kubeflow("MXJob", "mxReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _of_kubeflow("XGBoostJob", "xgbReplicaSpecs"),
    ("xgboostjob.kubeflow.org", "XGBoostJob"): _of_kubeflow("XGBoostJob", "xgbReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): _of_kubeflow("PaddleJob", "paddleReplicaSpecs"),
    ("kubeflow.org", "TrainJob"): _TRAIN,
    ("trainer.kubeflow.org", "TrainJob"): _TRAIN,
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
    ),
    ("flux-framework.org", "MiniCluster"): _Kind("a MiniCluster of Flux", ("spec",), (("size",),), ()),
    ("ray.io", "RayJob"): _Kind("a RayJob", ("spec", "rayClusterSpec", "workerGroupSpecs", _EACH)),
    ("ray.io", "RayCluster"): _Kind("a RayCluster", ("spec", "workerGroupSpecs", _EACH)),
}


class _Part(Struct, frozen=True):
    """Pods that are alike: what they are called, how many, and their first container."""

    name: str
    pods: int | None
    places: tuple[Place, ...]
    container: Field

    @property
    def gpus(self) -> tuple[int | None, tuple[Place, ...]]:
        """Those of a pod, None where no line tells a number."""
        for key in ("resources", "resourcesPerNode"):
            for below in ("limits", "requests"):
                amounts = self.container.get(key, below)
                for name, field in amounts.fields() if amounts is not None else ():
                    if is_gpu(name) and field.peek().isdecimal():
                        return int(field.peek()), (field.at,)
        return None, ()


def is_other(given: Object) -> bool:
    """Whether the object starts ranks by a controller whose objects are not read."""
    group, kind = _key(given)
    if (group, kind) in _KINDS:
        return True
    if not group or group in _OF_KUBERNETES or group.endswith(".k8s.io"):
        return False
    return kind.endswith("Job") or any(True for _ in _pods(given.root))


def refuse(given: Object, draft: Draft) -> None:
    """Refuse it as a whole, and tell what could be told: name, image, and the numbers of its pods."""
    kind = _KINDS.get(_key(given))
    if kind is None:
        found = list(_pods(given.root))
    else:
        found = [part for field in _below([given.root], kind.parts) for part in _part(field, kind)]
    name = given.root.get("metadata", "name")
    if name is not None:
        draft.put(("name",), name.text(), [name.at], "metadata.name")
    most = max((part.gpus[0] or 0 for part in found), default=0)
    alike = [part for part in found if (part.gpus[0] or 0) == most]
    if len(alike) == 1:
        _put(alike[0], draft)
    for part in found:
        if len(alike) != 1 or part is not alike[0]:
            _say(part, draft)
    given.root.take()
    reason = f"{_title(given)}: hpclaunch reads MPIJob, PyTorchJob, Job and Pod, and no object of this kind"
    draft.refuse(reason, [given.root.place], given.name, todo=_TODO)


def beside(given: Object, draft: Draft) -> None:
    """Say that it is there, beside the object that the job is made of."""
    given.root.take()
    why = f"{_title(given)}: it is a launch of its own, and a job file is one job"
    todo = "convert it on its own, for what can be told of it; hpclaunch reads no object of this kind"
    draft.say("left", [given.root.place], f"{given.name} ({given.version})", why=why, todo=todo)


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
        count = field.get("replicas") or count
        listed = field.get("containers")
        if listed is not None and listed.is_list and (containers := listed.items()):
            number = count.peek() if count is not None else ""
            pods = int(number) if number.isdecimal() and len(number) < 7 else None
            places = (count.at,) if count is not None else (field.at,)
            yield _Part(name or "its pods", pods, places, containers[0])
            continue
        for key, below in field.fields():
            is_part = key not in ("spec", "template", "metadata") and not key.isdigit()
            waiting.append((below, count, key if is_part else name))


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
    pods: int | None = 1
    for number in numbers:
        pods = pods * int(number) if pods is not None and number.isdecimal() and len(number) < 7 else None
    spec = field.get(*kind.pod)
    listed = spec.get("containers") if spec is not None else None
    containers = listed.items() if listed is not None and listed.is_list else [spec] if kind.pod == () else []
    called = field.get("name") or field.get("groupName")
    label = called.peek() if called is not None else str(field.path[-1])
    places = tuple(below.at for below in counts) or (field.at,)
    return [_Part(label, pods, places, each) for each in containers[:1] if each is not None]


def _put(part: _Part, draft: Draft) -> None:
    image = part.container.get("image")
    if image is not None:
        draft.put(("image",), image.text(), [image.at], f"image of {part.name}")
    if part.pods:
        draft.put(("nodes",), part.pods, part.places, f"the pods of {part.name}")
    number, places = part.gpus
    if number:
        draft.put(("gpus_per_node",), number, places, f"GPUs of a pod of {part.name}")
    for key in ("command", "args"):
        field = part.container.get(key)
        if field is not None:
            draft.say("left", [field.place], f"{key} of {part.name}", why="what its pods run", todo=_TODO)


def _say(part: _Part, draft: Draft) -> None:
    image = part.container.get("image")
    pods = "pods, how many is not told," if part.pods is None else f"{part.pods} pod{'s' * (part.pods != 1)}"
    number, _ = part.gpus
    what = f"{part.name}: {pods} of {image.text() if image is not None else 'an image that no line tells'}"
    what += f", each with {number} GPUs" if number else ""
    places = [*part.places, part.container.place]
    draft.say("left", places, what, why="its pods are not read as ranks", todo=_TODO)
