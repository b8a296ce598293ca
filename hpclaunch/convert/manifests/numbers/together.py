"""torchrun in several containers of one pod, each told that it is one of --nnodes: all of them are on one
node, and what they count as nodes are no nodes of a job."""

from collections.abc import Sequence

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.numbers import mpi_size
from hpclaunch.convert.manifests.objects.workload import Count, Workload
from hpclaunch.convert.manifests.running.launch import Launch, lines_of, read
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.programs.layers import PER_GPU, Layer

# What a job has once: where two containers differ in it, neither has what the other's ranks need.
_ONCE = ("image", "env", "envFrom", "volumeMounts", "workingDir")
_OF_ONE = frozenset(("node_rank", "machine_rank"))


def in_one_pod(
    workload: Workload, launch: Launch, layer: Layer, counts: tuple[Count, Count], draft: Draft
) -> tuple[Count, Count]:
    """Nodes, and ranks on each, where `counts` are those that the first container tells. The ranks of the
    others are among the job's where they are started alike; else how many nodes there are is asked for."""
    option = layer.option("nnodes")
    twins = _twins(workload, layer)
    if option is None or not twins:
        return counts
    own = workload.ranks.container
    places = (*lines_of(launch, option.written), *(each.place for each, _ in twins))
    what = f"{option.written} in {len(twins) + 1} containers of one pod"
    per_node = counts[1].value
    alike = all(_is_alike(own, launch, each, its) for each, its in twins)
    if len(twins) + 1 != mpi_size.number(option) or not alike or not per_node or workload.ranks.rivals:
        return Count(None, places, f"{what}, which is on one node,"), counts[1]
    _say_started([each for each, _ in twins], draft)
    return workload.nodes, Count(per_node * (len(twins) + 1), (*counts[1].places, *places), what)


def start_one_each(workload: Workload, layer: Layer | None, draft: Draft) -> bool:
    """Whether the ranks of the pod are of several torchruns, each with one process."""
    twins = _twins(workload, layer) if layer is not None else []
    return bool(twins) and draft.number("ranks_per_node") == len(twins) + 1


def _twins(workload: Workload, layer: Layer) -> list[tuple[Field, Launch]]:
    """The containers beside the job's that start as many nodes as the layer is told of."""
    told = mpi_size.number(layer.option("nnodes"))
    containers = workload.ranks.spec.get("containers")
    if not told or told < 2 or workload.nodes.value != 1 or workload.torch or containers is None:
        return []
    others = [each for each in containers.items() if each.path != workload.ranks.container.path]
    return [(each, its) for each in others if _nodes(its := read(each, {})) == told]


def _nodes(launch: Launch) -> int | None:
    layer = launch.layer(*PER_GPU)
    return mpi_size.number(layer.option("nnodes")) if layer is not None else None


def _is_alike(own: Field, launch: Launch, other: Field, its: Launch) -> bool:
    """Whether two containers start the same, but for which of the nodes each is."""
    same = all(_plain(own, key) == _plain(other, key) for key in _ONCE)
    return same and launch.inner == its.inner and _options(launch) == _options(its)


def _plain(container: Field, key: str) -> object:
    field = container.get(key)
    return field.plain() if field is not None else None


def _options(launch: Launch) -> list[object]:
    layer = launch.layer(*PER_GPU)
    options = layer.options if layer is not None else ()
    return [(each.name, each.value) for each in options if each.name not in _OF_ONE]


def _say_started(containers: Sequence[Field], draft: Draft) -> None:
    """In place of what is said of any container beside the job's."""
    places = {(each.place,) for each in containers}
    draft.findings[:] = [each for each in draft.findings if each.kind != "left" or each.places not in places]
    for each in containers:
        name = each.get("name")
        label = name.peek() if name is not None else "a second container"
        why = "the job starts its ranks too, all of a node in one container"
        draft.say("replaced", [each.place], f"the container {label}", why=why)
