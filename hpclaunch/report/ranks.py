"""The rank table of a plan: which cores, memory, GPU and HCA each rank has."""

from typing import Any

from hpclaunch.report.table import aligned
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import Common, LaunchPlan
from hpclaunch.values.placement import Gpu, NodeShape, Seat


def as_data(plan: LaunchPlan) -> dict[str, Any]:
    """The plan for `explain --json`: cpus and mems as kernel lists, gpus as indices in PCI order.

    `shapes` has one entry for each kind of node, with its hosts and what each local rank has there; `ranks`
    are all ranks of the job. Where it may get nodes of several kinds, an entry of `ranks` has what is the
    same on all of them. On a part of a node (`whole_node` is false) `gpus` are positions among those that
    the job gets there, the rank finds the rest on the node, and `gpus` of the shape says what is near each.
    """
    common = plan.common
    shapes = [_shape(common, shape) for shape in common.shapes]
    local = [_agreed(rows) for rows in zip(*(shape["ranks"] for shape in shapes), strict=True)]
    ranks = [
        {"rank": node * common.ranks_per_node + row["local_rank"], "node": node, **row}
        for node in range(common.nodes)
        for row in local
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
        "whole_node": common.whole_node,
        "ranks": ranks,
        "shapes": shapes,
        "environment": environment,
        "warnings": list(plan.warnings),
    }


HEADER = ("local rank", "cores", "memory", "GPU", "HCA")


def as_table(plan: LaunchPlan) -> str:
    """The ranks of one node for each shape of node: every node of that shape has the same."""
    shapes = plan.common.shapes
    tables = [aligned(HEADER, rows(plan, shape)) for shape in shapes]
    if len(shapes) == 1:
        return tables[0]
    return "\n\n".join(
        f"{shape.node_type}, {shape.hosts}:\n{table}" for shape, table in zip(shapes, tables, strict=True)
    )


def rows(plan: LaunchPlan, shape: NodeShape) -> list[tuple[str, ...]]:
    """A row for each local rank. On a part of a node a rank finds there what goes with its GPU; its GPUs are
    counted among those that the job gets."""
    found = "with its GPU" if not plan.common.whole_node and any(gpu.pools for gpu in shape.gpus) else ""
    return [_row(seat, found) for seat in shape.seats]


def _row(seat: Seat, found: str) -> tuple[str, ...]:
    return (
        str(seat.local_rank),
        format_list(seat.cpus) or found or "any",
        format_list(seat.mems) or found or "any",
        format_list(seat.gpus) or "-",
        ",".join(seat.hcas) or found or "-",
    )
