"""A seat for each local rank on one shape of node."""

from hpclaunch.plan import cores as core_split
from hpclaunch.plan import hcas as hca_choice
from hpclaunch.plan.split import gpus_of_ranks
from hpclaunch.spec.job import Bind
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model
from hpclaunch.values import cpulist
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.placement import Cores, Hca, Seat


def whole_node(
    machine: NodeType, gpus: int, ranks: int, bind: Bind, hcas: tuple[Hca, ...], reserved: frozenset[int]
) -> tuple[Seat, ...]:
    """The seats of `ranks` local ranks on a node whose first `gpus` GPUs, and all of whose cores, are theirs.

    Raises InputError where a list of `bind` does not fit the machine or the number of ranks.
    """
    ranks_gpus = gpus_of_ranks(gpus, ranks)
    by_numa = {node.node: core_split.usable(machine, node.node, reserved, bind.smt) for node in machine.numa}
    numa_of = {
        cpu: node.node for node in machine.numa for core in model.cores(machine, node.node) for cpu in core
    }
    if isinstance(bind.cpus, tuple):
        free = {cpu: numa for cpu, numa in numa_of.items() if cpu not in reserved}
        cpus = _explicit_numbers(bind.cpus, ranks, "cpus", free, f"CPUs of {machine.name} that jobs may use")
        by_core = cpus
    else:
        owned = core_split.of_ranks(machine, ranks_gpus, by_numa, spread=bind.cpus == "spread")
        by_core = tuple(tuple(cpu for core in mine for cpu in core) for mine in owned)
        cpus = ((),) * ranks if bind.cpus == "none" else by_core

    near = tuple(tuple(sorted({numa_of[cpu] for cpu in mine})) for mine in by_core)
    if isinstance(bind.memory, tuple):
        nodes = {node.node: node.node for node in machine.numa}
        mems = _explicit_numbers(bind.memory, ranks, "memory", nodes, f"NUMA nodes of {machine.name}")
    elif bind.memory == "prefer":
        # The kernel's policy and Slurm's take one node: the first GPU's own, where the rank has cores of it.
        mems = tuple(
            (next((machine.gpus[gpu].numa for gpu in gpus_of if machine.gpus[gpu].numa in mine), mine[0]),)
            for gpus_of, mine in zip(ranks_gpus, near, strict=True)
        )
    else:
        mems = near if bind.memory == "local" else ((),) * ranks

    own, following = _hcas(machine, ranks_gpus, near, bind, hcas)
    return tuple(
        Seat(
            local_rank=rank,
            cpus=tuple(sorted(cpus[rank])),
            mems=tuple(sorted(mems[rank])),
            gpus=ranks_gpus[rank],
            hcas=tuple(hcas[index].name for index in own[rank]),
            next_hcas=tuple(hcas[index].name for index in following[rank]),
        )
        for rank in range(ranks)
    )


def part_of_node(gpus: int, ranks: int, bind: Bind, hcas: tuple[Hca, ...]) -> tuple[Seat, ...]:
    """Seats on a part of a node: which GPUs and cores the job gets is found on the node when it runs, so a
    seat has positions among those GPUs, and no more.

    Raises InputError for a list in `bind`, which could only be guessed to fit.
    """
    problems = [
        Problem("a list needs whole nodes: all GPUs of each, and no other job there", "job", ("bind", key))
        for key in ("cpus", "memory", "hcas")
        if isinstance(getattr(bind, key), tuple)
    ]
    if problems:
        raise InputError(problems)
    every = bind.hcas == "all" or (bind.hcas != "none" and not gpus)  # without GPUs none is the nearest
    names = tuple(hca.name for hca in hcas) if every else ()
    return tuple(Seat(rank, (), (), owned, names) for rank, owned in enumerate(gpus_of_ranks(gpus, ranks)))


def core_pools(
    machine: NodeType, bind: Bind, reserved: frozenset[int]
) -> tuple[tuple[Cores, ...], tuple[tuple[int, ...], ...]]:
    """All cores that jobs may use, by NUMA node, and for each GPU the keys of their pools from the nearest
    on. Raises InputError where no CPU is left for jobs."""
    cores = tuple(
        Cores(node.socket if bind.cpus == "spread" else node.node, node.node, usable)
        for node in machine.numa
        if (usable := core_split.usable(machine, node.node, reserved, bind.smt))
    )
    if not cores:
        raise InputError([Problem("every CPU of the node is reserved", "site", ("node_types",))])
    orders = []
    for gpu in machine.gpus:
        away: dict[int, tuple[bool, int]] = {}
        for each in cores:
            far = (each.node != gpu.numa, model.distance(machine, gpu.numa, each.node))
            away[each.pool] = min(far, away.get(each.pool, far))
        orders.append(tuple(sorted(away, key=lambda pool: (away[pool], pool))))
    return cores, tuple(orders)


def _hcas(
    machine: NodeType,
    ranks_gpus: tuple[tuple[int, ...], ...],
    near: tuple[tuple[int, ...], ...],
    bind: Bind,
    hcas: tuple[Hca, ...],
) -> tuple[list[hca_choice.Order], list[hca_choice.Order]]:
    """For each rank the indexes of the HCAs that it uses, and of those that stand in for them."""
    nothing: list[hca_choice.Order] = [()] * len(ranks_gpus)
    every = tuple(range(len(hcas)))
    listed = _named(bind.hcas, ranks_gpus, machine, hcas) if isinstance(bind.hcas, tuple) else None
    if bind.hcas == "none" or not hcas:
        return nothing, nothing
    if bind.hcas == "all":
        return [every] * len(ranks_gpus), nothing
    costs = hca_choice.gpu_costs(machine, hcas, bind.pairing)
    from_rank = [
        hca_choice.from_gpus(costs, gpus) if gpus else hca_choice.from_cores(machine, numas, hcas)
        for gpus, numas in zip(ranks_gpus, near, strict=True)
    ]
    if listed is not None:
        own = listed
    elif any(ranks_gpus):
        used = [order[0] for order in hca_choice.orders(costs)]
        # A rank without a GPU beside ranks that have one may use them all.
        own = [tuple(dict.fromkeys(used[gpu] for gpu in gpus)) if gpus else every for gpus in ranks_gpus]
    else:
        own = [order[:1] for order in hca_choice.orders(from_rank)]
    orders = [hca_choice.order(*both) for both in zip(from_rank, own, strict=True)]
    return own, [order[len(mine) :] if mine else () for order, mine in zip(orders, own, strict=True)]


def _named(
    entries: tuple[str, ...],
    ranks_gpus: tuple[tuple[int, ...], ...],
    machine: NodeType,
    hcas: tuple[Hca, ...],
) -> list[hca_choice.Order]:
    _check_length(entries, len(ranks_gpus), "hcas")
    every = [hca.name for hca in hcas]
    result = [[name.strip() for name in entry.split(",") if name.strip()] for entry in entries]
    problems = [
        Problem(
            f"{name!r} is no compute HCA of {machine.name}; it has {', '.join(every) or 'none'}",
            "job",
            ("bind", "hcas", rank),
        )
        for rank, names in enumerate(result)
        for name in names
        if name not in every
    ]
    if problems:
        raise InputError(problems)
    return [tuple(dict.fromkeys(map(every.index, names))) for names in result]


def _explicit_numbers(
    entries: tuple[str, ...], ranks: int, key: str, known: dict[int, int], what: str
) -> tuple[tuple[int, ...], ...]:
    _check_length(entries, ranks, key)
    result = tuple(cpulist.parse(entry) for entry in entries)
    empty = [Problem("no entry", "job", ("bind", key, rank)) for rank, got in enumerate(result) if not got]
    problems = empty + [
        Problem(
            f"{cpulist.format_list(missing)} of {entry!r} is not among the {what}: "
            f"{cpulist.format_list(known)}",
            "job",
            ("bind", key, rank),
        )
        for rank, (entry, numbers) in enumerate(zip(entries, result, strict=True))
        if (missing := [number for number in numbers if number not in known])
    ]
    if problems:
        raise InputError(problems)
    return result


def _check_length(entries: tuple[str, ...], ranks: int, key: str) -> None:
    if len(entries) != ranks:
        message = f"bind.{key} has {len(entries)} entries, and {ranks} ranks run on a node: one for each"
        raise InputError([Problem(message, "job", ("bind", key))])
