"""Who owns what on one node, as a picture shows it.

On a whole node the owners are the local ranks. On a part of a node the job learns only there which GPUs it
gets, so the owners are the GPUs: the cores, memory and HCA that a rank has with each of them.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from hpclaunch.report.text import brief, named
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.placement import NodeShape, Seat

K = TypeVar("K")
Owners = Mapping[int, tuple[int, ...]]


class Claims(Struct, frozen=True):
    """`noun` is what an owner is; `cpus`, `memory` (by NUMA node), `gpus` (by index) and `hcas` (by name) say
    whose each is. `entries` tell of each owner what it has; `anywhere` says that some owner may run on any
    core, `any_memory` that some owner's memory may be in any NUMA node. `notes` are sentences for the head of
    the picture."""

    noun: str
    cpus: Owners
    memory: Owners
    gpus: Owners
    hcas: Mapping[str, tuple[int, ...]]
    entries: Mapping[int, tuple[str, ...]]
    anywhere: bool = False
    any_memory: bool = False
    notes: tuple[str, ...] = ()


def of_plan(plan: LaunchPlan, shape: NodeShape) -> Claims:
    """The claims on one shape of node of a plan."""
    return _of_ranks(shape.seats) if plan.common.whole_node else _of_gpus(plan, shape)


def _of_ranks(seats: tuple[Seat, ...]) -> Claims:
    anywhere = [seat.local_rank for seat in seats if not seat.cpus]
    any_memory = [seat.local_rank for seat in seats if not seat.mems]
    notes = []
    if anywhere:
        notes.append(f"Not bound to cores: {named('rank', anywhere)}.")
    if any_memory:
        notes.append(f"Not bound to memory: {named('rank', any_memory)}.")
    return Claims(
        noun="rank",
        cpus=_inverted((cpu, seat.local_rank) for seat in seats for cpu in seat.cpus),
        memory=_inverted((node, seat.local_rank) for seat in seats for node in seat.mems),
        gpus=_inverted((gpu, seat.local_rank) for seat in seats for gpu in seat.gpus),
        hcas=_inverted((name, seat.local_rank) for seat in seats for name in seat.hcas),
        entries={seat.local_rank: _of_seat(seat) for seat in seats},
        anywhere=bool(anywhere),
        any_memory=bool(any_memory),
        notes=tuple(notes),
    )


def _of_seat(seat: Seat) -> tuple[str, ...]:
    return (
        named("GPU", seat.gpus) if seat.gpus else "no GPU",
        *([_names(seat.hcas)] if seat.hcas else []),
        f"memory {brief(seat.mems)}" if seat.mems else "any memory",
        f"CPUs {brief(seat.cpus)}" if seat.cpus else "any CPU",
    )


def _of_gpus(plan: LaunchPlan, shape: NodeShape) -> Claims:
    wanted = plan.common.gpus_per_node
    if not wanted or not shape.gpus:
        taken = f"{wanted} slices of GPUs" if wanted else "no GPUs"
        note = f"The job takes {taken}, and a part of the node: which, Slurm decides when it runs."
        return Claims("GPU", {}, {}, {}, {}, {}, notes=(note,))
    taken = (
        "all GPUs, on nodes that jobs share"
        if wanted == len(shape.gpus)
        else f"{wanted} of {len(shape.gpus)} GPUs"
    )
    note = f"The job takes {taken}. Which, its ranks find on the node; here is what goes with each GPU."
    bound = set(plan.settings_for(shape).get("part", "").split(","))
    cores = [
        (gpu.index, part)
        for gpu in shape.gpus
        for part in shape.cores
        if part.pool in gpu.pools[:1] and part.cores
    ]
    cpus = [(cpu, gpu) for gpu, part in cores for core in part.cores for cpu in core if "cpus" in bound]
    memory = [(part.node, gpu) for gpu, part in cores if bound & {"membind", "preferred"}]
    return Claims(
        noun="GPU",
        cpus=_inverted(cpus),
        memory=_inverted(memory),
        gpus={gpu.index: (gpu.index,) for gpu in shape.gpus},
        hcas=_inverted((gpu.hcas[0], gpu.index) for gpu in shape.gpus if gpu.hcas),
        entries={
            gpu.index: (
                *gpu.hcas[:1],
                *_brief("memory", [node for node, owner in memory if owner == gpu.index], "any memory"),
                *_brief("part of CPUs", [cpu for cpu, owner in cpus if owner == gpu.index], "any CPU"),
            )
            for gpu in shape.gpus
        },
        anywhere=not cpus,
        any_memory=not memory,
        notes=(note,) if cpus else (note, "Its ranks are not bound to cores."),
    )


def _brief(what: str, numbers: list[int], otherwise: str) -> tuple[str]:
    return (f"{what} {brief(numbers)}" if numbers else otherwise,)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} HCAs"


def _inverted(pairs: Iterable[tuple[K, int]]) -> dict[K, tuple[int, ...]]:
    """thing -> its owners, rising."""
    found: dict[K, set[int]] = {}
    for thing, owner in pairs:
        found.setdefault(thing, set()).add(owner)
    return {thing: tuple(sorted(owners)) for thing, owners in found.items()}
