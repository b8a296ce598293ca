"""The launch of the original's run step, as far as its own words tell, beside what the site makes of the job.

The reading of the original goes by srun's options alone, and not by the facts that were put into the job: so
one holds the other.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import structs

from hpclaunch.convert.mapping.slurm import alone, sruns
from hpclaunch.convert.mapping.slurm.settled import settled
from hpclaunch.convert.mapping.slurm.sizes import sizes
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.compare import compare
from hpclaunch.readback.place import NOTHING, Side
from hpclaunch.readback.script import read as read_script
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.readback.slurm import forms
from hpclaunch.readback.slurm.container import container
from hpclaunch.readback.slurm.layout import layout
from hpclaunch.readback.slurm.options import options as slurm_options
from hpclaunch.spec.read import parse_job
from hpclaunch.values.conversion import Finding
from hpclaunch.values.errors import InputError
from hpclaunch.values.launch import Difference, Launch, SeenVariable

_BINDING = ("local rank", "node type", "HCAs", "memory", "cores", "places of ranks")
# What the reading of an original does not have: the report's findings tell of it.
_OF_TOOL = ("setting", "outside", "text beside")
_OF_REPORT = ("step", "trial", "stage_in", "name", "rights")
_NOT_READ = _OF_TOOL + _OF_REPORT
_OF_SITE = "set by the site, its node type or hpclaunch for the ranks of every job"
_WHERE_IT_RUNS = "in the original it depends on where the script runs"
_SUBMITTER = "submitter"
_ALL_GPUS = "the original asks Slurm for none: its nodes are its own, with all that is in them"
# The keys of the job file, by what of a launch they decide.
_KEYS = {
    "nodes": "nodes",
    "ranks on a node": "ranks_per_node",
    "GPUs on a node": "gpus_per_node",
    "image": "image",
    "working folder": "workdir",
    "time limit": "time",
    "command": "command",
    "mount": "mounts",
    "environment": "env",
}
_AROUND = "the words before it bound the ranks or started them: keys of the job say that now"
_BOUND = (
    "ranks are bound beside their GPU, to memory and HCAs there; the original left that to its own scripts"
)
_BESIDE = {"cpus": "local", "memory": "local", "hcas": "nearest"}
_BOUND_OTHERWISE = "what `bind` of the job file says; what it leaves out is beside the GPU"
# What differs (its first word, or all of them), where, and why: the first that fits.
_WHY: tuple[tuple[str, Callable[[Difference], bool], str], ...] = (
    ("environment", lambda each: each.a == NOTHING, _OF_SITE),
    ("mount", lambda each: each.a == NOTHING, _WHERE_IT_RUNS),
    (
        "mount",
        lambda each: each.a.startswith("path ./"),
        "a relative path starts from the folder of the job file",
    ),
    ("command", lambda each: each.a.endswith(each.b), _AROUND),
    ("command", lambda each: True, "the report says what became of the command"),
    ("GPUs on a node", lambda each: each.a == "0", _ALL_GPUS),
    ("kind of GPU", lambda each: True, "the name that the site's Slurm has for the GPUs of its nodes"),
    ("working folder", lambda each: True, "unset in the original: srun's own folder, or the image's"),
    (
        "one failing rank ends all",
        lambda each: True,
        "the first rank that fails ends the job: the others would wait for it",
    ),
    (
        "retries after a failure",
        lambda each: True,
        "a job never runs twice by itself: requeueing is Slurm's default",
    ),
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
        rendered = read_script(options.render(job, ""))
    except InputError as error:
        what = f"the job at {options.site}"
        return tuple(
            Difference(what, "launched", NOTHING, "unbridged", each.message) for each in error.problems
        )
    same = {"scheduler", "unread", "unbridged", "steps", "trials", "stage_in", "before", "settings", "rights"}
    original = structs.replace(original, **{name: getattr(rendered, name) for name in same})
    reasons = _reasons(findings)
    found: dict[str, Difference] = {}
    for each in compare(Side(original), Side(rendered)):
        if each.what.startswith(_BINDING):
            found.setdefault("binding", _binding(job))
        elif not each.what.startswith(_NOT_READ):
            found[each.what] = _explained(each, reasons, options)
    return tuple(found.values())


def _binding(job: str) -> Difference:
    """Where the job's ranks sit, beside what the original's lines said of it."""
    bind = parse_job(job, "", "/").value.bind
    told = {"cpus": bind.cpus, "memory": bind.memory, "hcas": bind.hcas}
    others = {key: each for key, each in told.items() if each != _BESIDE[key]}
    if not others:
        return Difference("binding of ranks", "its own", "beside the GPU", "place", _BOUND)
    written = ", ".join(
        f"{key} {each if isinstance(each, str) else 'listed'}" for key, each in others.items()
    )
    return Difference("binding of ranks", "its own", written, "place", _BOUND_OTHERWISE)


def _original(reading: ShellReading, options: Options) -> Launch | None:
    again = settled(reading, options)
    allocation = sizes(again)
    steps = sruns.steps(again, allocation)
    whole = {each.name: _text(each.value) for each in alone.of_container(again)}
    run = sruns.run_of(steps) or (None if whole else sruns.test_of(steps))
    by_variables = [each for each in run.asked if each.how == "variable"] if run is not None else []
    if run is None:
        run = alone.step(again, allocation)
        if run is None or not whole:
            return None
        # The script runs on the first node, as one process, in the container that sbatch was asked for.
        step, command = {**whole, "nodes": "1", "ntasks": "1"}, list(run.command.words)
    elif run.command.program == "srun":
        given, command = slurm_options("srun", run.command.words[1:])
        step = {each.name: _text(each.value) for each in by_variables}
        step |= {each.name: _text(each.value) for each in given if each.name}
        _with_image(step, [each.command for each in steps])
    else:
        return None
    words: list[Value] = [(word,) if word else () for each in again.directives for word in each.words]
    batch = {each.name: _text(each.value) for each in slurm_options("sbatch", words)[0] if each.name}
    if allocation.nodes is not None:
        batch.setdefault("nodes", str(allocation.nodes))
    size, box = layout(batch, step), container(step)
    walltime = again.last("WALLTIME")
    limit = batch.get("time") or (known(walltime.value) if walltime else None)
    return Launch(
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
        argv=tuple(map(shown, command)),
        cwd=box.workdir,
        environment=_environment(run.command, [each.written for each in by_variables]),
        before=(),
        mounts=box.mounts,
        tables=(),
        settings=(),
        wrapper="",
    )


def _with_image(step: dict[str, str], commands: Sequence[Command]) -> None:
    """A container that an earlier step made and named has that step's image."""
    for command in commands:
        made = {each.name: _text(each.value) for each in slurm_options("srun", command.words[1:])[0]}
        if "container-image" in made and made.get("container-name") == step.get("container-name"):
            step.setdefault("container-image", made["container-image"])


def _text(value: Value | None) -> str:
    return "1" if value is None else shown(value)


def _seconds(limit: str | None) -> int | None:
    try:
        return forms.seconds(limit) if limit else None
    except ValueError:
        return None


def _environment(command: Command, but: Collection[str]) -> tuple[SeenVariable, ...]:
    return tuple(
        SeenVariable(name, known(value) or "")
        if known(value) is not None
        else SeenVariable(name, "", "submitter")
        for name, value in dict(command.environment).items()
        if not name.startswith(("SLURM_", "SBATCH_")) and name not in but
    )


def _reasons(findings: Sequence[Finding]) -> dict[str, str]:
    """What findings say of variables, by their names."""
    found: dict[str, str] = {}
    for each in findings:
        if each.kind in ("replaced", "left", "without effect") and each.why:
            found.setdefault(each.what.partition("=")[0], each.why)
    return found


def _explained(each: Difference, reasons: Mapping[str, str], options: Options) -> Difference:
    given = _given(each.what, options)
    return structs.replace(each, why=given or each.why or _why(each, reasons))


def _given(what: str, options: Options) -> str:
    """That the user said it so, "" where nobody did."""
    kind, _, name = what.partition(" ")
    key = _KEYS.get(what, _KEYS.get(kind.rstrip(","), ""))
    if not key:
        return ""
    if key == "env":
        key = f"env.{name.partition(':')[0]}"
    sets = [text.partition("=")[0] for text in options.sets]
    named = next((each for each in sets if _is_of(each, key)), "")
    return f"--set {named} says so" if named else ""


def _is_of(one: str, other: str) -> bool:
    """Whether one of the two keys is the other, or is below it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _why(each: Difference, reasons: Mapping[str, str]) -> str:
    kind, _, name = each.what.partition(" ")
    if kind == "environment" and each.a != NOTHING:
        return reasons.get(name, _WHERE_IT_RUNS if _SUBMITTER in each.a else "")
    whole = (why for what, fits, why in _WHY if what in (each.what, kind.rstrip(",")) and fits(each))
    return next(whole, "")
