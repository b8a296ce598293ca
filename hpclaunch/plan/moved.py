"""A job whose files are here, for a cluster that is not: relative paths are those of copies there, by their
content, and absolute ones the cluster's own."""

import os.path
from collections.abc import Mapping

from msgspec import Struct, structs

from hpclaunch.spec import mounts, stagein
from hpclaunch.spec.job import ImageSpec, Job, MountSpec, StageInSpec
from hpclaunch.values.errors import Path, Problem
from hpclaunch.values.image import is_file

_ABSOLUTE = "write an absolute path of the cluster"


class Wanted(Struct, frozen=True):
    """The files and folders here that the job needs there, each with the key of the job that says so
    first."""

    paths: dict[str, Path]
    problems: tuple[Problem, ...]


def wanted(job: Job) -> Wanted:
    """What has to be copied, and relative paths that cannot be: those that the job writes to."""
    found: dict[str, Path] = {}
    problems: list[Problem] = []

    def want(path: str, key: Path) -> None:
        found.setdefault(_here(job, path), key)

    name = job.image_name
    if name is not None and _is_relative_file(name):
        want(name, ("image",))
    for index, mount in enumerate(_mounts(job)):
        if mount.source is not None and _is_relative(mount.source):
            want(mount.source, ("mounts", index))
    for index, entry in enumerate(_stage_in(job)):
        if not stagein.is_volume(entry.source) and _is_relative(entry.source):
            want(entry.source, ("stage_in", index))
    if job.container.save is not None and _is_relative(job.container.save):
        problems.append(_nowhere(job.container.save, ("container", "save")))
    log = getattr(job.trials, "log", None)
    if log is not None and _is_relative(log):
        advice = f"{_ABSOLUTE}, or leave it out: then it lies in the job's own folder there"
        problems.append(_nowhere(log, ("trials", "log"), advice))
    if _needs_folder(job):
        want("", ("workdir",) if job.workdir is not None else ("command",))
    if job.image is None and job.workdir is not None and os.path.normpath(job.workdir).startswith(".."):
        message = (
            f"workdir: {job.workdir} leads out of the job file's folder, which alone is copied: {_ABSOLUTE}"
        )
        problems.append(Problem(message, "job", ("workdir",)))
    return Wanted(found, tuple(problems))


def moved(job: Job, there: Mapping[str, str]) -> tuple[Job, list[str]]:
    """The job with the paths of the copies, path here -> path there, and warnings: what is shared by all that
    have the same content is nobody's to write to."""
    warnings: list[str] = []

    def path(text: str) -> str:
        return there[_here(job, text)] if _is_relative(text) else text

    changed = []
    for index, mount in enumerate(_mounts(job)):
        if mount.source is not None and _is_relative(mount.source):
            if not mount.read_only:
                warnings.append(
                    f"mounts[{index}]: {mount.source} is mounted read-only: its copy on the cluster is for "
                    "all jobs with the same content; let ranks write to an absolute path there"
                )
            mount = structs.replace(mount, source=path(mount.source), read_only=True)
        changed.append(mount)
    staged = [
        entry if stagein.is_volume(entry.source) else StageInSpec(path(entry.source), entry.target)
        for entry in _stage_in(job)
    ]
    image = job.image
    if job.image_name is not None and _is_relative_file(job.image_name):
        name = there[_here(job, job.image_name)]
        image = structs.replace(image, ref=name) if isinstance(image, ImageSpec) else name
    folder = "/"
    if _needs_folder(job):
        folder = there[_here(job, "")]
        warnings.append(
            f"{folder} is a copy of the job file's folder for all jobs with the same content, to which "
            "nobody may write: let the job write to absolute paths of the cluster"
        )
    return structs.replace(
        job, mounts=tuple(changed), stage_in=tuple(staged), image=image, directory=folder
    ), warnings


def _needs_folder(job: Job) -> bool:
    """Whether something runs in the job file's folder: the command of a job without an image, a step on the
    host, or who is told of its end."""
    on_host = job.image is None and (job.workdir is None or _is_relative(job.workdir))
    steps = (*job.setup, *job.before_each, *job.after)
    told = getattr(getattr(job, "notify", None), "command", None)
    return on_host or bool(told) or any(job.image is None or step.where == "host" for step in steps)


def _mounts(job: Job) -> list[MountSpec]:
    return [mounts.long_form(entry) if isinstance(entry, str) else entry for entry in job.mounts]


def _stage_in(job: Job) -> list[StageInSpec]:
    return [stagein.long_form(entry) if isinstance(entry, str) else entry for entry in job.stage_in]


def _here(job: Job, path: str) -> str:
    return os.path.normpath(os.path.join(job.directory, path))


def _is_relative(path: str) -> bool:
    return not path.startswith("/")


def _is_relative_file(image: str) -> bool:
    return "://" not in image and is_file(image) and _is_relative(image)


def _nowhere(path: str, key: Path, advice: str = _ABSOLUTE) -> Problem:
    message = f"{path} is written to, and over ssh the job file's folder is not on the cluster: {advice}"
    return Problem(message, "job", key)
