"""Pictures of a plan and of a machine."""

from collections.abc import Sequence

from hpclaunch.report import claims, layout
from hpclaunch.report.scene import Group
from hpclaunch.values.amount import counted
from hpclaunch.values.launchplan import Common, LaunchPlan
from hpclaunch.values.outline import Outline
from hpclaunch.values.placement import NodeShape


def of_plan(
    plan: LaunchPlan, machines: Sequence[Outline], width: float = layout.WIDE, named: bool = True
) -> tuple[Group, ...]:
    """A picture for each shape of node of the plan, one under the other; of unlike groups those of each.
    `machines` has the outline of each shape, in the same order. The job and the site stand in the title of
    one that is `named`."""
    pictures: list[Group] = []
    left = iter(machines)
    groups = plan.common.groups.members if plan.parts and plan.common.groups is not None else ()
    names = [f", group {group.name}" for group in groups] or [""]
    for each, name in zip(plan.each, names, strict=True):
        for shape, machine in zip(each.common.shapes, left, strict=False):
            title = f"A node of type {shape.node_type}{name}"
            title = f"{each.common.name} on {plan.site}{name}" if named else title
            head = layout.Head(title, (f"{_line(each.common, shape)}.",))
            top = pictures[-1].bottom if pictures else 0.0
            pictures.append(layout.picture(head, machine, claims.of_plan(each, shape), width, top))
    return tuple(pictures)


def _line(common: Common, shape: NodeShape) -> str:
    nodes = counted(common.nodes, "node") if len(common.shapes) == 1 else f"nodes {shape.hosts}"
    several = common.nodes > 1 and common.whole_node
    same = "; every node has the same" if several and len(common.shapes) == 1 else ""
    local = "; the numbers are local ranks" if several else ""
    return f"{nodes} of type {shape.node_type}, {counted(common.ranks_per_node, 'rank')} on each{same}{local}"


def of_machine(machine: Outline, width: float = layout.WIDE) -> Group:
    """The machine alone."""
    return layout.picture(layout.Head(machine.name, (machine.description,)), machine, None, width)
