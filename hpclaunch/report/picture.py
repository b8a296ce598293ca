"""Pictures of a plan and of a machine."""

from collections.abc import Sequence

from hpclaunch.report import claims, layout
from hpclaunch.report.scene import Group
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.outline import Outline


def of_plan(
    plan: LaunchPlan, machines: Sequence[Outline], width: float = layout.WIDE, named: bool = True
) -> tuple[Group, ...]:
    """A picture for each shape of node of the plan, one under the other. `machines` has the outline of each
    shape, in the same order. The job and the site stand in the title of one that is `named`."""
    common = plan.common
    pictures: list[Group] = []
    for shape, machine in zip(common.shapes, machines, strict=True):
        nodes = _count(common.nodes, "node") if len(common.shapes) == 1 else f"nodes {shape.hosts}"
        several = common.nodes > 1 and common.whole_node
        same = "; every node has the same" if several and len(common.shapes) == 1 else ""
        local = "; the numbers are local ranks" if several else ""
        line = (
            f"{nodes} of type {shape.node_type}, {_count(common.ranks_per_node, 'rank')} on each{same}{local}"
        )
        title = f"{common.name} on {plan.site}" if named else f"A node of type {shape.node_type}"
        head = layout.Head(title, (f"{line}.",))
        top = pictures[-1].bottom if pictures else 0.0
        pictures.append(layout.picture(head, machine, claims.of_plan(plan, shape), width, top))
    return tuple(pictures)


def of_machine(machine: Outline, width: float = layout.WIDE) -> Group:
    """The machine alone."""
    return layout.picture(layout.Head(machine.name, (machine.description,)), machine, None, width)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
