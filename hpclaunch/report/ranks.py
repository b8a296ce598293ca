"""The rank table of a plan: which cores, memory, GPU and HCA each rank has."""

from typing import Any

from hpclaunch.report.table import aligned
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import Common, LaunchPlan
from hpclaunch.values.placement import Gpu, NodeShape, Seat
from hpclaunch.values.rankgroups import RankGroups


def as_data(plan: LaunchPlan) -> dict[str, Any]:
    """The plan for `explain --json`: cpus and mems as kernel lists, gpus as indices in PCI order.

    `shapes` has one entry for each kind of node, with its hosts and what each local rank has there; `ranks`
    are all ranks of the job. Where it may get nodes of several kinds, an entry of `ranks` has what is the
    same on all of them, and empty values for the rest. On a part of a node (`whole_node` is false) `gpus` are
    positions among those that the job gets there, from 0; the rank finds the rest on the node, and `gpus` of
    the shape says what is near each. With groups ranks count through all of them, in separate worlds too;
    where their nodes are unlike a shape has the `group` that it is of.
    """
    common = plan.common
    shapes = [
        {**_shape(each.common, shape), **({"group": _name(common, index)} if plan.parts else {})}
        for index, each in enumerate(plan.each)
        for shape in each.common.shapes
    ]
    ranks = _all_ranks(plan)
    if common.groups is not None:
        of_groups = [
            {"group": group.name, "group_rank": number}
            for group in common.groups.members
            for number in range(group.nodes * group.ranks_per_node)
        ]
        ranks = [{**rank, **group} for rank, group in zip(ranks, of_groups, strict=True)]
    environment = [
        {"name": variable.name, "value": variable.value, "from": variable.origin}
        for variable in common.environment
    ]
    return {
        "job": common.name,
        "site": plan.site,
        "scheduler": plan.scheduler,
        "node_type": common.shape.node_type,
        "whole_node": all(each.common.whole_node for each in plan.each),
        "ranks": ranks,
        "shapes": shapes,
        "environment": environment,
        **({"groups": _groups(common.groups)} if common.groups is not None else {}),
        "warnings": list(plan.warnings),
    }


def _name(common: Common, index: int) -> str:
    return common.groups.members[index].name if common.groups is not None else ""


def _all_ranks(plan: LaunchPlan) -> list[dict[str, Any]]:
    """Every rank, on the nodes of one group after the other where these are unlike."""
    ranks: list[dict[str, Any]] = []
    nodes = 0
    for each in plan.each:
        tables = [_shape(each.common, shape)["ranks"] for shape in each.common.shapes]
        local = [_agreed(rows) for rows in zip(*tables, strict=True)]
        for node in range(nodes, nodes + each.common.nodes):
            ranks += [{"rank": len(ranks) + row["local_rank"], "node": node, **row} for row in local]
        nodes += each.common.nodes
    return ranks


def _groups(groups: RankGroups) -> dict[str, Any]:
    """Whether they have one world, and what each has of its own: variables over those of `environment`."""
    return {
        "world": groups.world,
        "members": [
            {
                "name": group.name,
                "nodes": group.nodes,
                "command": list(group.argv),
                "environment": [{"name": each.name, "value": each.value} for each in group.environment],
            }
            for group in groups.members
        ],
    }


def _shape(common: Common, shape: NodeShape) -> dict[str, Any]:
    pci = {gpu.index: gpu.pci for gpu in shape.gpus}
    hca_pci = {hca.name: hca.pci for hca in shape.hcas}
    return {
        "node_type": shape.node_type,
        "hosts": shape.hosts,
        "gpus": [] if common.whole_node else [_near(shape, gpu) for gpu in shape.gpus],
        "ranks": [
            {
                "local_rank": seat.local_rank,
                "gpus": list(seat.gpus),
                "gpu_pci": [pci[gpu] for gpu in seat.gpus] if common.whole_node else [],
                "cpus": format_list(seat.cpus),
                "mems": format_list(seat.mems),
                "hcas": list(seat.hcas),
                "hca_pci": [hca_pci[name] for name in seat.hcas],
                "next_hcas": list(seat.next_hcas),
            }
            for seat in shape.seats
        ],
    }


def _near(shape: NodeShape, gpu: Gpu) -> dict[str, Any]:
    """What a rank has with this GPU on a part of a node: its part of these cores, and the first of these HCAs
    that is usable."""
    nearest = [part for part in shape.cores if part.pool in gpu.pools[:1]]
    return {
        "gpu": gpu.index,
        "pci": gpu.pci,
        "cpus": format_list(cpu for part in nearest for core in part.cores for cpu in core),
        "mems": format_list(part.node for part in nearest if part.cores),
        "hcas": list(gpu.hcas),
    }


def _agreed(rows: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """What is the same in all of the rows; what differs is empty."""
    first = rows[0]
    return {
        key: value if all(row[key] == value for row in rows[1:]) else type(value)()
        for key, value in first.items()
    }


HEADER = ("local rank", "cores", "memory", "GPU", "HCA")
_NEAR = ("GPU", "PCI address", "its part of cores", "memory", "HCA")


def as_table(plan: LaunchPlan) -> str:
    """One node's ranks, for each kind of node that the job may get; all of a kind have the same. On a part
    of a node also what is near each of its GPUs."""
    shapes = plan.common.shapes
    parts = []
    for shape in shapes:
        if len(shapes) > 1:
            parts.append(f"{shape.node_type}, {shape.hosts}:")
        parts.append(aligned(HEADER, rows(plan, shape)))
        if not plan.common.whole_node and plan.common.gpus_per_node and shape.gpus:
            near = (_near(shape, gpu) for gpu in shape.gpus)
            parts.append(
                aligned(
                    _NEAR,
                    [
                        (
                            str(gpu["gpu"]),
                            gpu["pci"] or "-",
                            gpu["cpus"] or "-",
                            gpu["mems"] or "-",
                            ",".join(gpu["hcas"][:1]) or "-",
                        )
                        for gpu in near
                    ],
                )
            )
    return "\n\n".join(parts)


def rows(plan: LaunchPlan, shape: NodeShape) -> list[tuple[str, ...]]:
    """A row for each local rank. On a part of a node a rank finds there what goes with its GPU; its GPUs are
    counted among those that the job gets, from 1."""
    settings = plan.settings_for(shape)
    bound = settings.get("part", "").split(",")
    gpus = not plan.common.whole_node and "gpus" in settings
    return [
        (
            str(seat.local_rank),
            format_list(seat.cpus) or _found(seat, "cpus" in bound),
            format_list(seat.mems) or _found(seat, "membind" in bound or "preferred" in bound),
            _gpus(plan.common, seat),
            ",".join(seat.hcas) or ("with its GPU" if gpus and seat.gpus and shape.hcas else "-"),
        )
        for seat in shape.seats
    ]


def _gpus(common: Common, seat: Seat) -> str:
    if common.whole_node or not seat.gpus:
        return format_list(seat.gpus) or "-"
    return f"{format_list(position + 1 for position in seat.gpus)} of {common.gpus_per_node}"


def _found(seat: Seat, bound: bool) -> str:
    if not bound:
        return "any"
    return "with its GPU" if seat.gpus else "of the job's"
