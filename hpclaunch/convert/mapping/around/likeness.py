"""Whether a step of srun has the settings of the job's run: a job's steps have its image, its mounts and
its nodes, and none of their own."""

import re
from collections.abc import Mapping

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container.images import image_of
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.slurm.srun import step_options
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs import srun
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.shell.walk import inner as inside_of
from hpclaunch.readback.shell.values import known, program_of, shown

# Options whose value is the run's in a job; where a step has none it takes what there is.
_OF_PLACE = ("nodelist", "exclude", "relative", "chdir")
# Those that `unlike` compares, that the layout follows from, or that mark the output.
_NAMES = """
nodes ntasks ntasks-per-node ntasks-per-gpu gres gpus gpus-per-node gpus-per-task mpi export
container-image container-mounts container-name container-workdir label unbuffered
"""
_TOLD = step_options.OF_EVERY_JOB | frozenset(_NAMES.split())
# Programs without MPI: a launcher that gives --mpi to each srun alike changes nothing for them.
_PLAIN_NAMES = """
: [ true test echo printf hostname date sync sysctl sleep mkdir rm cp mv ln ls cat grep head tail sed awk tee
chmod touch find df free uname env nvidia-smi ibv_devinfo ibstat lscpu enroot
"""
_PLAIN = frozenset(_PLAIN_NAMES.split())
# What a program of Python names that may start MPI.
_MAY_USE_MPI = re.compile(
    r"mpi|horovod|distributed|torch|jax|tensorflow|mxnet|\bexec\b|__import__", re.IGNORECASE
)
# A path that starts from the folder where the program does, or what may import modules from there.
_RELATIVE = re.compile(
    r"""(?:^|[\s"'=])(?:\.{1,2}/|(?![-/$\w]*[:=])\w[\w.-]*(?:/[\w./-]+|\.(?:py|sh)\b)|-m\s)|\bimport\s"""
)


def unlike(step: Step, run: Step, containers: Mapping[str, Asked], draft: Draft, per: str) -> str:
    """What the step has otherwise than the run, "" where a step of the job is the same. `containers` are
    those that steps make, with their images; `per` is what the step would be."""
    nodes = draft.number("nodes")
    if mpi := _mpi(step, per, draft):
        return mpi
    if per != "job" and nodes and step.ranks.nodes and step.ranks.nodes != nodes:
        if step.ranks.nodes > nodes:
            return f"it runs on {step.ranks.nodes} nodes, and a step on those of the run, which are {nodes}"
        return f"it runs on {step.ranks.nodes} of the {nodes} nodes, and a step on one or on all"
    names: tuple[str, ...] = _OF_PLACE
    if step.in_container and run.in_container:
        image, of_run = (image_of(each, containers) for each in (step, run))
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
    return ""


def say_own(step: Step, run: Step, key: str, draft: Draft) -> None:
    """Say what the step, which is carried as `key`, has no more: options of its own, and its folder."""
    own = [
        each
        for each in step.asked
        if each.name and each.name not in _TOLD and each.how == "command"
        if _text(step, each.name) != _text(run, each.name) or run.option(each.name) is None
    ]
    if own:
        written = ", ".join(dict.fromkeys(each.written for each in own))
        why = "a job's steps have the options of its run, and none of their own"
        lines = [place for each in own for place in each.places]
        draft.say("left", lines, written, why=why, todo="see that it needs none of them", key=key)
    folder = _text(run, "container-workdir")
    inside = step.in_container and run.in_container
    if inside and folder and not _text(step, "container-workdir") and _RELATIVE.search(step.text):
        why = f"it started in the image's own folder, and a job's steps do in that of its run, {folder}"
        todo = "see that it finds its files there, or write `cd` and the image's folder in front of it"
        draft.say("left", (step.command.place,), "no --container-workdir", why=why, todo=todo, key=key)


def _mpi(step: Step, per: str, draft: Draft) -> str:
    own = srun.mpi_kind(_text(step, "mpi"))
    if own in ("", "none") or per not in ("rank", "node") or _is_without_mpi(step):
        return ""
    fact = draft.facts.get(("mpi",))
    its = "none" if fact is None else fact.value
    if per == "node":
        return f"its ranks find each other by MPI (--mpi={own}), and a step on each node has none"
    if its is not None and own != its:
        return f"its --mpi is {own}, and a job's steps have what its ranks have ({its})"
    return ""


def _is_without_mpi(step: Step) -> bool:
    words = step.words
    program = program_of(words)
    texts = [known(word) for word in words[1:]]
    if re.fullmatch(r"python[\d.]*", program) and texts[:1] == ["-c"]:
        return len(texts) > 1 and texts[1] is not None and not _MAY_USE_MPI.search(texts[1])
    inside = [words]
    if program in SHELLS:
        inside = [layers(each.words)[-1].words for each in inside_of(step.command, words)]
    return bool(inside) and all(program_of(each) in _PLAIN for each in inside)


def _text(step: Step, name: str) -> str:
    each = step.option(name)
    return shown(each.value) if each is not None and each.value is not None else ""


def _parts(step: Step, name: str) -> set[str]:
    return set(filter(None, _text(step, name).split(",")))
