"""Which cores each local rank runs on, on a node that the job has to itself.

A core is the tuple of its SMT siblings, which always stay together. Cores are first divided among GPUs:
those of the GPU's own NUMA node (`local`), or also a fair part of the socket's other cores (`spread`). A
rank then has the cores of its GPUs, or its part of the cores of the GPU that it shares. Parts are runs of
neighbouring cores of sizes that differ by one at most, the larger first; within a NUMA node cores are
exchanged between ranks where that keeps more last-level caches for one rank alone.
"""

from collections.abc import Sequence

from hpclaunch.plan.caches import Core, Cores, regrouped
from hpclaunch.plan.split import runs
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model


def usable(machine: NodeType, numa: int, reserved: frozenset[int], smt: bool) -> Cores:
    """The cores of a NUMA node less the reserved CPUs; without `smt` the first CPU left of each."""
    kept = (tuple(cpu for cpu in core if cpu not in reserved) for core in model.cores(machine, numa))
    return tuple(core if smt else core[:1] for core in kept if core)


def pools(machine: NodeType, gpus: int, by_numa: dict[int, Cores], spread: bool) -> dict[int, Cores]:
    """For each NUMA node that the job's GPUs hang on, the cores that those GPUs divide among them."""
    homes = [_home(machine, machine.gpus[gpu].numa, by_numa) for gpu in range(gpus)]
    groups = list(dict.fromkeys(homes))
    result = {numa: by_numa[numa] for numa in groups}
    if not spread:
        return result
    for socket in dict.fromkeys(model.socket_of(machine, numa) for numa in groups):
        here = [numa for numa in groups if model.socket_of(machine, numa) == socket]
        spare = [
            core
            for numa, cores in by_numa.items()
            if numa not in groups and model.socket_of(machine, numa) == socket
            for core in cores
        ]
        # One part for each GPU of the socket, so that groups get by their number of GPUs.
        tickets = [numa for numa in here for home in homes if home == numa]
        if spare and len(spare) >= len(tickets):
            for numa, part in zip(tickets, runs(spare, len(tickets)), strict=True):
                result[numa] = tuple(sorted(result[numa] + part))
    return result


def of_gpus(machine: NodeType, gpus: int, by_numa: dict[int, Cores], spread: bool) -> tuple[Cores, ...]:
    """The cores of each of the job's GPUs."""
    divided = pools(machine, gpus, by_numa, spread)
    homes = [_home(machine, machine.gpus[gpu].numa, by_numa) for gpu in range(gpus)]
    parts = {numa: iter(runs(cores, homes.count(numa))) for numa, cores in divided.items()}
    return tuple(next(parts[home]) for home in homes)


def of_ranks(
    machine: NodeType, ranks_gpus: Sequence[tuple[int, ...]], by_numa: dict[int, Cores], spread: bool
) -> tuple[Cores, ...]:
    """The cores of each local rank."""
    return _with_whole_caches(machine, by_numa, _in_runs(machine, ranks_gpus, by_numa, spread))


def _in_runs(
    machine: NodeType, ranks_gpus: Sequence[tuple[int, ...]], by_numa: dict[int, Cores], spread: bool
) -> tuple[Cores, ...]:
    gpus = max((gpu for owned in ranks_gpus for gpu in owned), default=-1) + 1
    everything = tuple(core for cores in by_numa.values() for core in cores)
    if gpus == 0:
        return runs(everything, len(ranks_gpus))
    shares = list(of_gpus(machine, gpus, by_numa, spread))
    sharers = [sum(gpu in owned for owned in ranks_gpus) for gpu in range(gpus)]
    helper: Cores = ()
    if () in ranks_gpus:
        owned = {core for share in shares for core in share}
        helper = tuple(core for core in everything if core not in owned)
        if not helper:
            # Nobody's cores are left over: each GPU that can spare one gives its last core.
            giving = [gpu for gpu in range(gpus) if len(shares[gpu]) > sharers[gpu]]
            helper = tuple(shares[gpu][-1] for gpu in giving) or everything
            for gpu in giving:
                shares[gpu] = shares[gpu][:-1]
    parts = [
        iter(runs(share, count)) if count > 1 else None for share, count in zip(shares, sharers, strict=True)
    ]
    result = []
    for owned_gpus in ranks_gpus:
        mine: list[Core] = []
        for gpu in owned_gpus:
            part = parts[gpu]
            mine.extend(next(part) if part else shares[gpu])
        # Several GPUs of one NUMA node may stand on the same few cores.
        result.append(tuple(dict.fromkeys(mine)) if owned_gpus else helper)
    return tuple(result)


def _with_whole_caches(
    machine: NodeType, by_numa: dict[int, Cores], ranks: tuple[Cores, ...]
) -> tuple[Cores, ...]:
    """How many cores of each NUMA node a rank has stays as it is: its memory is there. Where ranks share
    cores, all of a NUMA node stays."""
    result: list[list[Core]] = [[] for _ in ranks]
    for numa, cores in by_numa.items():
        here = frozenset(cores)
        mine = [tuple(core for core in owned if core in here) for owned in ranks]
        caches = model.caches(machine, numa)
        if caches and sum(map(len, mine)) == len(set().union(*mine)):
            owners = [rank for rank, part in enumerate(mine) if part]
            for rank, part in zip(owners, regrouped([mine[rank] for rank in owners], caches), strict=True):
                mine[rank] = part
        for kept, part in zip(result, mine, strict=True):
            kept.extend(part)
    return tuple(map(tuple, result))


def _home(machine: NodeType, numa: int, by_numa: dict[int, Cores]) -> int:
    """The NUMA node itself, or the nearest with usable cores where it has none."""
    with_cores = [node for node, cores in by_numa.items() if cores]
    return min(with_cores, key=lambda node: (node != numa, model.distance(machine, numa, node), node))
