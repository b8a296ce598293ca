"""How many nodes, GPUs and ranks: pods, their limits, slots, and what mpirun or torchrun are told."""

import re
from collections.abc import Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.numbers import claimed, mpi_size, together
from hpclaunch.convert.manifests.objects.workload import Count, Pod, Workload
from hpclaunch.convert.manifests.pods import scheduling
from hpclaunch.convert.manifests.pods.environment import Variable
from hpclaunch.convert.manifests.running import per_gpu
from hpclaunch.convert.manifests.running.launch import Launch, lines_of
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.mapping.ranks import torch_variables
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import MPI, PER_GPU, Layer
from hpclaunch.convert.programs.torch import starts_per_node
from hpclaunch.readback.shell.values import known
from hpclaunch.spec.tree import MappingNode

_USUAL = "nvidia.com/gpu"
_FIRST = "alpha.kubernetes.io/nvidia-gpu"  # before device plugins; Kubernetes 1.11 took it away
_OF_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_AMOUNTS = ("limits", "requests")
_MOST_FIELDS = 500


def put(
    workload: Workload, launch: Launch, variables: dict[str, Variable], draft: Draft, options: Options
) -> None:
    """The sizes of the job, and that its workers may share nodes."""
    gpus = _gpus(workload, variables, draft)
    nodes, per_node = _ranks(workload, launch, gpus, variables, draft)
    if nodes.value:
        draft.put(("nodes",), nodes.value, nodes.places, nodes.what)
    else:
        question = f"how many nodes: {nodes.what} does not tell it"
        draft.ask(("nodes",), question, nodes.places, nodes.what)
    if per_node.value:
        draft.put(("ranks_per_node",), per_node.value, per_node.places, per_node.what)
    else:
        question = f"how many ranks on each node: {per_node.what} does not tell it"
        draft.ask(("ranks_per_node",), question, per_node.places, per_node.what)
    slots = workload.slots
    if slots is not None and per_node.value and not set(slots.places) & {*per_node.places, *gpus.places}:
        why = f"{per_node.what} says how many ranks there are"
        draft.say("without effect", slots.places, slots.what, why=why)
    _sharing(workload, nodes, gpus, draft, options)


def _gpus(workload: Workload, variables: dict[str, Variable], draft: Draft) -> Count:
    if workload.gpus is not None:
        found = workload.gpus
        kind = ""
    else:
        found, kind = _limits(workload, draft)
    if workload.is_apart:
        is_worker = workload.root.get("spec", "runLauncherAsWorker")
        if is_worker is None or not is_worker.truth():
            _of_launcher(workload.starter.container, draft)
        elif found.value is not None:
            _of_launcher_with_ranks(workload.starter.container, is_worker, found.value, draft)
    annotations = workload.ranks.template.get("metadata", "annotations")
    for name, field in annotations.fields() if annotations is not None and found.value == 0 else ():
        if name in _FRACTIONS:
            found = Count(None, (field.at,), f"the annotation {name}: {field.peek()}, a part of a GPU,")
    astray = None if found.value or found.value is None else _astray(workload.ranks)
    if astray is not None:
        what = f"{astray.path[-1]}: {astray.peek()} in {astray.name.removesuffix(f'.{astray.path[-1]}')}"
        question = f"how many GPUs on each node: {what}, and no limit of a container asks for any"
        draft.ask(("gpus_per_node",), question, [astray.at], what)
        return Count(None, (astray.at,), what)
    visible = variables.get("NVIDIA_VISIBLE_DEVICES")
    sees = visible is not None and (visible.text or "") not in ("", "none", "void")
    if found.value is None or (not found.value and sees):
        places = (*found.places, *((visible.place,) if visible is not None and sees else ()))
        said = "NVIDIA_VISIBLE_DEVICES shows GPUs that no limit asks for" if sees else found.what
        draft.ask(("gpus_per_node",), f"how many GPUs on each node: {said}", places, said)
        return Count(None, places, said)
    draft.put(("gpus_per_node",), found.value, found.places, found.what)
    if kind:
        draft.put(("gpu_type",), kind, found.places, found.what, why="a slice of a GPU (MIG)")
    return found


# Who makes GPUs names them by their kind too, nvidia.com/a100, gpu.intel.com/i915, and NICs beside them:
# the device plugins of NVIDIA, AMD and Intel, KubeVirt's and the SR-IOV and RDMA ones for the latter.
_OF_GPUS = ("nvidia.com", "amd.com", "gpu.intel.com")
_NICS = re.compile(r"rdma|hca|sriov|nic|roce|infiniband|mlnx|mellanox|hostdev|(?<![a-z])ib|vf|cx\d|bf\d|imex")


# Amounts of a GPU's memory and cores, beside or in place of GPUs: HAMi (nvidia.com/gpumem, gpucores), Volcano
# (volcano.sh/vgpu-memory, vgpu-cores), Alibaba's gpushare (aliyun.com/gpu-mem), Koordinator
# (koordinator.sh/gpu-core), Tencent's GPU manager (tencent.com/vcuda-core), Intel (gpu.intel.com/millicores).
_SHARES = re.compile(r"(?:v?gpu|vcuda)[-_.]?(?:mem(?:ory)?|cores?)(?:[-_.].*)?|millicores|memory\.max|tiles")
_WHOLE = ("gpu", "gpu.shared", "vgpu", "vgpu-number", "gpu-number", "gpu-count")
# Of the scheduler of NVIDIA Run:ai: docs.nvidia.com/run-ai, "GPU fractions".
_FRACTIONS = ("gpu-fraction", "gpu-memory")


def is_gpu(resource: str) -> bool:
    """Whether a resource is GPUs, or slices of them."""
    vendor, slash, last = resource.rpartition("/")
    if not slash or is_share(resource):
        return False
    is_named = vendor in _OF_GPUS and not _NICS.search(last.lower())
    return is_named or resource == _FIRST or last in _WHOLE or last.startswith("mig-")


def gpus_of(resources: Field | None) -> dict[str, object]:
    """The limits of GPUs."""
    limits = resources.get("limits") if resources is not None else None
    return {name: each.plain() for name, each in (limits.fields() if limits else ()) if is_gpu(name)}


def is_share(resource: str) -> bool:
    """Whether a resource is an amount of what one GPU has."""
    _, slash, last = resource.rpartition("/")
    return bool(slash) and _SHARES.fullmatch(last) is not None


def may_be_gpu(resource: str) -> bool:
    """Whether what fills the manifest in says what the resource is: ${DEVICE}."""
    return "$" in resource and not is_gpu(resource)


def _astray(pod: Pod) -> Field | None:
    """GPUs that a pod's spec asks for in a place that is no container's, or its container in one that is none
    of its limits: where the API has nothing of that name, or of another cluster's own."""
    waiting = [each for key, each in pod.spec.fields() if key not in _OF_CONTAINERS]
    own = pod.container.get("resources")
    if own is not None:
        waiting.append(own)
    read = [(*own.path, key) for key in _AMOUNTS] if own is not None else []
    for _ in range(_MOST_FIELDS):
        if not waiting:
            break
        field = waiting.pop()
        if field.path in read:
            continue
        if field.is_list:
            waiting += field.items()
        for key, below in field.fields() if isinstance(field.node, MappingNode) else ():
            asks = bool(field.path) and field.path[-1] in _AMOUNTS
            asks = asks or (own is not None and field.path[: len(own.path)] == own.path)
            if asks and is_gpu(key) and below.peek().isdecimal() and below.peek() != "0":
                return below
            waiting.append(below)
    return None


def _limits(workload: Workload, draft: Draft) -> tuple[Count, str]:
    container = workload.ranks.container
    resources = container.get("resources")
    limits, requests = (resources.get(key) if resources is not None else None for key in _AMOUNTS)
    asked = {name: field for name, field in (requests.fields() if requests else ()) if is_gpu(name)}
    several = [pair for pair in (limits.fields() if limits is not None else ()) if is_gpu(pair[0])]
    for name, field in several[1:]:
        why = f"a rank has GPUs of one kind, and {several[0][0]} is the first"
        todo = "where the job is for these write gpus_per_node and gpu_type for them"
        draft.say("left", [field.at], f"{name}: {field.peek()}", why=why, todo=todo)
    for name, field in several:
        twin = asked.pop(name, None)
        if twin is not None and twin.number() != field.number():
            why = "the API refuses requests for devices that are not their limits; the limit counts"
            draft.say("defect", [twin.at], twin.name, why=why)
        return _device(name, field, draft)
    for name, field in asked.items():
        why = "the API refuses a request for devices without the same limit"
        draft.say("defect", [field.at], field.name, why=why)
        return _device(name, field, draft)
    amounts = [pair for group in (limits, requests) if group is not None for pair in group.fields()]
    for name, field in amounts:
        if is_share(name) and field.peek() != "0":
            return Count(None, (field.at,), f"{name}: {field.peek()}, a part of a GPU, and no GPU,"), ""
        if may_be_gpu(name):
            return Count(None, (field.at,), f"the limit {name}: {field.peek()} that may be GPUs"), ""
    place = resources.place if resources is not None else container.at
    claims = resources.get("claims") if resources is not None else None
    if claims is not None and claims.items():
        # What a claim brings stands in its object, with the class of its devices:
        # kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation
        return claimed.gpus(workload.ranks, workload.claims, claims), ""
    return Count(0, (place,), "resources without a GPU"), ""


def _device(name: str, field: Field, draft: Draft) -> tuple[Count, str]:
    number = field.number()
    last = name.rpartition("/")[2]
    kind = last.removeprefix("mig-") if last.startswith("mig-") else ""
    if name == _FIRST:
        why = f"no Kubernetes after 1.10 knows it, the GPUs of its device plugin are {_USUAL}"
        draft.say("replaced", [field.at], name, became=_USUAL, why=why)
    elif name != _USUAL and not kind:
        draft.hint("kubernetes.gpu_resource", name, [field.at], name)
    return Count(number, (field.at,), f"{name}: {field.peek() if number is None else number}"), kind


def _of_launcher(container: Field, draft: Draft) -> None:
    limits = container.get("resources", "limits")
    for name, field in limits.fields() if limits is not None else ():
        if is_gpu(name) and field.number():
            why = "mpirun's own pod has no rank: the GPU stood idle, and was taken from others"
            draft.say("defect", [field.at], f"the launcher's {name}", why=why)


def _of_launcher_with_ranks(container: Field, is_worker: Field, of_worker: int, draft: Draft) -> None:
    """A launcher whose pod has ranks too is a node like the others, or is said not to be."""
    limits = container.get("resources", "limits")
    fields = [field for name, field in limits.fields() if is_gpu(name)] if limits is not None else []
    own = sum(field.number() or 0 for field in fields)
    if own == of_worker:
        for field in fields:
            draft.say(
                "replaced", [field.at], f"{own} GPUs of the launcher", why="its node is like the others"
            )
        return
    places = [field.at for field in fields] or [is_worker.at]
    why = f"its ranks had {own} GPUs, those of a worker {of_worker}: all nodes of a job are alike"
    todo = f"see whether a node with {of_worker} GPUs is what its ranks need"
    draft.say("left", places, "GPUs of the launcher", why=why, todo=todo)


def _ranks(
    workload: Workload, launch: Launch, gpus: Count, variables: Mapping[str, Variable], draft: Draft
) -> tuple[Count, Count]:
    """Nodes, and ranks on each."""
    torch, mpi = launch.layer(*PER_GPU), launch.layer(*MPI) or launch.hidden
    if torch is not None:
        if not workload.torch:  # the operator of PyTorchJobs sets them after those of the pod
            given = {name: (each.text,) for name, each in variables.items() if each.text}
            by_text = launch.shell.exported if launch.shell is not None else ()
            given |= {name: (text,) for name, text, _ in by_text if text}
            torch = torch_variables.with_variables(torch, given)
        nodes, per_node = _by_torch(workload, launch, torch, gpus, draft)
        variable = variables.get(per_node.what.partition("=")[0])
        if variable is not None:
            per_node = Count(per_node.value, (variable.place, *per_node.places), per_node.what)
        return together.in_one_pod(workload, launch, torch, (nodes, per_node), draft)
    if mpi is not None:
        return mpi_size.by_mpi(workload, launch, mpi, draft)
    if workload.is_apart and launch.hides_mpirun:
        return workload.nodes, Count(None, launch.places, f"an mpirun in {launch.where_wrapped}")
    if workload.is_apart:
        slots = workload.slots or Count(1, (workload.root.at,), "an MPIJob without slotsPerWorker has one")
        return workload.nodes, slots
    if workload.kind == "MPIJob v1alpha1" and workload.slots is not None:
        return workload.nodes, workload.slots
    places = launch.places or (workload.ranks.place,)
    if launch.wrapped:
        return workload.nodes, Count(None, places, f"{launch.wrapped} in {launch.where_wrapped}")
    if launch.is_buried:
        return workload.nodes, Count(None, places, "a launcher that depends on other commands")
    if workload.slots is not None and not launch.words and launch.shell is None:
        return workload.nodes, workload.slots  # nprocPerNode, for what the image starts
    if workload.slots is not None and workload.torch and launch.starts_a_script:
        what = f"{workload.slots.what}, for a torchrun that the command may start,"
        return workload.nodes, Count(None, (*workload.slots.places, *places), what)
    others = launch.starts_others
    if others and (gpus.value != 1 or "background" in others):
        why = "it may start more processes of the run itself, as in the pod: one rank on each node starts it"
        todo = "where hpclaunch is to start each of them write what they run as command, and ranks_per_node"
        draft.say("question", places, others, why=why, todo=todo)
        return workload.nodes, Count(1, places, f"one process in each pod, {others}")
    return workload.nodes, Count(1, places, "one process in each pod, as no launcher starts more")


def _by_torch(
    workload: Workload, launch: Launch, layer: Layer, gpus: Count, draft: Draft
) -> tuple[Count, Count]:
    nodes = workload.nodes
    option = layer.option("nnodes")
    told = mpi_size.number(option)
    if option is not None and told and nodes.value == 1 and told > 1 and not workload.torch:
        nodes = Count(
            told, lines_of(launch, option.written), f"{option.written}: this is the pod of one of them"
        )
    elif told and nodes.value and told < nodes.value and option is not None and _takes_the_first(layer):
        places = lines_of(launch, option.written)
        mpi_size.say_idle(told, nodes.value, places, f"{option.written} on {nodes.value} pods", draft)
        nodes = Count(told, (*nodes.places, *places), option.written)
    elif told and nodes.value and told != nodes.value and option is not None:
        why = f"the object has {nodes.value} pods: these count"
        draft.say("defect", lines_of(launch, option.written), option.written, why=why)
    option = starts_per_node(layer)
    if option is None:
        its = per_gpu.untold(launch, layer)
        if its is not None:
            return nodes, its
        if workload.slots is not None:
            if workload.slots.value is None:
                return nodes, Count(
                    gpus.value or None, (*workload.slots.places, *gpus.places), workload.slots.what
                )
            return nodes, workload.slots
        if workload.torch:  # the operator's default is auto
            said = "torchrun without --nproc_per_node in a PyTorchJob: one for each GPU"
            said += "" if gpus.value else ", or for each core where there is none,"
            return nodes, Count(gpus.value or None, (*launch.places, *gpus.places), said)
        if layer.program in ("deepspeed", "accelerate"):
            said = f"{layer.program} without a number: one for each GPU"
            return nodes, Count(gpus.value or 1, (*launch.places, *gpus.places), said)
        return nodes, Count(1, launch.places, f"{layer.program} without --nproc_per_node: one")
    text = known(option.value or ())
    places = lines_of(launch, option.written)
    if text in ("gpu", "auto"):
        return nodes, Count(
            gpus.value or None, (*places, *gpus.places), f"{option.written}: one for each GPU"
        )
    number = mpi_size.number(option)
    if option.name == "num_processes" and number and nodes.value:
        number = number // nodes.value if number % nodes.value == 0 else None
    return nodes, Count(number, places, option.written)


def _takes_the_first(layer: Layer) -> bool:
    """Whether it starts ranks on other nodes itself, and for fewer takes the first of its hostfile
    (deepspeed/launcher/runner.py, --num_nodes)."""
    return layer.program == "deepspeed"


def _sharing(workload: Workload, nodes: Count, gpus: Count, draft: Draft, options: Options) -> None:
    """Pods go wherever there is room: without a rule against it several of them onto one node."""
    if (nodes.value or 0) < 2 or workload.gpus is not None:
        return  # of v1alpha1's GPUs each worker has all of a node
    apart = scheduling.keeps_apart(workload)
    if apart is not None:
        why = "a job's nodes are different machines, unless the site's hint says share_nodes"
        draft.say(
            "carried",
            [apart[0]],
            apart[1],
            became="each node is a machine of its own",
            why=why,
        )
        return
    size = len(options.node_type.gpus) if options.node_type is not None else None
    if size is not None and 2 * (gpus.value or 0) > size:
        return
    why = "nothing in the manifest keeps its pods on different machines; without it each node is one"
    draft.of_user(
        "share_nodes",
        True,
        [*nodes.places, *gpus.places],
        "no line keeps several workers from one machine",
        why,
        "assumed",
    )
