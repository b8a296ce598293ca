"""How many nodes and ranks an mpirun of a manifest starts: by its options, its hosts, and the pods' slots."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.objects.workload import Count, Workload
from hpclaunch.convert.manifests.running.launch import Launch, lines_of
from hpclaunch.convert.mapping.ranks.mpi import Told, nodes_of, slots_of, told_by
from hpclaunch.convert.mapping.ranks.slots import divided as divided_by
from hpclaunch.convert.programs.layers import Layer, Option
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Place


def of_mpirun(workload: Workload, launch: Launch, layer: Layer) -> tuple[int | None, int | None, int | None]:
    """The nodes of an mpirun, its ranks on each, and those of all: None where it is not told."""
    told = told_by(layer, number)
    nodes, per_node = by_mpi(workload, launch, layer, Draft())
    return nodes.value, per_node.value, told.total if told is not None else None


def by_mpi(workload: Workload, launch: Launch, layer: Layer, draft: Draft) -> tuple[Count, Count]:
    """The nodes, and the ranks on each, that mpirun is told, each with its lines."""
    nodes, slots = workload.nodes, workload.slots
    if layer.option("app") is not None:
        return nodes, Count(None, launch.places, f"{layer.called} with several programs")
    hosts = layer.option("hostfile") or layer.option("host")
    if hosts is not None and not workload.kind.startswith("MPIJob") and nodes_of(layer) != 1:
        places = lines_of(launch, hosts.written)
        of_its_own = Count(None, places, f"{hosts.written}, a list of hosts of its own,")
        why = "the ranks run in the pods of these hosts, and what stands here is of the one that starts them"
        todo = "see that image, gpus_per_node, mounts and env are those of the ranks' own pods"
        draft.say("question", places, "the pods of the ranks", why=why, todo=todo)
        return of_its_own, Count(None, places, of_its_own.what)
    told = told_by(layer, number)
    if hosts is not None and hosts.name == "host" and workload.is_apart:
        given = _of_hosts(layer, hosts, nodes, lines_of(launch, hosts.written))
        if told is None:
            return given
        nodes = given[0] if given[0].value else nodes
        slots = given[1] if given[1].value else slots
    if told is None:
        if slots is None and not workload.is_apart:
            return nodes, Count(None, launch.places, f"{layer.called} without -np")
        divided = divided_by(
            layer, [image.peek()] if (image := workload.starter.container.get("image")) else []
        )
        if divided is not None and workload.mpi not in ("intel", "mpich"):
            return nodes, Count(None, lines_of(launch, divided[0].written), divided[0].written)
        return nodes, slots or Count(1, (workload.root.at,), "an MPIJob without slotsPerWorker has one")
    option = told.option
    places = lines_of(launch, option.written)
    if not told.is_total:
        return _with_all(layer, told, nodes, Count(told.per_node, places, option.written), draft)
    if told.total is None or not nodes.value:
        return nodes, Count(None, places, option.written)
    return _over_nodes(told, nodes, slots, places, draft)


def _of_hosts(layer: Layer, option: Option, pods: Count, places: tuple[Place, ...]) -> tuple[Count, Count]:
    """The nodes and slots of --host a:4,b:4 among the pods. How many slots a name without a number has
    depends on the release of mpirun, and on the list of hosts that the operator gives it."""
    hosts, slots = nodes_of(layer), slots_of(layer)
    is_here = "localhost" in (known(option.value or ()) or "localhost")
    count = hosts if hosts and not is_here and hosts <= (pods.value or hosts) else None
    what = f"{option.written} among {pods.value} pods" if pods.value else option.written
    return Count(count, (*pods.places, *places), what), Count(slots, places, option.written)


def _with_all(layer: Layer, told: Told, nodes: Count, per_node: Count, draft: Draft) -> tuple[Count, Count]:
    """-np beside the ranks on a node: so many nodes have them, and the other pods none."""
    both = layer.option("np")
    total = number(both)
    if both is None or not total or not nodes.value or not told.per_node:
        return nodes, per_node
    if total == nodes.value * told.per_node:
        return nodes, per_node
    written = f"{both.written} {told.option.written} on {nodes.value} pods"
    used = total // told.per_node
    if total % told.per_node or used > nodes.value:
        return nodes, Count(None, per_node.places, f"{written}: not the same number on each,")
    say_idle(used, nodes.value, per_node.places, written, draft)
    return Count(used, (*nodes.places, *per_node.places), written), per_node


def say_idle(used: int, pods: int, places: Sequence[Place], written: str, draft: Draft) -> None:
    """Say that pods, or their GPUs, have no rank: `used` of `pods` have some."""
    why = f"the slots of a pod are filled before those of the next: ranks were on {used} of {pods} pods"
    idle = "the GPUs of the others" if draft.number("gpus_per_node") else "the others"
    draft.say("defect", places, written, why=f"{why}, and {idle} stood idle")


def _over_nodes(
    told: Told, nodes: Count, slots: Count | None, places: Sequence[Place], draft: Draft
) -> tuple[Count, Count]:
    """-np over the pods: mpirun fills the slots of one before it goes to the next."""
    assert nodes.value
    assert told.total is not None
    total, cyclic = told.total, told.policy == "node"
    both = (*places, *(slots.places if slots is not None else ()))
    per_pod = slots.value if slots is not None else None
    written = f"{told.option.written} on {nodes.value} pods"
    if total % nodes.value == 0 and (cyclic or per_pod is None or total >= nodes.value * per_pod):
        return nodes, Count(total // nodes.value, both, written)
    if per_pod and total < nodes.value * per_pod and (total % per_pod == 0 or total < per_pod):
        used = max(1, total // per_pod)
        say_idle(used, nodes.value, both, written, draft)
        return Count(used, (*nodes.places, *both), written), Count(min(total, per_pod), both, written)
    return nodes, Count(None, both, f"{written}: not the same number on each,")


def number(option: Option | None) -> int | None:
    """The number that is the value of an option, None for 0 and for any other value."""
    text = known(option.value or ()) if option is not None else None
    return int(text) if text and text.isascii() and text.isdigit() and 0 < int(text[:9]) < 10**6 else None
