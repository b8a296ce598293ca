"""What a script says of groups of ranks that have options and tables of their own."""

from msgspec import Struct

from hpclaunch.render import script, words
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget
from hpclaunch.values.words import Option


class _Part(Struct, frozen=True):
    """A group, as the template spells it."""

    name: str
    title: str
    srun: tuple[Option, ...]
    settings: list[str]
    masks: list[str]
    mem_masks: tuple[str, ...]
    mem_policy: str


def of_slurm(plan: LaunchPlan, target: SlurmTarget) -> dict[str, object]:
    """For the template of an sbatch script; `components` are the further allocations of a heterogeneous job,
    each with what it is for, `all_nodes` the words for the nodes of all groups, `in_order` the same where MPI
    wants them sorted by name, and `watched` those for the jobs of a step that may outlive its ranks."""
    assert plan.common.groups is not None
    names = [group.name for group in plan.common.groups.members]
    chosen = target.preflight is not None
    parts = [_part(name, each, chosen) for name, each in zip(names, plan.parts, strict=True)]
    several = [f"$SLURM_JOB_NODELIST_HET_GROUP_{index}" for index in range(len(parts))]
    nodes = ",".join(several) if target.components else "$SLURM_JOB_NODELIST"
    jobs = [f"$SLURM_JOB_ID_HET_GROUP_{index}" for index in range(len(parts))]
    one_world = plan.common.groups.world == "one" and plan.common.mpi != "none"
    return {
        "parts": parts,
        "components": list(zip(parts[1:], target.components, strict=False)),
        "all_nodes": nodes,
        "in_order": nodes if one_world else "",
        "watched": (jobs if target.components else ["$SLURM_JOB_ID"]) if target.watched else (),
    }


def _part(name: str, plan: LaunchPlan, chosen: bool) -> _Part:
    """`chosen`: its nodes are known when they have been checked."""
    target = plan.target
    assert isinstance(target, SlurmTarget)
    return _Part(
        name=name,
        title=words.nodes(plan.common),
        srun=tuple(option for option in target.srun if not chosen or "--relative=" not in option.text),
        settings=[script.setting(option, 4) for option in target.wrapper],
        masks=script.mask_rows(plan, target),
        mem_masks=target.mem_masks,
        mem_policy=target.mem_policy,
    )
