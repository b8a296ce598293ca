"""Words that scripts and manifests share."""

from hpclaunch.rank import SEPARATORS
from hpclaunch.values.amount import counted
from hpclaunch.values.launchplan import Common, LaunchPlan

# A setting of so many characters has a line for each of its entries. Nobody reads a longer one, and the white
# space would count towards what the kernel takes.
_LAID_OUT = range(100, 4000)


def title(plan: LaunchPlan) -> str:
    """What the job takes, in a few words."""
    names = plan.common.groups.members if plan.parts and plan.common.groups is not None else ()
    each = (f"{group.name}: {nodes(part.common)}" for group, part in zip(names, plan.parts, strict=False))
    return "; ".join(each) or nodes(plan.common)


def nodes(common: Common) -> str:
    """How many nodes of which type, and how many ranks on each."""
    number = counted(common.nodes, "node")
    types = " or ".join(dict.fromkeys(shape.node_type for shape in common.shapes))
    return f"{number} of type {types}, {counted(common.ranks_per_node, 'rank')} on each"


def separator(setting: str, length: int) -> str:
    """What stands between the entries of a setting of the rank wrapper ("hcas=...") that has a line for each,
    at this length; "" for all others."""
    return SEPARATORS.get(setting.partition("=")[0], "") if length in _LAID_OUT else ""
