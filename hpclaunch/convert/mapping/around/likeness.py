"""Whether a step of srun has the settings of the job's run: a job's steps have its image, its mounts, its
environment and its nodes, and none of their own."""

from collections.abc import Sequence

from hpclaunch.convert.mapping.around.rounds import names_in
from hpclaunch.convert.mapping.container.images import image_of
from hpclaunch.convert.mapping.slurm.sruns import Step
from hpclaunch.convert.secret_texts import is_secret
from hpclaunch.readback.shell.values import shown

# Options whose value is the run's in a job; where a step has none it takes what there is.
_OF_PLACE = ("nodelist", "exclude", "relative", "chdir")


def unlike(step: Step, run: Step, all_steps: Sequence[Step], nodes: int | None, per: str) -> str:
    """What the step has otherwise than the run, "" where a step of the job is the same. `nodes` are the
    job's, `per` what the step would be."""
    if per != "job" and nodes and step.ranks.nodes and step.ranks.nodes != nodes:
        return f"it runs on {step.ranks.nodes} of the {nodes} nodes, and a step on one or on all"
    names: tuple[str, ...] = _OF_PLACE
    if step.in_container and run.in_container:
        image, of_run = (image_of(each, all_steps) for each in (step, run))
        if image is not None and of_run is not None and image.value != of_run.value:
            return f"its image is {shown(image.value or ())}, and a job's steps have the one of its run"
        mounts = _parts(step, "container-mounts") - _parts(run, "container-mounts")
        if mounts:
            return f"it has mounts that the run has not: {', '.join(sorted(mounts))}"
        names = (*names, "container-workdir")
    for name in names:
        own, its = _text(step, name), _text(run, name)
        if own and own != its:
            return f"its --{name} is {own}, and a job's steps have what its run has ({its or 'none'})"
    if _parts(step, "export") - {"ALL"} != _parts(run, "export") - {"ALL"}:
        return "its --export is another one than the run's, and a job has one environment"
    return _environment(step, run)


def _environment(step: Step, run: Step) -> str:
    its = {**dict(run.command.environment), **dict(run.command.prefix)}
    counters = {each.variable for each in run.command.loops}
    for name, value in {**dict(step.command.environment), **dict(step.command.prefix)}.items():
        if name in its and (its[name] == value or names_in(its[name]) & counters):
            continue  # what each round has of its own is a seed, or asked about
        if is_secret(name):
            return f"{name} is another one for it than for the run, and a job has one environment"
        other = f"{shown(its[name])} for the run" if name in its else "not set for the run"
        return f"{name} is {shown(value)} for it and {other}, and a job has one environment"
    return ""


def _text(step: Step, name: str) -> str:
    each = step.option(name)
    return shown(each.value) if each is not None and each.value is not None else ""


def _parts(step: Step, name: str) -> set[str]:
    return set(filter(None, _text(step, name).split(",")))
