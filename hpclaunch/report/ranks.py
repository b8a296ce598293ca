"""The rank table of a plan: which cores, memory, GPU and HCA each rank has."""

from typing import Any

from hpclaunch.report.table import aligned
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.placement import Seat


def as_data(plan: LaunchPlan) -> dict[str, Any]:
    """The ranks for `explain --json`: cpus and mems as kernel lists, gpus as indices in PCI order."""
    common = plan.common
    pci = {gpu.index: gpu.pci for gpu in common.shape.gpus}
    hca_pci = {hca.name: hca.pci for hca in common.shape.hcas}
    ranks = [
        {
            "rank": node * common.ranks_per_node + seat.local_rank,
            "node": node,
            "local_rank": seat.local_rank,
            "gpus": list(seat.gpus),
            "gpu_pci": [pci[gpu] for gpu in seat.gpus],
            "cpus": format_list(seat.cpus),
            "mems": format_list(seat.mems),
            "hcas": list(seat.hcas),
            "hca_pci": [hca_pci[name] for name in seat.hcas],
        }
        for node in range(common.nodes)
        for seat in common.shape.seats
    ]
    environment = [
        {"name": variable.name, "value": variable.value, "from": variable.origin}
        for variable in common.environment
    ]
    return {
        "job": common.name,
        "site": plan.site,
        "scheduler": plan.scheduler,
        "node_type": common.shape.node_type,
        "ranks": ranks,
        "environment": environment,
        "warnings": list(plan.warnings),
    }


def as_table(plan: LaunchPlan) -> str:
    """One node's ranks: every node of the job has the same."""
    rows = [_row(seat) for seat in plan.common.shape.seats]
    return aligned(("local rank", "cores", "memory", "GPU", "HCA"), rows)


def _row(seat: Seat) -> tuple[str, ...]:
    return (
        str(seat.local_rank),
        format_list(seat.cpus) or "any",
        format_list(seat.mems) or "any",
        format_list(seat.gpus) or "-",
        ",".join(seat.hcas) or "-",
    )
