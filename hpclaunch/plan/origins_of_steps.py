"""Where what a job does beside starting its ranks once came from."""

from collections.abc import Iterator

from hpclaunch.plan.origin import Origin, Place
from hpclaunch.spec.job import ImageSpec, Job
from hpclaunch.values.launchplan import Common
from hpclaunch.values.steps import Step

_PER = {"node": "once on each node", "job": "once, on the first node", "rank": "by all ranks"}


def of_steps(job: Job, common: Common) -> Iterator[Origin]:
    """A row for each of them, in the order in which they are done."""
    box = common.container
    if box is not None and box.shared and isinstance(job.image, ImageSpec):
        folder = () if (job.image.import_ or "").startswith("/") else (_site("slurm", "image_folder"),)
        yield Origin("image.import", box.shared, (_job("image", "import"),), facts=folder)
    for index, staged in enumerate(common.stage_in):
        text = f"{staged.source or staged.source_volume} to {staged.target or staged.target_volume}"
        volumes = (name for name in (staged.source_volume, staged.target_volume) if name)
        facts = tuple(_site("volumes", name) for name in volumes)
        yield Origin(f"stage_in[{index}]", text, (_job("stage_in", index),), facts=facts)
    trials = common.trials
    if trials is not None:
        yield Origin("trials", str(trials.count), (_job("trials", "count"), _job("trials")))
        if trials.seed:
            first = trials.first_seed
            text = "random" if first is None else f"from {first} on"
            places = (_job("trials", "seed"), _job("trials", "first_seed"))
            yield Origin("trials.seed", f"{trials.seed}: {text}", places)
        log = trials.log or "NAME-JOBID-trial-{trial}.log beside the job's own"
        yield Origin("trials.log", log, (_job("trials", "log"),))
        yield Origin("trials.keep_going", str(trials.keep_going).lower(), (_job("trials", "keep_going"),))
    for step in common.steps:
        number = int(step.title.split()[1].rstrip(":")) - 1
        yield Origin(f"{step.when}[{number}]", _said(step), (_job(step.when, number),))


def _said(step: Step) -> str:
    name = step.title.partition(": ")[2]
    where = "in the container" if step.where == "container" else "on the host"
    return f"{name} ({_PER[step.per]}, {where}{', optional' if step.optional else ''})"


def _job(*path: str | int) -> Place:
    return Place("job", path)


def _site(*path: str) -> Place:
    return Place("site", path)
