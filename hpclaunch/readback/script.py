"""An sbatch script -> what it would launch: its #SBATCH lines, and the srun that its shell comes to."""

from collections.abc import Sequence

from msgspec import Struct, structs

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.budget import MOST
from hpclaunch.readback.shell.calls import Reading
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.evaluate import evaluate
from hpclaunch.readback.shell.values import known, program_of, shown
from hpclaunch.readback.slurm import forms, meanings, rankgroups, sweep, unlikegroups
from hpclaunch.readback.slurm.beside import FUNCTIONS, Beside, beside, without
from hpclaunch.readback.slurm.container import container
from hpclaunch.readback.slurm.directives import Directive, components, several
from hpclaunch.readback.slurm.layout import bound, layout
from hpclaunch.readback.slurm.notices import notices
from hpclaunch.readback.slurm.options import Given, options
from hpclaunch.readback.slurm.preflight import chosen, preflight
from hpclaunch.readback.slurm.rank import Rank, rank
from hpclaunch.readback.slurm.runs import RANK
from hpclaunch.readback.slurm.strangers import strangers
from hpclaunch.readback.slurm.surroundings import Surroundings, surroundings
from hpclaunch.readback.wrapper_words import unbound
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launch import Launch, SeenVariable, Unbridged

# A hundred trials with some steps before each are several times the work of any other script.
_MOST = 4 * MOST


class _Batch(Struct, frozen=True):
    """The #SBATCH lines: options by name, what is not understood of them, and how many nodes they ask for."""

    given: dict[str, str]
    unread: tuple[str, ...]
    unbridged: tuple[Unbridged, ...]
    nodes: str


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
    reading, separate, of_groups = rankgroups.joined(reading)
    check = preflight(reading.calls)
    if check is not None:
        reading = structs.replace(reading, calls=check.others)
    besides = beside(reading.calls) or _alone(reading)
    step = besides.main if check is None else check.of_step(besides.main)
    given, command = options("srun", step.words[1:])
    given = given if check is None else check.options(given)
    given, command = _of_ranks(given, besides), list(without(command, besides.variables))
    unread = [f"line {note.line}: {note.text}" for note in reading.notes] + of_groups
    unread += besides.unread + (check.unread if check is not None else ())
    if check is not None and not separate and not chosen(step.words):
        unread.append(f"line {step.line}: this srun is not told which nodes were found good")
    tasks = sweep.points(batch.given, has_points, unread)
    unread += [f"line {step.line}: srun runs only under a condition ({each})" for each in step.conditions]
    named = _by_name(given, step.line, unread)
    size = layout(batch.given if check is None else check.batch(batch.given, named), named)
    box = container(named)
    ranks = rank(command, size.ranks_per_node, step.line, settings)
    groups = ranks.words.groups if ranks.words else ()
    inherited = (
        [each.name for each in ranks.words.environment if each.source == "submitter"] if ranks.words else []
    )
    around = surroundings(step, inherited)
    more, unbridged = meanings.of_others("srun", given, step.line)
    tables = ranks.words.tables if ranks.words else (unbound(size.ranks_per_node),)
    tables = bound(named, tables, more, unbridged)
    seconds = _seconds(batch.given.get("time"), more)
    if named.get("export", "ALL").upper() != "ALL":
        more.append(f"line {step.line}: srun --export={named['export']}: which variables ranks get")
    notify, of_notices, others = notices(besides.others, more)
    of_rank = sweep.complaints(ranks.unread, has_points)
    return Launch(
        scheduler="slurm",
        name=batch.given.get("job-name", ""),
        nodes=size.nodes,
        ranks_per_node=size.ranks_per_node,
        gpus_per_node=size.gpus_per_node,
        whole_node="exclusive" in batch.given and "oversubscribe" not in batch.given,
        apart=True,
        numbering=size.numbering,
        one_failure_ends_all=named.get("kill-on-bad-exit", "0") != "0",
        # Slurm's own default (JobRequeue=1) is to start a job again as often as a node fails.
        retries=0 if _last(batch.given, "requeue", "no-requeue") == "no-requeue" else -1,
        seconds=seconds,
        image=box.image,
        argv=ranks.argv,
        cwd=box.workdir or (ranks.words.cwd if ranks.words else ""),
        environment=_environment(around, ranks),
        before=around.exported,
        mounts=box.mounts,
        tables=tables,
        settings=ranks.words.settings if ranks.words else (),
        wrapper=ranks.wrapper,
        rights=box.rights,
        unread=(*batch.unread, *unread, *more, *size.unread, *box.unread, *around.unread, *of_rank),
        unbridged=(
            *_of_batch(batch, besides, tasks),
            *unbridged,
            *size.unbridged,
            *box.unbridged,
            *around.unbridged,
            *of_notices,
            *strangers(others),
            *([] if check is None else [check.unbridged(batch.nodes)]),
        ),
        gpu_kind=size.gpu_kind,
        stage_in=besides.stage_in,
        steps=besides.steps,
        trials=besides.trials,
        tasks=tasks,
        notify=notify,
        groups=groups,
        world="separate" if separate else "one" if groups else "",
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


def _alone(reading: Reading) -> Beside:
    """The srun that starts the ranks, and what else is run, of a script that is not of hpclaunch's form."""
    steps = [call for call in reading.calls if program_of(call.words) == "srun"]
    if not steps:
        raise ScriptError("no srun in it starts ranks")
    chosen = ([call for call in steps if (RANK,) in call.words] or steps)[-1]
    others = (
        call for call in reading.calls if call is not chosen and program_of(call.words) not in FUNCTIONS
    )
    return Beside(chosen, tuple(others))


def _of_ranks(given: Sequence[Given], besides: Beside) -> list[Given]:
    """The options of the ranks' srun but for the name by which steps find their container, and with the image
    in place of the file that it was imported to."""
    found = []
    for each in given:
        imported = dict(besides.images).get(outside(known(each.value or ()) or ""))
        if each.name == "container-image" and imported is not None:
            each = structs.replace(each, value=(imported,))
        if not (each.name == "container-name" and besides.one_container):
            found.append(each)
    return found


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


def _environment(around: Surroundings, ranks: Rank) -> tuple[SeenVariable, ...]:
    """What srun passes on, and over that what the wrapper sets."""
    found = {each.name: each for each in around.exported if not each.name.startswith("SLURM_")}
    found.update((name, SeenVariable(name, source="secret")) for name in around.secrets)
    found.update((each.name, each) for each in (ranks.words.environment if ranks.words else ()))
    return tuple(found.values())


def _seconds(text: str | None, unread: list[str]) -> int | None:
    try:
        return None if text is None else forms.seconds(text)
    except ValueError as error:
        unread.append(f"--time: {error}")
        return None


def _last(given: dict[str, str], *names: str) -> str:
    return next((name for name in reversed(given) if name in names), "")
