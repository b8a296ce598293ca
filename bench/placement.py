"""What the placement of one node costs, and the table of all ranks of a large job.

In this process and from this checkout, after the imports: what a start costs is render.py's. Each is
measured in turns with a fixed piece of Python, since times compare only within one run.
"""

import argparse
import time
from collections.abc import Callable

import msgspec
from measure import show

from hpclaunch.plan import shapes
from hpclaunch.plan.planner import Planner
from hpclaunch.report import ranks
from hpclaunch.spec.job import Bind, Job
from hpclaunch.spec.nodetype import GpuSpec, HcaSpec, NodeType, NumaNode, Variant
from hpclaunch.spec.site import NodeGroup, Site
from hpclaunch.topology import catalogue, model
from hpclaunch.values.placement import Hca

RANKS = 35_840
PYTHON = "a sum in Python"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    measured: dict[str, Callable[[], object]] = {
        PYTHON: lambda: sum(number * number for number in range(10_000))
    }
    for gpus, hcas in ((8, 12), (16, 40)):
        machine = made_up(gpus, hcas)
        named = model.named_hcas(machine, None)
        cpus = model.cpu_count(machine)
        measured[f"{gpus} GPUs, {hcas} HCAs, {cpus} CPUs"] = lambda machine=machine, named=named: place(
            machine, named
        )
    site = Site("s", "local", (NodeGroup("dgx-a100"),))
    planner = Planner(site, {"dgx-a100": catalogue.load("dgx-a100").value})
    plan = planner.plan(Job("j", ("x",), nodes=1))
    common = msgspec.structs.replace(plan.common, nodes=RANKS // plan.common.ranks_per_node)
    plan = msgspec.structs.replace(plan, common=common)
    measured[f"table of {RANKS:,} ranks"] = lambda: ranks.as_data(plan)
    times: dict[str, list[float]] = {name: [] for name in measured}
    for number in range(rounds + 1):
        for name, work in measured.items():
            start = time.process_time()
            work()
            if number:  # the first fills the caches
                times[name].append(time.process_time() - start)
    show(times, PYTHON)


def place(machine: NodeType, hcas: tuple[Hca, ...]) -> None:
    shapes.shape(
        machine, NodeGroup("x"), hcas, len(machine.gpus), len(machine.gpus), Bind(pairing="switch"), True
    )


def made_up(gpus: int, hcas: int) -> NodeType:
    """256 CPUs in 8 NUMA nodes, 4 cores behind a cache; GPUs and HCAs in order on the sockets, half of the
    HCAs on a switch with a GPU, so that there are near ones for some alone."""
    numa = tuple(
        NumaNode(
            node,
            node // 4,
            (f"{16 * node}-{16 * node + 15}", f"{128 + 16 * node}-{143 + 16 * node}"),
            l3=tuple(
                f"{core}-{core + 3},{core + 128}-{core + 131}" for core in range(16 * node, 16 * node + 16, 4)
            ),
        )
        for node in range(8)
    )
    found = tuple(
        HcaSpec(
            f"0000:{64 + index:02x}:00.0",
            index * 8 // hcas,
            switch=f"pex{index * gpus // hcas // 2}/{index % 3}" if index % 2 else "",
        )
        for index in range(hcas)
    )
    return NodeType(
        "made-up",
        "for measuring",
        numa,
        gpus=tuple(
            GpuSpec(f"0000:{index + 1:02x}:00.0", index * 8 // gpus, f"pex{index // 2}/{index % 2}")
            for index in range(gpus)
        ),
        hcas=found,
        variants={
            "all": Variant("made up", {hca.pci: f"mlx5_{number}" for number, hca in enumerate(found)}, True)
        },
    )


if __name__ == "__main__":
    main()
