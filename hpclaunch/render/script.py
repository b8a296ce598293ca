"""The script of a plan: for sbatch, or for this machine."""

from hpclaunch import __version__
from hpclaunch.rank import wrapper_text
from hpclaunch.render import words
from hpclaunch.values.cpulist import format_list
from hpclaunch.values.launchplan import LaunchPlan, LocalTarget, SlurmTarget
from hpclaunch.values.placement import Seat
from hpclaunch.values.words import Option


def render(plan: LaunchPlan) -> str:
    """The text that is submitted: the same for the same plan, so a submission's tag is not in it."""
    if isinstance(plan.target, SlurmTarget):
        return _sbatch(plan, plan.target)
    if isinstance(plan.target, LocalTarget):
        from hpclaunch.render.templates import template  # late: manifests need no template engine

        return template("local.sh.j2").render(
            **_shared(plan, plan.target),
            **_beside(plan, plan.target),
            **_long_run(plan, plan.target),
            launcher=plan.target.launcher,
            ranks_per_node=plan.common.ranks_per_node,
        )
    from hpclaunch.render import manifest  # who renders a script does not pay for it

    return manifest.render(plan, plan.target)


def _sbatch(plan: LaunchPlan, target: SlurmTarget) -> str:
    from hpclaunch.render.templates import template

    return template("sbatch.sh.j2").render(
        **_shared(plan, target),
        **_beside(plan, target),
        **_long_run(plan, target),
        **_preflight(plan, target),
        **_unlike(plan, target),
        sbatch=target.sbatch,
        slurm_path=target.path,
        masks=mask_rows(plan, target),
        mem_masks=target.mem_masks,
        mem_policy=target.mem_policy,
        srun=target.srun,
        pyxis=target.pyxis,
    )


def _shared(plan: LaunchPlan, target: SlurmTarget | LocalTarget) -> dict[str, object]:
    common = plan.common
    return {
        "version": __version__,
        "name": common.name,
        "site": plan.site,
        "title": words.title(plan),
        "keep": target.keep,
        "host_env": target.host_env,
        "settings": [] if plan.parts else [setting(option) for option in target.wrapper],
        "inherit": common.inherit,
        "secrets": common.secrets,
        "environment": common.environment,
        "sweep": common.sweep,
        "told": target.told if isinstance(target, SlurmTarget) else (),
        "argv": common.argv,
        "groups": common.groups,
        "of_groups": target.of_groups if isinstance(target, SlurmTarget) else (),
        "wrapper_text": wrapper_text([option.text for option in target.wrapper]),
    }


def _beside(plan: LaunchPlan, target: SlurmTarget | LocalTarget) -> dict[str, object]:
    if target.beside is None:
        return {"beside": False, "imports": None}
    from hpclaunch.render import beside  # most jobs need not pay for it

    if isinstance(target, SlurmTarget) and plan.common.groups is not None:
        return {"beside": False, "imports": beside.of_groups(plan.common, target.beside)}
    if isinstance(target, SlurmTarget):
        return beside.of_slurm(plan.common, target, target.beside)
    return beside.of_local(plan.common, target.beside)


def _long_run(plan: LaunchPlan, target: SlurmTarget | LocalTarget) -> dict[str, object]:
    if plan.common.long_run is None or isinstance(target, LocalTarget):
        return {"again": False, "chain": None, "notify": None, "ending": False}
    from hpclaunch.render import longrun

    return longrun.of_slurm(plan, plan.common.long_run)


def _preflight(plan: LaunchPlan, target: SlurmTarget) -> dict[str, object]:
    if target.preflight is None:
        return {"preflight": False, "lost": 0}
    from hpclaunch.render import preflight

    return preflight.of_slurm(plan, target.preflight, target.beside, setting)


def _unlike(plan: LaunchPlan, target: SlurmTarget) -> dict[str, object]:
    if not plan.parts:
        return {"parts": (), "components": (), "in_order": "", "all_nodes": "$SLURM_JOB_NODELIST"}
    from hpclaunch.render import unlikegroups

    return unlikegroups.of_slurm(plan, target)


def mask_rows(plan: LaunchPlan, target: SlurmTarget) -> list[str]:
    """The masks, each with what its rank has."""
    seats = plan.common.shape.seats
    width = max(map(len, target.cpu_masks), default=0)
    return [f"{mask:<{width}} # {_seat(seat)}" for mask, seat in zip(target.cpu_masks, seats, strict=False)]


def setting(option: Option, indent: int = 2) -> str:
    """A setting of the rank wrapper as an element of a bash array that is indented by so much."""
    from hpclaunch.render import quote  # late: manifests come by way of here, and need none of it

    word = quote.bash(option.text)
    mark = words.separator(option.text, len(word))
    if not mark or not word.startswith("'"):
        return f"{word} # {option.why}" if option.why else word
    name = option.text.partition("=")[0]
    between = mark.strip() + "\n" + " " * (indent + len(f"'{name}="))
    return f"# {option.why}\n{' ' * indent}{word.replace(mark, between)}"


def _seat(seat: Seat) -> str:
    parts = [f"rank {seat.local_rank}: CPUs {format_list(seat.cpus)}"]
    if seat.mems:
        parts.append(f"memory {format_list(seat.mems)}")
    if seat.gpus:
        parts.append(f"GPU {format_list(seat.gpus)}")
    if seat.hcas:
        parts.append(",".join(seat.hcas))
    return "; ".join(parts)
