"""The launch of the original's run step, as far as its own words tell, beside what the site makes of the job.

The reading of the original goes by srun's options alone, and not by the facts that were put into the job: so
one holds the other.
"""

import os.path
from collections.abc import Collection, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.mapping.slurm.numbers.settled import settled
from hpclaunch.convert.mapping.slurm.numbers.sizes import sizes
from hpclaunch.convert.mapping.slurm.srun import run_command, sruns
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.mapping.slurm.starts import alone, in_text
from hpclaunch.convert.mapping.words.texts import split
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.reasons import Known, Original, explained, of_binding
from hpclaunch.readback.compare import compare
from hpclaunch.readback.kubernetes.reader import read as read_manifest
from hpclaunch.readback.place import NOTHING, Place, Side
from hpclaunch.readback.script import read as read_script
from hpclaunch.readback.shell.values import Unknown, Value, known, shown
from hpclaunch.readback.slurm import forms
from hpclaunch.readback.slurm.container import container
from hpclaunch.readback.slurm.layout import layout
from hpclaunch.readback.slurm.options import options as slurm_options
from hpclaunch.values.conversion import Finding
from hpclaunch.values.errors import InputError
from hpclaunch.values.launch import Difference, Launch, SeenVariable

_BINDING = ("local rank", "node type", "HCAs", "memory", "cores", "places of ranks")
_BINDS = ("cpu-bind", "mem-bind", "gpu-bind", "accel-bind")
# What the reading of an original does not have: the report's findings tell of it.
_OF_TOOL = ("setting", "outside", "text beside")
_OF_REPORT = ("step", "trial", "stage_in", "name", "rights")
_NOT_READ = _OF_TOOL + _OF_REPORT
# The same of a launch: what the job has there is taken for the original's.
_AS_THE_JOB = (
    *("scheduler", "unread", "unbridged", "before", "settings", "rights"),
    *("steps", "trials", "stage_in"),
)


def differences(
    reading: ShellReading, job: str, findings: Sequence[Finding], options: Options
) -> tuple[Difference, ...] | None:
    """What the original and the new job do otherwise, each with what is behind it; None where one of them
    cannot be read."""
    original = _original(reading, options)
    if original is None or options.render is None:
        return None
    try:
        text = options.render(job, "")
        rendered = read_script(text) if text.startswith("#!") else read_manifest(text)
    except InputError as error:
        what = f"the job at {options.site}"
        return tuple(
            Difference(what, "launched", NOTHING, "unbridged", each.message) for each in error.problems
        )
    launch = structs.replace(original.launch, **{name: getattr(rendered, name) for name in _AS_THE_JOB})
    told = Known(original.told, job, rendered.argv, findings, options.sets)
    found: dict[str, Difference] = {}
    where = Place(volumes=options.volumes)
    for each in compare(Side(launch), Side(rendered, where)):
        if each.what.startswith(_BINDING):
            binding = of_binding(told)
            found |= {"binding": binding} if binding is not None else {}
        elif not each.what.startswith(_NOT_READ):
            found[each.what] = structs.replace(each, why=explained(each, told))
    return tuple(found.values())


class _Read(Struct, frozen=True):
    """What the original launches, as far as its run's own words tell, and what else decides."""

    launch: Launch
    told: Original


def _original(reading: ShellReading, options: Options) -> _Read | None:
    again = settled(reading, options)
    allocation = sizes(again)
    steps = sruns.steps(again, allocation)
    whole = alone.of_container(again)
    run = sruns.run_of(steps) or (None if whole else sruns.test_of(steps))
    asked: Sequence[Asked] = run.asked if run is not None else whole
    if run is None:
        run = alone.step(again, allocation)
        if run is None or not whole:
            return None
        # The script runs on the first node, as one process, in the container that sbatch was asked for.
        step = {**{each.name: _text(each.value) for each in whole}, "nodes": "1", "ntasks": "1"}
        words = run.command.words
    elif run.command.program == "srun":
        given, inner = slurm_options("srun", run.command.words[1:])
        step = {each.name: _text(each.value) for each in asked if each.how == "variable"}
        step |= {each.name: _text(each.value) for each in given if each.name}
        _with_image(step, [each.command for each in steps])
        words = tuple(inner)
    else:
        return None
    of_batch: list[Value] = [(word,) if word else () for each in again.directives for word in each.words]
    batch = {each.name: _text(each.value) for each in slurm_options("sbatch", of_batch)[0] if each.name}
    if allocation.nodes is not None:
        batch.setdefault("nodes", str(allocation.nodes))
    size, box = layout(batch, step), container(step)
    walltime = again.last("WALLTIME")
    limit = batch.get("time") or (known(walltime.value) if walltime else None)
    launch = Launch(
        scheduler="slurm",
        name=batch.get("job-name", ""),
        nodes=size.nodes,
        ranks_per_node=size.ranks_per_node,
        gpus_per_node=size.gpus_per_node,
        whole_node=True,
        apart=True,
        numbering=size.numbering,
        one_failure_ends_all=step.get("kill-on-bad-exit", "0") != "0",
        retries=0 if "no-requeue" in batch else -1,
        seconds=_seconds(limit),
        image=box.image,
        argv=tuple(map(shown, words)),
        cwd=box.workdir,
        environment=_environment(again, run, [each.written for each in asked if each.how == "variable"]),
        before=(),
        mounts=box.mounts,
        tables=(),
        settings=(),
        wrapper="",
    )
    binding = tuple(dict.fromkeys(each.written for each in asked if each.name in _BINDS))
    unfolded = in_text.started(again, run.command, words)
    started = unfolded.words if unfolded is not None else words
    return _Read(launch, Original(started, binding, _open_targets(asked)))


def _is_submitters(value: Value) -> bool:
    """Whether all that is not told of it is in the submitter's shell."""
    parts = [part for part in value if not isinstance(part, str)]
    return all(isinstance(part, Unknown) and part.kind == "variable" for part in parts)


def _with_image(step: dict[str, str], commands: Sequence[Command]) -> None:
    """A container that an earlier step made and named has that step's image."""
    for command in commands:
        made = {each.name: _text(each.value) for each in slurm_options("srun", command.words[1:])[0]}
        if "container-image" in made and made.get("container-name") == step.get("container-name"):
            step.setdefault("container-image", made["container-image"])


def _open_targets(asked: Sequence[Asked]) -> frozenset[str]:
    """The targets of mounts SOURCE:TARGET whose source is not all told."""
    mounts = [each.value or () for each in asked if each.name == "container-mounts"]
    pairs = [split(mount, ":") for value in mounts for mount in split(value, ",")]
    return frozenset(
        os.path.normpath(shown(pair[1])) for pair in pairs if len(pair) > 1 and known(pair[0]) is None
    )


def _text(value: Value | None) -> str:
    return "1" if value is None else shown(value)


def _seconds(limit: str | None) -> int | None:
    try:
        return forms.seconds(limit) if limit else None
    except ValueError:
        return None


def _environment(reading: ShellReading, run: Step, but: Collection[str]) -> tuple[SeenVariable, ...]:
    """What the run is handed: what is exported to it, as far as its --export lets it through."""
    there = {**dict(run.command.environment), **dict(run.command.prefix)}
    export = run_command.export_of(reading, run)
    handed = dict(there) if export.of_script else {}
    for name, value in export.given:
        if value is not None:
            handed[name] = value
        elif name in there:
            handed[name] = there[name]
    return tuple(
        SeenVariable(name, text)
        if (text := known(value)) is not None
        else SeenVariable(name, "", "submitter" if _is_submitters(value) else "script")
        for name, value in handed.items()
        if not name.startswith(("SLURM_", "SBATCH_")) and name not in but
    )
