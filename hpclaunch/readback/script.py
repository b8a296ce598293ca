"""An sbatch script -> what it would launch: its #SBATCH lines, and the srun that its shell comes to."""

from collections.abc import Sequence

from msgspec import Struct, structs

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.budget import MOST
from hpclaunch.readback.shell.calls import Reading
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.evaluate import evaluate
from hpclaunch.readback.shell.values import known, shown
from hpclaunch.readback.slurm import forms, meanings, sweep, unlikegroups
from hpclaunch.readback.slurm.beside import FUNCTIONS, Beside
from hpclaunch.readback.slurm.container import SeenContainer, container
from hpclaunch.readback.slurm.directives import Directive, components, several
from hpclaunch.readback.slurm.layout import Layout, bound, layout
from hpclaunch.readback.slurm.notices import notices
from hpclaunch.readback.slurm.options import Given, options
from hpclaunch.readback.slurm.preflight import preflight
from hpclaunch.readback.slurm.rank import Rank, rank
from hpclaunch.readback.slurm.step import Step, step_of
from hpclaunch.readback.slurm.strangers import strangers
from hpclaunch.readback.slurm.surroundings import Surroundings, surroundings
from hpclaunch.readback.wrapper_words import WrapperWords, without_wrapper
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launch import Launch, SeenTable, SeenVariable, Unbridged
from hpclaunch.values.longrun import Notify

# A hundred trials with some steps before each are several times the work of any other script.
_MOST = 4 * MOST


class _Batch(Struct, frozen=True):
    """The #SBATCH lines: options by name, what is not understood of them, and how many nodes they ask for."""

    given: dict[str, str]
    unread: tuple[str, ...]
    unbridged: tuple[Unbridged, ...]
    nodes: str


class _Seen(Struct, frozen=True):
    """What a script tells of its ranks. `words` are those of the rank wrapper, also where there is none, and
    `tables` what they and srun bind ranks to. Other fields as those of Launch."""

    step: Step
    size: Layout
    box: SeenContainer
    ranks: Rank
    words: WrapperWords
    around: Surroundings
    tables: tuple[SeenTable, ...]
    seconds: int | None
    one_failure_ends_all: bool
    tasks: str
    notify: Notify | None
    unread: tuple[str, ...]
    unbridged: tuple[Unbridged, ...]


def read(text: str, name: str = "the script") -> Launch:
    """What the script would launch. `name` is what it is called in errors.

    Raises InputError, with its line, for a text that sbatch or bash would not take, or without an srun.
    """
    try:
        return _launch(text)
    except ScriptError as error:
        where = f"{name}:{error.line}" if error.line else name
        raise InputError([Problem(error.message, where=where)]) from None


def _launch(text: str) -> Launch:
    blocks = components(text)
    reading, has_points = sweep.without_points(evaluate(text, {"srun", *FUNCTIONS}, _MOST))
    parts = unlikegroups.parts(reading)
    if len(blocks) > 1 and (parts is None or len(parts.readings) != len(blocks)):
        raise several(blocks[1])
    batches = [_batch(lines) for _, lines in blocks]
    if parts is None:
        return _of(batches[0], reading, has_points)
    check = preflight(reading.calls)
    checked = check is not None
    if len(blocks) > 1:
        each = zip(batches, parts.readings, strict=True)
        launches = [_of(*both, has_points, parts.settings) for both in each]
        return unlikegroups.together(launches, parts, None, checked)
    # One allocation carries all: how many nodes and ranks each group has of it srun says.
    sizes = ("nodes", "ntasks-per-node")
    shared = structs.replace(
        batches[0], given={name: value for name, value in batches[0].given.items() if name not in sizes}
    )
    launches = [_of(shared, each, has_points, parts.settings) for each in parts.readings]
    nodes = batches[0].nodes if check is None else check.wanted
    return unlikegroups.together(launches, parts, nodes, checked)


def _of(batch: _Batch, reading: Reading, has_points: bool, settings: tuple[str, ...] = ()) -> Launch:
    """The launch of one srun. `settings` are those of other groups, for which the rank wrapper is too."""
    seen = _seen(batch, step_of(reading), has_points, settings)
    besides, size, box, words = seen.step.besides, seen.size, seen.box, seen.words
    return Launch(
        scheduler="slurm",
        name=batch.given.get("job-name", ""),
        nodes=size.nodes,
        ranks_per_node=size.ranks_per_node,
        gpus_per_node=size.gpus_per_node,
        whole_node="exclusive" in batch.given and "oversubscribe" not in batch.given,
        apart=True,
        numbering=size.numbering,
        one_failure_ends_all=seen.one_failure_ends_all,
        # Slurm's own default (JobRequeue=1) is to start a job again as often as a node fails.
        retries=0 if _last(batch.given, "requeue", "no-requeue") == "no-requeue" else -1,
        seconds=seen.seconds,
        image=box.image,
        argv=seen.ranks.argv,
        cwd=box.workdir or words.cwd,
        environment=_environment(seen.around, words),
        before=seen.around.exported,
        mounts=box.mounts,
        tables=seen.tables,
        settings=words.settings,
        wrapper=seen.ranks.wrapper,
        rights=box.rights,
        unread=seen.unread,
        unbridged=seen.unbridged,
        gpu_kind=size.gpu_kind,
        stage_in=besides.stage_in,
        steps=besides.steps,
        trials=besides.trials,
        tasks=seen.tasks,
        notify=seen.notify,
        groups=words.groups,
        world="separate" if seen.step.separate else "one" if words.groups else "",
    )


def _seen(batch: _Batch, step: Step, has_points: bool, settings: tuple[str, ...]) -> _Seen:
    """What that srun comes to, part by part."""
    line, check = step.call.line, step.check
    unread = list(step.unread)
    tasks = sweep.points(batch.given, has_points, unread)
    unread += [f"line {line}: srun runs only under a condition ({each})" for each in step.call.conditions]
    named = _by_name(step.given, line, unread)
    size = layout(batch.given if check is None else check.batch(batch.given, named), named)
    box = container(named)
    ranks = rank(step.command, size.ranks_per_node, line, settings)
    words = ranks.words or without_wrapper(size.ranks_per_node)
    around = surroundings(step.call, [each.name for each in words.environment if each.source == "submitter"])
    more, unbridged = meanings.of_others("srun", step.given, line)
    tables = bound(named, words.tables, more, unbridged)
    seconds = _seconds(batch.given.get("time"), more)
    if named.get("export", "ALL").upper() != "ALL":
        more.append(f"line {line}: srun --export={named['export']}: which variables ranks get")
    notify, of_notices, others = notices(step.besides.others, more)
    of_rank = sweep.complaints(ranks.unread, has_points)
    return _Seen(
        step=step,
        size=size,
        box=box,
        ranks=ranks,
        words=words,
        around=around,
        tables=tables,
        seconds=seconds,
        one_failure_ends_all=named.get("kill-on-bad-exit", "0") != "0",
        tasks=tasks,
        notify=notify,
        unread=(*batch.unread, *unread, *more, *size.unread, *box.unread, *around.unread, *of_rank),
        unbridged=(
            *_of_batch(batch, step.besides, tasks),
            *unbridged,
            *size.unbridged,
            *box.unbridged,
            *around.unbridged,
            *of_notices,
            *strangers(others),
            *([] if check is None else [check.unbridged(batch.nodes)]),
        ),
    )


def _batch(lines: Sequence[Directive]) -> _Batch:
    given: dict[str, str] = {}
    unread: list[str] = []
    unbridged: list[Unbridged] = []
    for directive in lines:
        found, rest = options("sbatch", [(argument,) if argument else () for argument in directive.arguments])
        more, others = meanings.of_others("sbatch", found, directive.line)
        unread += more
        unbridged += others
        if rest:
            unread.append(f"line {directive.line}: {shown(rest[0])} is no option of sbatch")
        for each in found:
            given.pop(each.name, None)  # the order tells which of two opposites is the last
            given[each.name] = known(each.value) or "" if each.value is not None else ""
            if each.name == "exclusive" and each.value is not None:
                unread.append(f"line {directive.line}: --{each.written.lstrip('-')}")
            if "container-" in each.name and each.name not in ("container-id", "container-type"):
                unread.append(
                    f"line {directive.line}: {each.written} starts the script itself in a container"
                )
    return _Batch(given, tuple(unread), tuple(unbridged), given.get("nodes", "1"))


def _of_batch(batch: _Batch, besides: Beside, tasks: str) -> list[Unbridged]:
    """Without the tasks of a sweep, and the signal that leaves time to the steps after all others: pods have
    such a time too."""
    after = any(step.when == "after" for step in besides.steps)
    ours = {f"--array={tasks}", *(("--signal=TERM@60",) if after else ())}
    return [each for each in batch.unbridged if each.what not in ours]


def _by_name(given: Sequence[Given], line: int, unread: list[str]) -> dict[str, str]:
    """The options of srun by name; the last of several counts."""
    found: dict[str, str] = {}
    for each in given:
        if not each.name:
            continue
        found.pop(each.name, None)
        value = each.value if each.value is not None else ("1",) if each.name == "kill-on-bad-exit" else ()
        if known(value) is None:
            unread.append(f"line {line}: {outside(each.written)}: its value is not in the text")
        found[each.name] = outside(shown(value))
    return found


def _environment(around: Surroundings, words: WrapperWords) -> tuple[SeenVariable, ...]:
    """What srun passes on, and over that what the wrapper sets."""
    found = {each.name: each for each in around.exported if not each.name.startswith("SLURM_")}
    found.update((name, SeenVariable(name, source="secret")) for name in around.secrets)
    found.update((each.name, each) for each in words.environment)
    return tuple(found.values())


def _seconds(text: str | None, unread: list[str]) -> int | None:
    try:
        return None if text is None else forms.seconds(text)
    except ValueError as error:
        unread.append(f"--time: {error}")
        return None


def _last(given: dict[str, str], *names: str) -> str:
    return next((name for name in reversed(given) if name in names), "")
