"""What a job does beside starting its ranks once: data brought near, steps, trials, an image imported once.

Only jobs that have one of these keys (`Job.beside_ranks`) load this.
"""

import os.path
from collections.abc import Sequence

from msgspec import Struct

from hpclaunch.plan import environment, mounts, sharedimage
from hpclaunch.spec.job import ImageSpec, Job, StepSpec, TrialsSpec
from hpclaunch.spec.site import Site
from hpclaunch.spec.stagein import is_volume, long_form
from hpclaunch.values.errors import InputError, Path, Problem
from hpclaunch.values.image import is_file
from hpclaunch.values.launchplan import Mount
from hpclaunch.values.names import TRIAL
from hpclaunch.values.steps import StageIn, Step, Trials

_LONGEST_TITLE = 60


class Beside(Struct, frozen=True):
    """`shared` is the squashfs file of an image that is imported once, "" where none is. `variables` are the
    names that each trial has values of its own of."""

    stage_in: tuple[StageIn, ...] = ()
    steps: tuple[Step, ...] = ()
    trials: Trials | None = None
    shared: str = ""
    variables: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


def beside(job: Job, site: Site, mounted: Sequence[Mount]) -> Beside:
    """All of it, with what this site cannot do in `problems` and what it leaves out in `warnings`.
    `mounted` are the mounts of the ranks' container."""
    problems: list[Problem] = []
    warnings: list[str] = []
    staged = _staged(job, site, mounted, problems, warnings)
    trials = _trials(job)
    names = tuple(filter(None, (TRIAL, trials.seed))) if trials else ()
    if job.rendezvous == "torch" and trials is not None and trials.seed in environment.RENDEZVOUS:
        message = f"rendezvous: torch computes {trials.seed}: choose another name"
        problems.append(Problem(message, "job", ("trials", "seed")))
    return Beside(
        stage_in=staged,
        steps=_steps(job, site, problems, warnings),
        trials=trials,
        shared=_shared(job, site, problems),
        variables=names,
        problems=tuple(problems),
        warnings=tuple(warnings),
    )


def _trials(job: Job) -> Trials | None:
    if job.trials is None:
        return None
    spec = TrialsSpec(job.trials) if isinstance(job.trials, int) else job.trials
    log = os.path.normpath(os.path.join(job.directory, spec.log)) if spec.log is not None else ""
    return Trials(spec.count, spec.seed or "", spec.first_seed, log, spec.keep_going)


def _steps(job: Job, site: Site, problems: list[Problem], warnings: list[str]) -> tuple[Step, ...]:
    found: list[Step] = []
    for when in ("setup", "before_each", "after"):
        specs: tuple[StepSpec, ...] = getattr(job, when)
        for index, spec in enumerate(specs):
            where = spec.where or ("host" if job.image is None else "container")
            title = f"{when} {index + 1}: {spec.name or _first_words(spec.run)}"
            if where == "container" and job.image is None:
                message = "`where: container` needs an `image`: without one all steps run on the host"
                problems.append(Problem(message, "job", (when, index, "where")))
            elif where == "host" and site.scheduler == "kubernetes":
                message = f"{title}: left out: pods have no host to run it on"
                if spec.optional:
                    warnings.append(message)
                else:
                    advice = "run it in the container, or let it be `optional` and this site leaves it out"
                    text = f"`where: host` cannot be on site {site.name}: pods have no host; {advice}"
                    problems.append(Problem(text, "job", (when, index, "where")))
                continue
            argv = ("/bin/sh", "-c", spec.run) if isinstance(spec.run, str) else spec.run
            found.append(Step(when, title, argv, where, spec.per, spec.optional))
    return tuple(found)


def _first_words(run: str | tuple[str, ...]) -> str:
    """What names a step that has no name: the start of its first line that says something."""
    text = run if isinstance(run, str) else " ".join(run)
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = "".join(character if character.isprintable() else " " for character in line)
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 3] + "..."


def _staged(
    job: Job, site: Site, mounted: Sequence[Mount], problems: list[Problem], warnings: list[str]
) -> tuple[StageIn, ...]:
    found: list[StageIn] = []
    for index, entry in enumerate(job.stage_in):
        path: Path = ("stage_in", index)
        spec = long_form(entry) if isinstance(entry, str) else entry
        sides = [_side(text, job, site, path, problems) for text in (spec.source, spec.target)]
        (source, source_volume), (target, target_volume) = sides
        staged = StageIn(source, target, source_volume, target_volume)
        complaint = _complaint(staged, found)
        if complaint:
            problems.append(Problem(complaint, "job", path))
        elif job.image is not None and not any(_shows(mount, staged) for mount in mounted):
            warnings.append(
                f"stage_in[{index}]: no mount shows {target or target_volume}, so the ranks do not see it "
                "in their container"
            )
        found.append(staged)
    return tuple(found)


def _side(text: str, job: Job, site: Site, path: Path, problems: list[Problem]) -> tuple[str, str]:
    """A path and a volume, "" where there is none of either."""
    if not is_volume(text):
        full = os.path.normpath(os.path.join(job.directory, text))
        return full.replace("//", "/", 1), ""  # normpath leaves two in front, as POSIX has it
    volume = site.volumes.get(text)
    if volume is None or (volume.path is None and site.scheduler != "kubernetes"):
        problems.append(mounts.no_volume(site, text, path))
        return "", text
    return volume.path or "", text


def _complaint(staged: StageIn, before: Sequence[StageIn]) -> str:
    source, target = staged.source, staged.target
    same = staged.source_volume == staged.target_volume != "" or (source and source == target)
    if same:
        return f"it copies {source or staged.source_volume} onto itself"
    if any((each.target, each.target_volume) == (target, staged.target_volume) for each in before):
        return (
            f"another stage_in copies to {target or staged.target_volume} too: each needs a folder of its own"
        )
    if source and target and (_within(source, target) or _within(target, source)):
        return f"{source} and {target} are one within the other"
    if target == "/":
        return "the target is the whole machine"
    return ""


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _shows(mount: Mount, staged: StageIn) -> bool:
    if staged.target_volume and mount.volume == staged.target_volume:
        return True
    if not mount.source or not staged.target:
        return False
    return (
        mount.source == staged.target
        or _within(staged.target, mount.source)
        or _within(mount.source, staged.target)
    )


def _shared(job: Job, site: Site, problems: list[Problem]) -> str:
    """The file that the image is imported to. On Kubernetes the kubelet pulls, and keeps what it pulled."""
    spec = job.image
    if not isinstance(spec, ImageSpec) or spec.import_ is None or site.scheduler == "kubernetes":
        return ""
    path: Path = ("image", "import")
    if is_file(spec.ref):
        problems.append(Problem(f"{spec.ref} is a squashfs file already: leave `import` out", "job", path))
        return ""
    folder = spec.import_
    if not folder.startswith("/"):
        folder = (site.slurm.image_folder if site.slurm is not None else None) or ""
        if site.container == "pyxis" and not folder:
            message = (
                f"site {site.name} names no folder for shared images: its file would have "
                "slurm.image_folder; or write `import: /folder/that/all/nodes/see`"
            )
            problems.append(Problem(message, "job", path))
    try:
        return os.path.join(folder, sharedimage.file_name(spec.ref))
    except InputError as error:
        if spec.ref.startswith("dockerd://"):  # Pyxis' own options tell of all other trouble with it
            problems += [Problem(each.message, "job", path) for each in error.problems]
        return ""
