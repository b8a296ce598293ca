"""Which HCAs each local rank uses: the nearest to its GPUs, with an even load, ties in index order as
NVIDIA's launchers break them."""

from collections.abc import Sequence

from hpclaunch.spec.nodetype import GpuSpec, NodeType
from hpclaunch.topology import model
from hpclaunch.values.placement import Hca


def of_gpus(machine: NodeType, gpus: int, hcas: Sequence[Hca]) -> tuple[Hca, ...]:
    """One HCA for each of the first `gpus` GPUs. A PCI switch in common is nearest, then NUMA distance."""
    switches = {spec.pci: spec.switch for spec in machine.hcas}

    def away(gpu: GpuSpec, hca: Hca) -> int:
        if gpu.switch and gpu.switch == switches[hca.pci]:
            return 0
        return model.distance(machine, gpu.numa, hca.numa)

    load = [0] * len(hcas)
    return tuple(hcas[_nearest([away(gpu, hca) for hca in hcas], load)] for gpu in machine.gpus[:gpus])


def of_ranks(
    machine: NodeType,
    ranks_gpus: Sequence[tuple[int, ...]],
    ranks_numa: Sequence[tuple[int, ...]],
    hcas: Sequence[Hca],
) -> tuple[tuple[str, ...], ...]:
    """The HCA names of each local rank. `ranks_numa` are the NUMA nodes of its cores.

    A rank without a GPU beside ranks that have one may use them all; where no rank has one, each uses the
    nearest to its cores.
    """
    every = tuple(hca.name for hca in hcas)
    if not hcas:
        return ((),) * len(ranks_gpus)
    if any(ranks_gpus):
        by_gpu = of_gpus(machine, len(machine.gpus), hcas)
        return tuple(
            tuple(dict.fromkeys(by_gpu[gpu].name for gpu in owned)) if owned else every
            for owned in ranks_gpus
        )
    load = [0] * len(hcas)
    away = (
        [min(model.distance(machine, numa, hca.numa) for numa in numas) for hca in hcas]
        for numas in ranks_numa
    )
    return tuple((every[_nearest(distances, load)],) for distances in away)


def _nearest(away: Sequence[int], load: list[int]) -> int:
    """The index of the nearest, of equals the least loaded, of those the first; its load is one more."""
    best = min(range(len(away)), key=lambda index: (away[index], load[index], index))
    load[best] += 1
    return best
