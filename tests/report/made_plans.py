"""Plans and outlines for pictures."""

from typing import Any

from hpclaunch.plan.planner import Planner
from hpclaunch.report import layout, picture
from hpclaunch.report.svg import document
from hpclaunch.spec.job import Job
from hpclaunch.spec.site import NodeGroup, Site, SlurmSite
from hpclaunch.topology import catalogue
from hpclaunch.topology.outline import outline
from hpclaunch.values.launchplan import LaunchPlan
from hpclaunch.values.outline import Outline


def planned(
    node_type: str, ranks: int | None = None, reserved: str = "", exclusive: bool | None = None, **job: Any
) -> tuple[LaunchPlan, tuple[Outline, ...]]:
    """A plan for nodes of this type, and their outline. `job` may have a `bind`."""
    machine = catalogue.load(node_type).value
    slurm = SlurmSite("22.05", exclusive=exclusive)
    group = NodeGroup(node_type, count=100, reserved_cpus=reserved)
    site = Site("superpod", "slurm", (group,), slurm=slurm)
    given = {"command": ("python", "train.py"), "nodes": 2, "ranks_per_node": ranks, **job}
    plan = Planner(site, {node_type: machine}).plan(Job("train", **given))
    return plan, (outline(machine, None, reserved),)


def svg(plan: LaunchPlan, machines: tuple[Outline, ...], width: float = layout.WIDE) -> str:
    """The text of the picture."""
    return document(picture.of_plan(plan, machines, width))
