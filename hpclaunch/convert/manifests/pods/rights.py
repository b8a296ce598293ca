"""securityContext, host namespaces and other resources than GPUs."""

from hpclaunch.convert.cores import CORES_OF_PODS, MEMORY_OF_PODS
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.numbers.size import gpus_of, is_gpu, is_share, may_be_gpu
from hpclaunch.convert.manifests.objects.workload import Pod, Workload
from hpclaunch.convert.manifests.text.fields import Field

# Fields of a securityContext that hpclaunch decides itself, or that a job has no place for.
_SET = {
    "allowPrivilegeEscalation": "the site's profile says what pods may (kubernetes.profile)",
    "runAsNonRoot": "the site's profile says it (kubernetes.profile: rootless)",
    "seccompProfile": "the site's profile says it; memory is bound as far as that allows",
    "seLinuxOptions": "the cluster's own policy says it",
    "fsGroup": "the site's run_as gives the group (kubernetes.run_as)",
    "runAsGroup": "the site's run_as gives the group (kubernetes.run_as)",
    "fsGroupChangePolicy": "hpclaunch sets it with the group",
    "appArmorProfile": "the cluster's own policy says it",
    "readOnlyRootFilesystem": "a job's container is writable, unless it says container.writable: false",
    "procMount": "the runtime's own",
}
# Of device plugins: AWS's Neuron, Intel's Gaudi, Google's TPUs, Huawei's NPUs, and those of Cambricon,
# Enflame, Hygon, Kunlunxin and AMD's FPGAs.
_ACCELERATORS = (
    *("aws.amazon.com/neuron", "habana.ai/", "google.com/tpu", "cloud-tpus.google.com/", "huawei.com/"),
    *("cambricon.com/", "enflame.com/", "hygon.com/", "kunlunxin.com/", "xilinx.com/", "amd.com/xilinx"),
)
_LARGEST_USER = 2**31 - 1  # IsValidUserID of k8s.io/apimachinery, util/validation
_MISPLACED = ("runAsUser", "runAsGroup", "privileged", "capabilities")
_OWNED = {
    "cpu": CORES_OF_PODS,
    "memory": MEMORY_OF_PODS,
    "ephemeral-storage": "a job has what its node has",
}


def put(workload: Workload, draft: Draft) -> None:
    """The rights of the pods, and what they ask for beside GPUs."""
    for pod in (workload.ranks, *([workload.starter] if workload.is_apart else []), *workload.others):
        is_first = pod is workload.ranks
        own, of_all = pod.container.get("securityContext"), pod.spec.get("securityContext")
        _context(own, pod, is_first, draft)
        _outdone(own, of_all, draft)
        _context(of_all, pod, is_first, draft)
        _misplaced(pod, is_first, draft)
        _namespaces(pod, draft)
        _of_all_containers(pod, draft)
        _amounts(pod, workload.ranks, draft)


def _outdone(own: Field | None, of_all: Field | None, draft: Draft) -> None:
    """Of a user that the container and its pod say the container's counts."""
    user, other = (context.get("runAsUser") if context is not None else None for context in (own, of_all))
    if user is not None and other is not None:
        why = f"the container's own, {user.text()}, goes before it"
        draft.say("without effect", [other.at], f"runAsUser: {other.text()} of the pod", why=why)


def _context(context: Field | None, pod: Pod, is_first: bool, draft: Draft) -> None:
    for name, field in context.fields() if context is not None else ():
        if field.book.is_taken(field.path):
            continue
        _right(name, field, pod, is_first, draft)


def _right(name: str, field: Field, pod: Pod, is_first: bool, draft: Draft) -> None:
    if name == "privileged":
        _privileged(field, pod, is_first, draft)
    elif name == "runAsUser":
        number = field.number(most=_LARGEST_USER)
        if number is not None and is_first:
            draft.of_user("user", number, [field.at], "runAsUser")
        elif number is not None:
            draft.say(
                "replaced", [field.at], f"runAsUser of the {pod.of}", why="all pods of a job have one user"
            )
    elif name == "capabilities":
        _capabilities(field, draft)
    elif name == "sysctls":
        field.take()
        draft.say(
            "left", [field.place], name, why="nodes are set up by the site", todo="set them on the nodes"
        )
    elif name in _SET:
        field.take()
        draft.say("replaced", [field.place], name, why=_SET[name])
    elif name == "supplementalGroups":
        field.take()
        todo = "where folders need them, let the site's run_as have the group"
        draft.say("left", [field.place], name, why="a job's container has one group", todo=todo)


def _privileged(field: Field, pod: Pod, is_first: bool, draft: Draft) -> None:
    if not field.truth():
        draft.say("replaced", [field.at], "privileged: false", why="it is the default")
        return
    why = "every right on its node: on Kubernetes alone, and warned of"
    if is_first:
        draft.put(("container", "privileged"), True, [field.at], "privileged: true", why=why)
    draft.say(
        "defect",
        [field.at],
        f"a privileged container ({pod.of})",
        why="it may do to its node what root may; GPUs, HCAs and large memory need no such right",
        todo="take container.privileged out, and see whether the job runs without it",
    )


def _capabilities(field: Field, draft: Draft) -> None:
    for key in ("add", "drop"):
        group = field.get(key)
        for item in group.items() if group is not None else []:
            name = item.text().removeprefix("CAP_")
            if key == "add" and name == "IPC_LOCK":
                why = "hpclaunch asks for it where ranks have HCAs"
                draft.say("replaced", [item.at], "capability IPC_LOCK", why=why)
            elif key == "add":
                todo = "where the program needs it, container.privileged is the only way, on Kubernetes"
                draft.say(
                    "left",
                    [item.at],
                    f"capability {name}",
                    why="jobs have no capabilities of their own",
                    todo=todo,
                )
            else:
                draft.say(
                    "replaced",
                    [item.at],
                    f"capability {name} dropped",
                    why="the site's profile says what pods may",
                )


def _misplaced(pod: Pod, is_first: bool, draft: Draft) -> None:
    """Rights beside the container's securityContext, and a pod's restartPolicy in its container."""
    for name in _MISPLACED:
        field = pod.container.get(name)
        if field is not None:
            became = f"read as securityContext.{name}"
            why = "it stands in the container, where the API does not know it: it had no effect there"
            draft.say("repaired", [field.place], name, became=became, why=why)
            _right(name, field, pod, is_first, draft)


def _namespaces(pod: Pod, draft: Draft) -> None:
    for name, why, kind in (
        ("hostIPC", "hpclaunch gives every pod a /dev/shm in memory", "replaced"),
        ("hostNetwork", "pods have addresses of their own; HCAs come as resources (kubernetes.rdma)", "left"),
        ("hostPID", "ranks need no view of the node's processes", "left"),
    ):
        field = pod.spec.get(name)
        if field is not None and field.truth():
            todo = (
                ""
                if kind == "replaced"
                else "under Slurm ranks have the host's own; on Kubernetes see whether it is needed"
            )
            draft.say(kind, [field.at], f"{name}: true", why=why, todo=todo)  # type: ignore[arg-type]


def _of_all_containers(pod: Pod, draft: Draft) -> None:
    """What the containers of a pod have together: CPU, memory and huge pages alone (PodSpec.resources, since
    Kubernetes 1.32; the API server refuses others there)."""
    resources = pod.spec.get("resources")
    for group, amounts in resources.fields() if resources is not None else ():
        for name, field in amounts.fields():
            what = f"{group} {name} of the pod: {field.text()}"
            if is_gpu(name):
                field.take()  # how many there are is a question
            elif name in _OWNED:
                draft.say("replaced", [field.at], what, why=_OWNED[name])
            else:
                why = "no job asks for it"
                draft.say("left", [field.at], what, why=why)


def _asked(pod: Pod, first: Pod) -> bool:
    """Whether pods of a job have other GPUs than the first of them: how many its nodes have is a question."""
    own, of_first = (gpus_of(each.container.get("resources")) for each in (pod, first))
    return pod.of != "launcher" and own != of_first


def _amounts(pod: Pod, first: Pod, draft: Draft) -> None:
    """CPU and memory are the tool's; huge pages and HCAs are the site's."""
    is_first = pod is first
    pages: dict[str, str] = {}
    devices: dict[str, Field] = {}
    lines: list[Field] = []
    for group in ("limits", "requests"):
        amounts = pod.container.get("resources", group)
        for name, field in amounts.fields() if amounts is not None else ():
            if is_gpu(name) and (is_first or field.book.is_taken(field.path) or _asked(pod, first)):
                field.take()
                continue
            if is_first and may_be_gpu(name):
                field.take()  # whether it is GPUs is a question
                continue
            text = field.text()
            if not is_first:
                draft.say(
                    "replaced",
                    [field.at],
                    f"{name} of the {pod.of}",
                    why="the site says what it needs (kubernetes.launcher)"
                    if pod.of == "launcher"
                    else "all nodes of a job are alike, and have what the first of them has",
                )
            elif name in _OWNED:
                draft.say("replaced", [field.at], f"{group} {name}: {text}", why=_OWNED[name])
            elif name.startswith("hugepages-"):
                pages[name.removeprefix("hugepages-")] = text
                lines.append(field)
            elif "/" in name:
                devices.setdefault(name, field)
            else:
                draft.say("left", [field.at], f"{group} {name}", why="no job asks for it")
    if pages:
        draft.hint("kubernetes.hugepages", pages, [field.at for field in lines], "huge pages")
    for name in [name for name in devices if name.startswith(_ACCELERATORS)]:
        field = devices.pop(name)
        why = "accelerators that are no GPUs: hpclaunch counts GPUs alone (kubernetes.gpu_resource)"
        todo = "the ranks need them: this job cannot be sent as it is"
        draft.say("left", [field.at], f"{name}: {field.peek()}", why=why, todo=todo)
    for name in filter(is_share, list(devices)):
        field = devices.pop(name)
        why = "a part of what a GPU has: ranks of hpclaunch have GPUs as a whole, or slices of MIG (gpu_type)"
        draft.say("left", [field.at], f"{name}: {field.peek()}", why=why)
    for name in [name for name, field in devices.items() if field.number() == 0]:
        draft.say("without effect", [devices.pop(name).at], f"{name}: 0", why="the pod has none of it")
    if devices:
        _rdma(devices, draft)


def _rdma(devices: dict[str, Field], draft: Draft) -> None:
    """Which HCA is behind a resource the manifest does not tell: the site's file has it by HCA."""
    names = {f"HCA-OF-{_short(name).rpartition('/')[2]}": _short(name) for name in devices}
    draft.hint(
        "kubernetes.rdma",
        names,
        [field.at for field in devices.values()],
        f"{', '.join(devices)}: write the HCA, by its name or its PCI address, where HCA-OF-... stands",
    )
    for name, field in devices.items():
        number = field.number()
        if number is not None and number != 1:
            why = "a pod of hpclaunch has one of each resource in kubernetes.rdma"
            draft.say("left", [field.at], f"{name}: {number}", why=why)


def _short(name: str) -> str:
    return name.removeprefix("rdma/")
