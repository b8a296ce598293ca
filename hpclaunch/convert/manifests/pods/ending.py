"""How a launch ends: time limits, retries, what becomes of pods."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.workload import Workload
from hpclaunch.convert.manifests.pods import scheduling
from hpclaunch.convert.manifests.text.fields import Field

_NO_RETRY = "a job that fails is not started again by itself: it stays, with its logs, and is submitted again"
_REPLACED = {
    "backoffLimit": _NO_RETRY,
    "backoffLimitPerIndex": _NO_RETRY,
    "restartPolicy": _NO_RETRY,
    "podFailurePolicy": _NO_RETRY,
    "maxRestarts": _NO_RETRY,
    "mainContainer": "a pod of hpclaunch has one container",
    "sshAuthMountPath": "the operator's keys lie where the site's profile needs them",
    "launcherCreationPolicy": "hpclaunch has the launcher wait until all workers are there",
    "runLauncherAsWorker": "its ranks are on a node like the others",
    "mpiImplementation": "the job says which MPI its image has",
    "mpiDistribution": "the job says which MPI its image has",
    "managedBy": "the site's own",
    "podReplacementPolicy": _NO_RETRY,
    "manualSelector": "the Job's own",
    "minAvailable": "all nodes of a job start together (kubernetes.gang)",
    "minResources": "all nodes of a job start together (kubernetes.gang)",
}


def put(workload: Workload, draft: Draft) -> None:
    """Everything about the end, and `time` of the job."""
    spec = workload.root.get("spec")
    if spec is None:
        return
    policy = spec.get("runPolicy")
    templates = [pod.spec for pod in (workload.starter, workload.ranks, *workload.others)]
    # A run policy goes before the same field of the object, and the shortest of object and pod counts.
    outer = [holder for holder in (policy, spec) if holder is not None]
    limits = [field for holder in outer[:1] if (field := holder.get("activeDeadlineSeconds")) is not None]
    kueue = (workload.root.get("metadata", kind, key) for key, kind in scheduling.LONGEST_OF_KUEUE.items())
    limits += [field for field in kueue if field is not None]
    limits += [
        field
        for holder in (*outer[1:], *templates)
        if (field := holder.get("activeDeadlineSeconds")) is not None
        and field.path not in [each.path for each in limits]
    ]
    _time(limits, workload, draft)
    replicas = [pod.template for pod in (workload.starter, workload.ranks, *workload.others)]
    for holder in (*outer, *templates, *(_above(template, workload) for template in replicas)):
        _rules(holder, workload, draft)
        if holder not in templates:  # there the API has none of them, and that is said of what is left
            _of_object(holder, workload, draft)
    container = workload.ranks.container.get("restartPolicy")
    if container is not None:
        container.take()
        why = "it stands in the container, and is the pod's"
        draft.say("repaired", [container.place], "restartPolicy", became="read as the pod's", why=why)
        draft.say("replaced", [container.place], "restartPolicy", why=_NO_RETRY)


def _above(template: Field, workload: Workload) -> Field:
    """The replica spec that a template belongs to, the object itself where it is in none."""
    path = template.path[len(workload.root.path) : -1]
    found: Field | None = workload.root
    for key in path:
        found = found.get(str(key)) if found is not None else None
    return found or workload.root


def _time(limits: list[Field], workload: Workload, draft: Draft) -> None:
    seconds = [(number, field) for field in limits if (number := field.number())]
    for field in limits:
        if field.number() == 0:
            why = "a limit of no time at all: the API ends the job where it begins"
            draft.say("defect", [field.at], f"{field.path[-1]}: 0", why=why, todo="write `time`")
    # Somebody fills it in: there is a limit, and it is not told here.
    open_ones = [field for field in limits if field.is_to_fill_in()]
    if not seconds and open_ones:
        told = " and ".join(f"{field.path[-1]}: {field.text()}" for field in open_ones)
        question = f"the time limit: {told} does not tell it"
        draft.ask(("time",), question, [field.at for field in open_ones], told)
        return
    if not seconds:
        draft.say(
            "assumed",
            [workload.kind_place],
            "no line gives a time limit that a job can have" if limits else "no line gives a time limit",
            became="no limit on Kubernetes, and the partition's default under Slurm",
            why="pods ran until they ended by themselves",
            todo="write `time` in the job file",
        )
        return
    least = min(number for number, _ in seconds)
    places = [field.at for _, field in seconds]
    name = next(field.path[-1] for number, field in seconds if number == least)
    why = "whole minutes, rounded up" if least % 60 else ""
    minutes = -(-least // 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}:00"
    draft.put(("time",), text, places, f"{name}: {least}", why=why)


def _kept(workload: Workload, draft: Draft) -> str:
    """What pods hold that nobody deletes: those of an MPIJob wait for ever, any others where they have not
    ended by themselves (CleanPodPolicyNone in kubeflow/training-operator, controller.v1/common/job.go)."""
    gpus = draft.facts.get(("gpus_per_node",))
    held = "cores and memory" if gpus is not None and gpus.value == 0 else "GPUs"
    return f"{'workers' if workload.is_apart else 'pods that had not ended'} kept their {held}"


def _rules(holder: Field, workload: Workload, draft: Draft) -> None:
    for name, why in _REPLACED.items():
        field = holder.get(name)
        if field is not None and not _is_said(field, draft):
            field.take()
            if name == "runLauncherAsWorker" and not field.truth():
                why = "hpclaunch starts the ranks itself, on the workers' nodes alone"
            text = field.node.value if isinstance(field.node.value, str) else ""
            draft.say("replaced", [field.place], f"{name}: {text}" if text else name, why=why)


def _of_object(holder: Field, workload: Workload, draft: Draft) -> None:
    """Rules of an object with pods, which no pod has."""
    clean, ttl, suspend = (
        holder.get(key) for key in ("cleanPodPolicy", "ttlSecondsAfterFinished", "suspend")
    )
    if clean is not None and not _is_said(clean, draft):
        text = clean.text()
        if text in ("Running", "All"):
            draft.hint("kubernetes.clean_pods", text, [clean.at], "cleanPodPolicy")
        else:
            why = f"{_kept(workload, draft)} after the end, until somebody deleted them"
            draft.say("replaced", [clean.at], f"cleanPodPolicy: {text}", why=f"{why}; hpclaunch lets them go")
    if ttl is not None and not _is_said(ttl, draft):
        number = ttl.number()
        if number is not None:
            draft.hint("kubernetes.ttl", number, [ttl.at], "ttlSecondsAfterFinished")
    if suspend is not None and not _is_said(suspend, draft) and suspend.truth():
        if "queue" in draft.hints or any(key[-1] == "queue" for key in draft.facts):
            why = "Kueue holds what comes for a queue by itself, and lets it go when there is room"
            draft.say("replaced", [suspend.at], "suspend: true", why=why)
        else:
            why = "a job starts when it is submitted"
            draft.say("left", [suspend.at], "suspend: true", why=why, todo="submit it later")
    gang = holder.get("schedulingPolicy")
    if gang is not None:
        _gang(gang, draft)


def _gang(gang: Field, draft: Draft) -> None:
    queue, priority = gang.get("queue"), gang.get("priorityClass")
    if queue is not None and not _is_said(queue, draft):
        text = queue.text()
        gang_of_site = {"scheduler": "volcano", "queue": text}
        draft.hint("kubernetes.gang", gang_of_site, [queue.at], "schedulingPolicy.queue")
    if priority is not None and not _is_said(priority, draft):
        draft.of_user("priority_class", priority.text(), [priority.at], "schedulingPolicy.priorityClass")
    for name in ("minAvailable", "minResources", "scheduleTimeoutSeconds"):
        field = gang.get(name)
        if field is not None and not field.book.is_taken(field.path):
            field.take()
            draft.say(
                "replaced", [field.place], name, why="all nodes of a job start together (kubernetes.gang)"
            )


def _is_said(field: Field, draft: Draft) -> bool:
    """Whether a finding names its line and it was read: several holders may be one."""
    return field.book.is_taken(field.path) and any(
        field.at in each.places or field.place in each.places for each in draft.findings
    )
