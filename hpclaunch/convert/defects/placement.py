"""Ranks on CPUs that the machine has not, or away from their GPU; HCAs that it has not. Only where the user
names the node type: a label in the original tells nothing about the machine.

What binds is what `mapping/bind/evaluated.py` finds: in the launcher's commands as they are run, and in each
script of the ranks as the rank of each number runs it.

Source of what NVIDIA's bind.sh does: MLPerf training results v0.7 and v1.1, bind.sh of the resnet benchmark.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import basename

from msgspec import Struct
from msgspec.structs import replace

from hpclaunch.convert.defects.search import LARGEST
from hpclaunch.convert.draft import Draft, dotted, shown
from hpclaunch.convert.mapping.bind import binding, evaluated
from hpclaunch.convert.mapping.bind.evaluated import Binder
from hpclaunch.convert.mapping.slurm.numbers.settled import by_role
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.bind import OF_MLPERF
from hpclaunch.convert.programs.layers import Layer, Option, layers
from hpclaunch.convert.reading import Command, ShellReading, Source
from hpclaunch.readback.shell.values import known
from hpclaunch.readback.slurm import forms
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model
from hpclaunch.values import cpulist
from hpclaunch.values.conversion import Finding, Place
from hpclaunch.values.errors import InputError

_CLUSTERS = {
    "circe": ("mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_7", "mlx5_8", "mlx5_9", "mlx5_10"),
    "selene": ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_6", "mlx5_7", "mlx5_8", "mlx5_9"),
    "azure": tuple(f"mlx5_ib{number}" for number in range(8)),
}
_MOST_RANKS = 64
_MOST_TEXTS = 50  # for shells, that are read as each rank; of more, what they are for any

_LABEL = "DGXSYSTEM"  # of MLPerf's launchers: any text, of which no machine follows
_NODE_TYPE = "the node type of the machine that it ran on"
_NOT_LOOKED = (
    "no line tells which it is: whether ranks were bound to CPUs that it has, and to those beside their GPU, "
    "nobody looked"
)
_GIVE_TYPE = "convert again with --node-type NAME: `hpclaunch topo list` has those that are known"


def _machine(reading: ShellReading, job: Draft) -> Iterator[Finding]:
    """A question for the machine where a launcher has a label of one, or lists of its cores: which it is no
    label tells."""
    lists = [fact for key, fact in job.facts.items() if key[0] == "bind" and isinstance(fact.value, list)]
    label = reading.last(_LABEL)
    if job.refused or not (lists or label):
        return
    places = (*([label.place] if label else []), *(place for fact in lists for place in fact.places))
    yield Finding("question", tuple(dict.fromkeys(places)), _NODE_TYPE, why=_NOT_LOOKED, todo=_GIVE_TYPE)


class Binding(Struct, frozen=True):
    """CPUs (or the CPUs of NUMA nodes) by local rank, and where the original says so."""

    what: str
    place: Place
    cpus: Mapping[int, tuple[int, ...]] = {}
    mems: Mapping[int, tuple[int, ...]] = {}


def find(reading: ShellReading, options: Options, job: Draft) -> Iterator[Finding]:
    """What the node type contradicts. `job` tells how many ranks there are, as far as that is known."""
    machine = options.node_type
    if machine is None:
        yield from _machine(reading, job)
        return
    files = (*reading.sources, *reading.beside)
    nodes, per_node = job.number("nodes"), job.number("ranks_per_node")
    ranks = list(map(str, range(min(per_node or len(machine.gpus) or 1, _MOST_RANKS))))
    texts = 0
    for command in reading.starting:
        if texts < _MOST_TEXTS and evaluated.is_of_shell(layers(command.words)[-1]):
            texts += 1
            rows = [list(evaluated.in_command(command, rank)) for rank in ranks]
            yield from _of_ranks(machine, rows, per_node, files)
        else:
            for each in evaluated.in_command(command):
                yield from _of_binder(machine, each, files, per_node)
    given = [(each, _starter(reading, each.name)) for each in by_role(reading).get("rank script", ())]
    for source, starter in (*given, *_written(reading)):
        environment = evaluated.environment_of(starter or Command(Place(source.name), ()), nodes, per_node)
        if len(source.text) <= LARGEST and evaluated.may_bind(source, environment):
            rows = [evaluated.in_script(source, environment, rank) for rank in ranks]
            yield from _of_ranks(machine, rows, per_node, files)


def _starter(reading: ShellReading, path: str) -> Command | None:
    """The last command with the script's name among its words."""
    name = basename(path)
    starting = reversed(reading.starting)
    return next(
        (each for each in starting if any(basename(known(word) or "") == name for word in each.words)), None
    )


def _written(reading: ShellReading) -> Iterator[tuple[Source, Command]]:
    """Scripts that the launcher writes (cat > bind.sh <<EOF), on its own lines, and what starts them."""
    for each in reading.of("cat", "tee"):
        text, path = known(each.stdin or ()), known(each.writes[0].path) if each.writes else None
        starter = _starter(reading, path) if text and path else None
        if text and starter is not None:
            yield Source(each.place.file, "\n" * each.place.line + text), starter


def _of_binder(
    machine: NodeType, each: Binder, files: Sequence[Source], per_node: int | None
) -> Iterator[Finding]:
    """One whose ranks are not known: what it says of any of them."""
    if each.layer.program in OF_MLPERF:
        yield from _of_mlperf(machine, each, files, per_node)
    else:
        cpus, mems = _lists(each.layer)
        yield from _against(machine, Binding(each.said, each.place, {0: cpus}, {0: mems}))


def _of_ranks(
    machine: NodeType, rows: Sequence[Sequence[Binder]], per_node: int | None, files: Sequence[Source]
) -> Iterator[Finding]:
    """What a script does as each of its ranks. `per_node`: how many there are, as far as that is told."""
    settled = [[each for each in row if not each.conditions] or row for row in rows]
    lists = [[each for each in row if each.layer.program not in OF_MLPERF] for row in settled]
    for each in settled[0]:
        if each.layer.program in OF_MLPERF:
            yield from _of_mlperf(machine, each, files, per_node)
    if any(len(row) > 1 for row in lists):
        for each in lists[0]:
            if not each.conditions:
                yield from _of_binder(machine, each, files, per_node)
        return
    found = {rank: row[0] for rank, row in enumerate(lists) if row}
    if found and (per_node is not None or len({each.said for each in found.values()}) > 1):
        parts = {rank: _lists(each.layer) for rank, each in found.items()}
        first = next(iter(found.values()))
        yield from _against(
            machine,
            Binding(
                f"{first.layer.program} by local rank",
                first.place,
                {rank: cpus for rank, (cpus, _) in parts.items() if cpus},
                {rank: mems for rank, (_, mems) in parts.items() if mems},
            ),
        )
    elif found:
        yield from _of_binder(machine, found[min(found)], files, per_node)


def _lists(layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The CPUs and the NUMA nodes of memory that numactl or taskset names, as far as they are told."""
    if layer.program == "taskset":
        text = known(layer.words[0]) if layer.words else None
        if text is not None and layer.option("cpu-list") is None:
            try:
                text = cpulist.format_list(forms.masks(text)[0])
            except ValueError:
                text = None
        return _numbers(text) or (), ()
    cpus, mems = (layer.option(name) for name in ("physcpubind", "membind"))
    return _told(cpus) or (), _told(mems) or ()


def _told(option: Option | None) -> tuple[int, ...] | None:
    return _numbers(known(option.value or ())) if option is not None else None


def of_job(draft: Draft, options: Options, told: Iterable[Finding]) -> Iterator[Finding]:
    """What the node type contradicts of the job's own `bind`, whatever wrote it. `told` are the defects that
    were found in the texts: an array of CPUs is among them."""
    facts = [fact for kind in ("cpus", "memory") if (fact := draft.facts.get(("bind", kind))) is not None]
    if options.node_type is None:
        return
    before = {(place.file, place.line, each.why) for each in told for place in each.places}
    for fact in facts:
        if not isinstance(fact.value, list):
            continue
        lists = {rank: found for rank, text in enumerate(fact.value) if (found := _numbers(text)) is not None}
        of_cpus = fact.key[1] == "cpus"
        what = f"{dotted(fact.key)}: {shown(fact.value)}"
        binding = Binding(what, fact.places[0], lists if of_cpus else {}, {} if of_cpus else lists)
        for each in _against(options.node_type, binding):
            if (each.places[0].file, each.places[0].line, each.why) not in before:
                yield replace(each, places=fact.places)


def _against(machine: NodeType, binding: Binding, per_node: int | None = None) -> Iterator[Finding]:
    there = {
        cpu: numa.node for numa in machine.numa for core in model.cores(machine, numa.node) for cpu in core
    }
    missing = sorted({cpu for cpus in binding.cpus.values() for cpu in cpus if cpu not in there})
    if missing:
        yield Finding(
            "defect",
            (binding.place,),
            binding.what,
            why=f"a {machine.name} has no CPU {cpulist.format_list(missing)}: with such a list numactl and "
            "srun start no rank, and taskset leaves those CPUs out",
        )
    numa = {node.node for node in machine.numa}
    absent = sorted({node for mems in binding.mems.values() for node in mems if node not in numa})
    if absent:
        yield Finding(
            "defect",
            (binding.place,),
            binding.what,
            why=f"a {machine.name} has no NUMA node {cpulist.format_list(absent)}",
        )
    if missing or len(binding.cpus) != len(machine.gpus):
        return
    away: dict[int, tuple[set[int], int]] = {}
    for rank, cpus in sorted(binding.cpus.items()):
        own, gpu = {there[cpu] for cpu in cpus}, machine.gpus[rank].numa
        if own and gpu not in own and (per_node is None or rank < per_node):
            away[rank] = own, gpu
    if away:
        yield _away(machine, binding, away)


def _away(machine: NodeType, binding: Binding, away: dict[int, tuple[set[int], int]]) -> Finding:
    rank, (own, gpu) = next(iter(away.items()))
    sockets = {model.socket_of(machine, numa) for numa in own}
    far = "" if model.socket_of(machine, gpu) in sockets else ", on the other socket"
    return Finding(
        "defect",
        (binding.place,),
        binding.what,
        why=f"local rank{'s' if len(away) > 1 else ''} {cpulist.format_list(away)} of a "
        f"{machine.name} run away from their GPU: rank {rank} is on NUMA node "
        f"{cpulist.format_list(own)} and its GPU on {gpu}{far}",
    )


def _of_mlperf(
    machine: NodeType, binder: Binder, files: Sequence[Source], per_node: int | None
) -> Iterator[Finding]:
    for table in evaluated.tables_of((binder,), files):
        yield from _of_table(machine, table)
    # There are several programs of the name bindpcie, and some ask the machine which cores are near.
    if binder.layer.program == "bind.sh":
        yield from _of_bind_sh(machine, binder, per_node)


def _of_bind_sh(machine: NodeType, binder: Binder, per_node: int | None) -> Iterator[Finding]:
    cpu, cluster, ib = (binder.layer.option(name) for name in ("cpu", "cluster", "ib"))
    text = known(cpu.value or ()) if cpu is not None else "node"
    if text is not None and text.startswith("exclusive"):
        yield from _against(machine, _exclusive(machine, binder.place, smt="nosmt" not in text), per_node)
    elif text == "node" and machine.gpus:
        yield from _against(machine, _by_node(machine, binder.place), per_node)
    if ib is not None and known(ib.value or ()) == "single":
        name = known(cluster.value or ()) if cluster is not None else ""
        if name is not None:
            yield from _hcas(machine, binder.place, name)


def _of_table(machine: NodeType, table: Source) -> Iterator[Finding]:
    """bind_cpu_cores=(...) and bind_mem=(...) of a file that bind.sh or bindpcie takes."""
    for name, kind in (("bind_cpu_cores", "cpus"), ("bind_mem", "mems")):
        array = binding.array(table, name)
        if array is not None:
            entries = {rank: found for rank, text in enumerate(array[0]) if (found := _numbers(text))}
            yield from _against(machine, Binding(f"{name}=(...)", array[1][0], **{kind: entries}))


def _exclusive(machine: NodeType, place: Place, smt: bool) -> Binding:
    """Equal parts of all cores by number, and each with the CPU one "all cores" further for its sibling."""
    cores = sum(len(model.cores(machine, numa.node)) for numa in machine.numa)
    ranks = max(len(machine.gpus), 1)
    each = cores // ranks
    cpus = {}
    for rank in range(ranks):
        first = tuple(range(rank * each, (rank + 1) * each))
        cpus[rank] = first + (tuple(cpu + cores for cpu in first) if smt else ())
    return Binding(f"bind.sh --cpu=exclusive{'' if smt else ',nosmt'}", place, cpus)


def _by_node(machine: NodeType, place: Place) -> Binding:
    """Ranks over NUMA nodes in the order of their numbers."""
    nodes = [numa.node for numa in machine.numa if model.cores(machine, numa.node)]
    ranks = len(machine.gpus)
    each = max(ranks // max(len(nodes), 1), 1)
    cpus = {}
    for rank in range(ranks):
        node = nodes[min(rank // each, len(nodes) - 1)]
        cpus[rank] = tuple(cpu for core in model.cores(machine, node) for cpu in core)
    return Binding("bind.sh --cpu=node", place, cpus)


def _hcas(machine: NodeType, place: Place, cluster: str) -> Iterator[Finding]:
    try:
        names = model.device_names(machine, None)
        compute = {hca.name for hca in model.named_hcas(machine, None)}
    except InputError:
        return
    if not names:
        return
    if cluster and cluster not in _CLUSTERS:
        return
    meant = set(_CLUSTERS[cluster]) if cluster else set(names.values())
    absent, storage = sorted(meant - set(names.values())), sorted((meant & set(names.values())) - compute)
    what = f"bind.sh --ib=single{' --cluster=' + cluster if cluster else ''}"
    if absent:
        yield Finding("defect", (place,), what, why=f"a {machine.name} has no {', '.join(absent)}")
    if storage:
        yield Finding(
            "defect",
            (place,),
            what,
            why=f"{', '.join(storage)} of a {machine.name} are no compute HCAs: ranks would send over "
            "storage or management ports",
        )


def _numbers(text: str | None) -> tuple[int, ...] | None:
    try:
        return cpulist.parse(text) if text else None
    except ValueError:
        return None
