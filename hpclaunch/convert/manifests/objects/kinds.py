"""MPIJob, Pod, Job and PyTorchJob -> a workload: which pods, how many, and how many ranks each.

Fields and defaults: MPIJob in kubeflow/mpi-operator, pkg/apis/kubeflow (v1alpha1 at 0.1.0, v1alpha2 and v1 at
0.2.3, v2beta1 at 0.8.0); PyTorchJob in kubeflow/training-operator, pkg/apis/kubeflow.org/v1/pytorch_types.go;
batch/v1 in k8s.io/api.
"""

from collections.abc import Callable

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.numbers.size import is_gpu
from hpclaunch.convert.manifests.objects.workload import COMMAND, INDEX, OF_TORCH, Count, Pod, Workload
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.manifests.text.repair import Object
from hpclaunch.values.conversion import Place

_VERSIONS = ("v1alpha1", "v1alpha2", "v1", "v2beta1")
# --gpus-per-node in the MPI operator's deploy/3-mpi-operator.yaml of v0.1; the program's own default is 1.
_GPUS_PER_NODE = 8
_MPI = {"OpenMPI": "openmpi", "Intel": "intel", "IntelMPI": "intel", "MPICH": "mpich"}


def is_workload(given: Object) -> bool:
    """Whether the object starts ranks."""
    return (given.version.partition("/")[0] if "/" in given.version else "", given.kind) in _READERS


def workload(given: Object, draft: Draft) -> Workload | None:
    """The workload of an object that starts ranks. None, and said, where it has no container."""
    group = given.version.partition("/")[0] if "/" in given.version else ""
    for key in ("apiVersion", "kind", "status"):
        field = given.root.get(key)
        if field is not None:
            field.take()
    return _READERS[group, given.kind](given, draft)


def _pod(template: Field | None, of: str, main: str, draft: Draft) -> Pod | None:
    spec = template.get("spec") if template is not None else None
    containers = spec.get("containers") if spec is not None else None
    if template is None or spec is None or containers is None:
        return None
    found = containers.items()
    if not found:
        return None
    with_gpus = [each for each in found if _has_gpus(each)]
    chosen = with_gpus[0] if len(with_gpus) == 1 else found[0]
    for each in found:
        name = each.get("name")
        if main and name is not None and name.peek() == main:
            chosen = each
    for each in found:
        if each is not chosen and each.path != chosen.path:
            _sidecar(each, draft)
    rivals = tuple(each for each in with_gpus if each.path != chosen.path)
    return Pod(template, spec, chosen, of, rivals if _has_gpus(chosen) else ())


def _has_gpus(container: Field) -> bool:
    """Whether it asks for a GPU: what stands beside it, such as a daemon of the network, has none."""
    amounts = [container.get("resources", key) for key in ("limits", "requests")]
    return any(
        is_gpu(name) and field.peek() != "0" for each in amounts if each for name, field in each.fields()
    )


_SIDECAR_SERVES = ("sshd", "ssh")


def _sidecar(container: Field, draft: Draft) -> None:
    name = container.get("name")
    label = name.text() if name is not None else "a second container"
    words = " ".join(
        word.text() for key in COMMAND if (field := container.get(key)) for word in field.items()
    )
    image = container.get("image")
    container.take()
    if any(word in f"{label} {words}" for word in _SIDECAR_SERVES):
        why = "the scheduler starts the ranks, and pods of hpclaunch serve ssh themselves"
        draft.say("replaced", [container.place], f"the container {label}", why=why)
        return
    draft.say(
        "left",
        [container.place],
        f"the container {label} ({image.text() if image is not None else 'no image'})",
        why="a job has one container on each node",
        todo="start what it does from the job's command or a setup step, or leave it to the site",
    )


def _missing(given: Object, draft: Draft, what: str) -> None:
    todo = "write the template with its container, and convert again"
    draft.refuse(f"the {given.kind} has no {what}", [given.root.at], given.name, todo=todo)


def _replicas(replica: Field, what: str) -> Count:
    field = replica.get("replicas")
    if field is None:
        # Operators that change the number while a job runs have a least and a most in place of it, and the
        # API has neither.
        bounds = [(key, each) for key, each in replica.fields() if key.lower().endswith("replicas")]
        if bounds:
            told = " and ".join(f"{what}.{key}: {each.peek()}" for key, each in bounds)
            return Count(None, tuple(each.at for _, each in bounds), told)
        return Count(1, (replica.at,), f"{what} without replicas: one")
    number = field.number()
    return Count(number, (field.at,), f"{what}.replicas{f': {field.peek()}' * (number is None)}")


def _mpijob(given: Object, draft: Draft) -> Workload | None:
    version = given.version.rpartition("/")[2]
    spec = given.root.get("spec")
    if spec is None:
        _missing(given, draft, "spec")
        return None
    if version not in _VERSIONS:
        version = "v2beta1" if spec.get("sshAuthMountPath") or spec.get("mpiImplementation") else "v1"
        said = f"it was read as {version}; known are {', '.join(_VERSIONS)}"
        draft.say("unread", [given.root.at], f"the version {given.version} of MPIJob", why=said)
    if spec.get("template") is not None and spec.get("mpiReplicaSpecs") is None:
        return _first_mpijob(given, spec, draft)
    launcher, worker = (spec.get("mpiReplicaSpecs", name) for name in ("Launcher", "Worker"))
    main = spec.get("mainContainer")
    name = main.text() if main is not None else ""
    starter = _pod(launcher.get("template") if launcher else None, "launcher", name, draft)
    ranks = _pod(worker.get("template") if worker else None, "workers", name, draft)
    if starter is None or launcher is None:
        _missing(given, draft, "launcher with a container")
        return None
    _one_launcher(launcher, draft)
    nodes = Count(0, (launcher.at,), "no workers")
    if worker is not None and ranks is not None:
        nodes = _replicas(worker, "Worker")
    as_worker = spec.get("runLauncherAsWorker")
    if as_worker is not None and as_worker.truth():
        more = nodes.value + 1 if nodes.value is not None else None
        nodes = Count(more, (*nodes.places, as_worker.at), f"{nodes.what} and runLauncherAsWorker")
    if ranks is None:
        if not nodes.value:
            _missing(given, draft, "Worker with a container: it starts no rank")
            return None
        ranks = starter
    slots = spec.get("slotsPerWorker")
    return Workload(
        root=given.root,
        kind=f"MPIJob {version}",
        starter=starter,
        ranks=ranks,
        nodes=nodes,
        slots=_slots(slots) if slots is not None else None,
        by_ssh=version == "v2beta1",
        mpi=_mpi(spec),
    )


def _mpi(spec: Field) -> str:
    field = spec.get("mpiImplementation") or spec.get("mpiDistribution")
    if field is None:
        return ""
    found = _MPI.get(field.text(), "")
    if not found:
        field.book.wrong(field, "an MPI that the operator does not know: OpenMPI, Intel, MPICH")
    return found


def _one_launcher(launcher: Field, draft: Draft) -> None:
    field = launcher.get("replicas")
    number = field.number() if field is not None else 1
    if field is not None and number == 1:
        draft.say(
            "replaced", [field.at], "Launcher.replicas: 1", why="hpclaunch starts the ranks of a job itself"
        )
    elif field is not None:
        draft.say("defect", [field.at], f"Launcher.replicas: {number}", why="a launcher is one pod")


def _first_mpijob(given: Object, spec: Field, draft: Draft) -> Workload | None:
    """v1alpha1: one template for all, and a number of GPUs, of processing units, or of replicas."""
    pod = _pod(spec.get("template"), "workers", "", draft)
    if pod is None:
        _missing(given, draft, "template with a container")
        return None
    kind = spec.get("processingResourceType")
    resource = kind.text() if kind is not None else "nvidia.com/gpu"
    is_gpu = resource in ("gpu", "nvidia.com/gpu")
    units = spec.get("gpus") or spec.get("processingUnits")
    each = spec.get("gpusPerNode") or spec.get("processingUnitsPerNode")
    slots = spec.get("slotsPerWorker")
    limit = pod.container.get("resources", "limits", "nvidia.com/gpu" if is_gpu else resource)
    of_pod: Count | None = None
    where: tuple[Place, ...]
    if units is not None:
        total = units.number()
        if each is not None:
            size, where, said = each.number(), (units.at, each.at), f"{units.path[-1]} and {each.path[-1]}"
        else:
            size, where, said = _GPUS_PER_NODE, (units.at,), str(units.path[-1])
            text = f"{said} without {said}PerNode"
            why = f"the operator's deployment file starts it with {_GPUS_PER_NODE}; without that it has 1"
            draft.say("assumed", where, text, became=f"{_GPUS_PER_NODE} on a node", why=why)
        nodes, of_pod = _spread(total, size, where, said)
    else:
        nodes = _replicas(spec, "spec")
    if of_pod is None and limit is not None:
        of_pod = Count(limit.number(), (limit.at,), str(limit.path[-1]))
    on_master = spec.get("launcherOnMaster")
    if on_master is not None:
        on_master.take()
        why = "where the launcher runs is the site's (kubernetes.launcher)"
        draft.say("replaced", [on_master.at], "launcherOnMaster", why=why)
    slot_count = _slots(slots) if slots is not None else of_pod
    # The template's command is the launcher's: workers only sleep.
    return Workload(
        root=given.root,
        kind="MPIJob v1alpha1",
        starter=pod,
        ranks=pod,
        nodes=nodes,
        slots=slot_count,
        gpus=of_pod if is_gpu and units is not None else None,
        mpi="openmpi",
    )


def _spread(
    total: int | None, size: int | None, places: tuple[Place, ...], what: str
) -> tuple[Count, Count | None]:
    """Units over nodes as the operator does it (allocateProcessingUnits): fewer than a node has are one
    worker's, more must be whole nodes."""
    if not total or not size:
        return Count(None, places, what), None
    if total < size:
        return Count(1, places, what), Count(total, places, what)
    nodes = total // size if total % size == 0 else None
    return Count(nodes, places, what), Count(size, places, what)


def _bare_pod(given: Object, draft: Draft) -> Workload | None:
    pod = _pod(given.root, "pod", "", draft)
    if pod is None:
        _missing(given, draft, "container")
        return None
    return Workload(given.root, "Pod", pod, pod, Count(1, (given.kind_place,), "kind: Pod is one pod"))


def _batch(given: Object, draft: Draft) -> Workload | None:
    pod = _pod(given.root.get("spec", "template"), "pod", "", draft)
    if pod is None:
        _missing(given, draft, "template with a container")
        return None
    found = {name: given.root.get("spec", name) for name in ("parallelism", "completions", "completionMode")}
    places = tuple(field.at for field in found.values() if field is not None) or (given.kind_place,)
    numbers = {name: found[name] for name in ("parallelism", "completions")}
    untold = [
        (name, field) for name, field in numbers.items() if field is not None and field.number() is None
    ]
    parallelism, completions = (field.number() if field is not None else None for field in numbers.values())
    mode = found["completionMode"]
    indexed = mode is not None and mode.text() == "Indexed"
    # Without parallelism there is one pod at a time (kubernetes, pkg/apis/batch/v1/defaults.go).
    at_once = 1 if parallelism is None else parallelism
    pods = completions if completions is not None else at_once
    if untold:
        said = " and ".join(f"{name}: {field.peek()}" for name, field in untold)
        nodes = Count(None, tuple(field.at for _, field in untold), said)
    elif pods == 1:
        nodes = Count(1, places, "a Job of one pod")
    elif indexed and at_once == pods:
        nodes = Count(pods, places, "pods of an Indexed Job")
    else:
        nodes = Count(None, places, f"{pods} pods, each by itself")
        why = "each pod is a launch of its own, and a job is one"
        todo = "submit the job as often, give it trials, or with nodes and ranks make it one launch"
        draft.say("left", places, "parallelism and completions", why=why, todo=todo)
    return Workload(
        given.root, "Job", pod, pod, nodes, told=(INDEX,) if indexed and (untold or pods != 1) else ()
    )


def _say_name(pod: Pod, role: str, draft: Draft) -> None:
    """The operator refuses a template without a container of that name (training-operator, pkg/webhooks/
    pytorch/pytorchjob_webhook.go)."""
    name = pod.container.get("name")
    if name is not None and str(name.peek()) != "pytorch":
        why = "the training operator takes no PyTorchJob without a container named pytorch in each template"
        draft.say("defect", [name.at], f"the container {name.text()} of the {role}", why=why)


def _pytorch(given: Object, draft: Draft) -> Workload | None:
    spec = given.root.get("spec")
    replicas = spec.get("pytorchReplicaSpecs") if spec is not None else None
    if spec is None or replicas is None:
        _missing(given, draft, "pytorchReplicaSpecs")
        return None
    found: list[tuple[Field, Pod, str]] = []
    for role in ("Master", "Worker"):
        replica = replicas.get(role)
        pod = _pod(replica.get("template") if replica else None, role, "pytorch", draft)
        if replica is not None and pod is not None:
            found.append((replica, pod, role))
            _say_name(pod, role, draft)
    if not found:
        _missing(given, draft, "Master or Worker with a container")
        return None
    counts = [_replicas(replica, role) for replica, _, role in found]
    total = (
        sum(each.value or 0 for each in counts) if all(each.value is not None for each in counts) else None
    )
    pods = [pod for _, pod, _ in found]
    ranks = pods[0]
    return Workload(
        root=given.root,
        kind="PyTorchJob",
        starter=ranks,
        ranks=ranks,
        nodes=Count(
            total or None,
            tuple(place for each in counts for place in each.places),
            " and ".join(each.what for each in counts),
        ),
        slots=_processes(spec, draft),
        torch=True,
        others=tuple(pods[1:]),
        sizes=tuple(counts),
        told=OF_TORCH,
    )


def _slots(field: Field) -> Count:
    """The ranks of a worker: of what is no number the text is said."""
    number = field.number()
    return Count(
        number, (field.at,), f"slotsPerWorker: {field.peek()}" if number is None else "slotsPerWorker"
    )


def _processes(spec: Field, draft: Draft) -> Count | None:
    """nprocPerNode, which is for torchrun; auto, gpu and cpu are no numbers."""
    elastic = spec.get("elasticPolicy")
    inner = elastic.get("nProcPerNode") if elastic is not None else None
    field = spec.get("nprocPerNode") or inner
    if elastic is not None:
        for name, each in elastic.fields():
            if name != "nProcPerNode":
                each.take()
        said = "a job has as many nodes from its begin to its end"
        todo = "where the program is to go on with fewer nodes, submit it again with another --set nodes="
        draft.say("left", [elastic.place], "elasticPolicy", why=said, todo=todo)
    if field is None:
        return None
    text = field.text()
    return Count(
        int(text) if text.isdecimal() and len(text) < 6 else None, (field.at,), f"nprocPerNode: {text}"
    )


_READERS: dict[tuple[str, str], Callable[[Object, Draft], Workload | None]] = {
    ("kubeflow.org", "MPIJob"): _mpijob,
    ("kubeflow.org", "PyTorchJob"): _pytorch,
    ("", "Pod"): _bare_pod,
    ("batch", "Job"): _batch,
}
