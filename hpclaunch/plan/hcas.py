"""Which HCAs each local rank uses: the nearest to its GPUs, with an even load, ties in index order as
NVIDIA's launchers break them."""

from collections.abc import Sequence

from hpclaunch.spec.nodetype import NodeType
from hpclaunch.topology import model
from hpclaunch.values.placement import Hca


def of_gpus(machine: NodeType, gpus: int, hcas: Sequence[Hca]) -> tuple[Hca, ...]:
    """One HCA for each GPU. A PCI switch in common is nearest, then NUMA distance."""
    switches = {spec.pci: spec.switch for spec in machine.hcas}
    load = [0] * len(hcas)
    chosen = []
    for gpu in machine.gpus[:gpus]:

        def cost(index: int, gpu=gpu) -> tuple[int, int, int]:  # type: ignore[no-untyped-def]
            hca = hcas[index]
            together = gpu.switch != "" and gpu.switch == switches[hca.pci]
            away = 0 if together else model.distance(machine, gpu.numa, hca.numa)
            return away, load[index], index

        best = min(range(len(hcas)), key=cost)
        load[best] += 1
        chosen.append(hcas[best])
    return tuple(chosen)


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
    gpus = max((gpu for owned in ranks_gpus for gpu in owned), default=-1) + 1
    if gpus:
        by_gpu = of_gpus(machine, gpus, hcas)
        return tuple(
            tuple(dict.fromkeys(by_gpu[gpu].name for gpu in owned)) if owned else every
            for owned in ranks_gpus
        )
    load = [0] * len(hcas)
    result = []
    for numas in ranks_numa:

        def cost(index: int, numas=numas) -> tuple[int, int, int]:  # type: ignore[no-untyped-def]
            away = min((model.distance(machine, numa, hcas[index].numa) for numa in numas), default=0)
            return away, load[index], index

        best = min(range(len(hcas)), key=cost)
        load[best] += 1
        result.append((hcas[best].name,))
    return tuple(result)
