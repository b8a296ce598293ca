"""What a plan promises a rank: who binds it, with which memory policy, on which kind of node."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from hpclaunch.values.launchplan import Common, LaunchPlan, LocalTarget, SlurmTarget
from hpclaunch.values.placement import NodeShape
from hpclaunch.values.pods import KubernetesTarget

Policy = Literal["bind", "prefer", ""]
_TARGETS: dict[str, type[SlurmTarget | KubernetesTarget | LocalTarget]] = {
    "slurm": SlurmTarget,
    "kubernetes": KubernetesTarget,
}


class Binding(Struct, frozen=True):
    """How ranks are bound on one kind of node: whether to cores, with which memory policy of the kernel's
    ("": none), and who does it. `memlock` is the limit that the wrapper asks for in KiB, 0 for none;
    `finds_gpus` whether it looks for each rank's own GPUs, on a part of a node, `pods` whether
    it runs in pods."""

    cpus: bool
    memory: Policy
    by: Literal["Slurm", "the rank wrapper"]
    memlock: int
    finds_gpus: bool = False
    pods: bool = False


def read_plan(data: bytes) -> LaunchPlan:
    """The plan of a job's record. Raises ValueError where it is not one (msgspec's errors are such)."""
    return _plan(msgspec.json.decode(data, type=dict[str, Any]))


def _plan(raw: dict[str, Any]) -> LaunchPlan:
    try:
        target = _TARGETS.get(raw["scheduler"], LocalTarget)
        return LaunchPlan(
            site=raw["site"],
            scheduler=raw["scheduler"],
            common=msgspec.convert(raw["common"], Common),
            target=msgspec.convert(raw["target"], target),
            warnings=tuple(raw["warnings"]),
            parts=tuple(map(_plan, raw.get("parts", ()))),
        )
    except KeyError as error:
        raise ValueError(f"it has no {error}") from None


def binding(plan: LaunchPlan, shape: NodeShape) -> Binding:
    """How ranks are bound on nodes of this shape."""
    target = plan.target
    settings = plan.settings_for(shape)
    memlock = int(settings.get("memlock", 0))
    if isinstance(target, SlurmTarget) and (target.cpu_masks or target.mem_masks):
        kind: Policy = "prefer" if "prefer" in target.mem_policy else "bind"
        return Binding(bool(target.cpu_masks), kind if target.mem_masks else "", "Slurm", memlock)
    bound = {*settings, *settings.get("part", "").split(",")}
    policy: Policy = "bind" if "membind" in bound else "prefer" if "preferred" in bound else ""
    pods = isinstance(target, KubernetesTarget)
    return Binding("cpus" in bound, policy, "the rank wrapper", memlock, "seats" in settings, pods)


def may_run_again(plan: LaunchPlan) -> bool:
    """Whether Slurm may start the job once more: plans say --no-requeue, and an option of the user's own may
    come after it."""
    last = ""
    if isinstance(plan.target, SlurmTarget):
        names = (option.text.partition("=")[0] for option in plan.target.sbatch)
        last = next((name for name in reversed([*names]) if name in ("--requeue", "--no-requeue")), "")
    return last == "--requeue"


def shape_finder(common: Common) -> Callable[[str], NodeShape | None]:
    """What gives the shape of a host, None for one that is in no shape's hosts. A job with one shape has it
    everywhere."""
    if len(common.shapes) == 1:
        return lambda node: common.shape
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    sets = [(NodeSet(shape.hosts, resolver=RESOLVER_NOGROUP), shape) for shape in common.shapes]

    def find(node: str) -> NodeShape | None:
        for name in (node, node.partition(".")[0]):
            for hosts, shape in sets:
                if name in hosts:
                    return shape
        return None

    return find
