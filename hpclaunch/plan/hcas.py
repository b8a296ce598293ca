"""Which HCAs each local rank uses: the nearest to its GPUs at even load, ties in index order as NVIDIA's
launchers break them; and in which order others stand in for one that is down."""

from collections.abc import Sequence
from typing import Literal

from hpclaunch.plan.assignment import balanced
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model
from hpclaunch.values.placement import Hca

Pairing = Literal["index", "switch"]
Order = tuple[int, ...]


def gpu_costs(machine: NodeType, hcas: Sequence[Hca], pairing: Pairing) -> tuple[tuple[int, ...], ...]:
    """How far each HCA is from each GPU of the machine, as numbers whose sums compare as the sums of their
    parts do, one after the other: whether a PCI switch is in common, with `switch` also the inner ones from
    the outermost on, then the NUMA distance."""
    paths = {spec.pci: spec.switch for spec in machine.hcas}
    common = [[model.switches_in_common(gpu.switch, paths[hca.pci]) for hca in hcas] for gpu in machine.gpus]
    if pairing == "index":
        common = [[min(number, 1) for number in row] for row in common]
    deepest = max((number for row in common for number in row), default=0)
    distances = [[model.distance(machine, gpu.numa, hca.numa) for hca in hcas] for gpu in machine.gpus]
    base = len(machine.gpus) * max((far for row in distances for far in row), default=0) + 1
    # A digit for each switch that is not in common, the outermost the highest; no sum over all GPUs carries.
    missing = [sum(base**digit for digit in range(1, deepest - number + 1)) for number in range(deepest + 1)]
    return tuple(
        tuple(missing[number] + far for number, far in zip(*both, strict=True))
        for both in zip(common, distances, strict=True)
    )


def orders(costs: Sequence[Sequence[int]]) -> tuple[Order, ...]:
    """For each GPU (or rank without one) the indexes of all HCAs: first the one that it uses, then the
    others from the nearest on. `costs` are how far each is, those of all GPUs of the machine, so that jobs
    on parts of one node do not meet on an HCA.
    """
    if not costs or not costs[0]:
        return ((),) * len(costs)
    return tuple(order(row, (own,)) for row, own in zip(costs, balanced(costs), strict=True))


def from_cores(machine: NodeType, numas: Sequence[int], hcas: Sequence[Hca]) -> tuple[int, ...]:
    """How far each HCA is from the nearest of these NUMA nodes."""
    return tuple(min(model.distance(machine, numa, hca.numa) for numa in numas) for hca in hcas)


def from_gpus(costs: Sequence[Sequence[int]], gpus: Sequence[int]) -> tuple[int, ...]:
    """How far each HCA is from the nearest of these GPUs."""
    return tuple(map(min, zip(*(costs[gpu] for gpu in gpus), strict=True)))


def order(costs: Sequence[int], own: Sequence[int]) -> Order:
    """All HCAs: those that are used, then the others from the nearest on."""
    others = (index for index in range(len(costs)) if index not in own)
    return (*own, *sorted(others, key=lambda index: (costs[index], index)))
