"""What a script asks of Slurm as a whole -> the job's name, nodes, time, GPUs and hints."""

import re
from collections.abc import Mapping, Sequence

from hpclaunch.convert.draft import Draft, sayable
from hpclaunch.convert.mapping.slurm.batch import batch_options, edited, few_tasks, hosts_not_told
from hpclaunch.convert.mapping.slurm.batch.asked import NODES, Asked, number, of_batch, own_hosts, submitting
from hpclaunch.convert.mapping.slurm.batch.of_slurm import is_of_slurm
from hpclaunch.convert.mapping.slurm.numbers.sizes import (
    OF_GPUS,
    Allocation,
    Gpus,
    gpus_beside,
    gpus_of,
    last,
    sizes,
)
from hpclaunch.convert.mapping.words.made import either_of
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.programs import srun
from hpclaunch.convert.programs.layers import MPI, STARTERS, layers
from hpclaunch.convert.programs.names import STEPS, SUBMITTERS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.to_fill_in import to_fill_in
from hpclaunch.readback.shell.values import known, shown
from hpclaunch.readback.slurm import forms
from hpclaunch.spec import hosts, scalars
from hpclaunch.values.conversion import Finding, Place

_SIZES = """
job-name nodes ntasks ntasks-per-node time time-min gres gpus gpus-per-node gpus-per-task ntasks-per-gpu
gpus-per-socket
"""
_BRIEF = 60
_BY_OPERATOR = "unless the operator gave sbatch one (-t), it is the partition's default"
_BY_PARTITION = "nothing ends what the script starts, and a job of Slurm has the partition's default"
NO_LIMIT = "no line gives a time limit"
WITHOUT_LIMIT = frozenset(("-1", "0", "infinite", "unlimited"))  # what --time and -t have for none
_OF_NODES = re.compile(r"SLURM_(JOB_NUM_NODES|NNODES|JOB_NODELIST|NODELIST)\b")
# Shifter adds it to sbatch (its plugin shifter_slurm), and `shifter --image` counts more.
_OF_SHIFTER = ("--image=", "--image ")
_ONE_BY_SBATCH = "sbatch gives one node where -N is not given (sbatch(1), --nodes)"
_ONE_BY_MPIRUN = "mpirun without a list of hosts starts all ranks on its own machine"
_AS_WRITTEN = "sbatch -N ... by the launchers' README: on the operator's command line, where it counts most"


def put(reading: ShellReading, draft: Draft) -> Allocation:
    """Put what the script asks of sbatch into the draft: name, nodes, time, GPUs, hints. What no line tells
    and a job needs is asked for."""
    asked = of_batch(reading)
    given = last(asked)
    for each in batch_options.ordered(asked):
        if each.name and given[each.name] is not each and each.name not in batch_options.ADDED_UP:
            why = f"{given[each.name].written} counts more than this line"
            draft.say("replaced", each.places, each.written, why=why)
        elif each.name not in _SIZES.split():
            batch_options.put(each, draft)
    _submitted_often(reading, draft)
    edited.say(reading, draft)
    found = sizes(reading, asked)
    _name(reading, given, draft)
    _nodes(reading, given, found, draft)
    few_tasks.say(given, found, draft)
    _time(reading, given, draft)
    _put_gpus(gpus_of(reading, given, found), draft)
    _say_unlike(gpus_beside(given, found), draft)
    batch_options.say_shared(draft)
    _other_resources(given, draft)
    return found


def _submitted_often(reading: ShellReading, draft: Draft) -> None:
    for command in reading.of("sbatch"):
        if command.loops:
            several = len(command.loops) > 1
            of_each = "each combination of their values" if several else "each value"
            over = ", and ".join(loop.over for loop in command.loops)
            draft.say(
                "left",
                (*(loop.place for loop in command.loops), command.place),
                f"{'loops' if several else 'a loop'} of sbatch over {over}",
                why="a job file is one job",
                todo=f"submit it once for {of_each}, with --set",
            )
            return
    own = {tuple(map(shown, each.words)): each for each in submitting(reading)}
    if len(own) > 1:
        *others, taken = own.values()
        text = taken.brief(_BRIEF)
        is_last = all(each.place <= taken.place for each in others)
        why = f"each is a job of its own, and this file is that of {'the last: ' * is_last}{text}"
        todo = "convert again without the other lines for each of them, or make its job file of this one"
        places = [each.place for each in (*others, taken)]
        draft.say("question", places, f"{len(own)} lines submit jobs", why=why, todo=todo)


def _name(reading: ShellReading, given: Mapping[str, Asked], draft: Draft) -> None:
    each = given.get("job-name")
    own: tuple[Place, ...] = ()
    why = ""
    if each is not None:
        text = each.text
        if text is None or _VARIABLE.search(text):
            draft.ask(("name",), "the job's name", each.places, each.written)
            return
        if left := to_fill_in(text):
            draft.ask(("name",), f"the job's name: {left!r} is to be filled in", each.places, each.written)
            return
        good = _good_name(text)
        why = "" if good == text else f"{text!r} is no name: letters, digits, '.', '_' and '-'"
        if good:
            draft.put(("name",), good, each.places, each.written, why=why)
            return
        own = each.places if text else ()
    submits = next((each for each in reading.of("sbatch") if each.place in reading.followed), None)
    if submits is None:
        why = why or ("" if is_of_slurm(reading) else _AFTER_SCRIPT)
        put_name_of(reading.script, (*own, Place(reading.script)), draft, why)
        return
    script = srun.read(submits.words)[1][:1]
    if script and known(script[0]):
        put_name_of(known(script[0]) or "", (*own, submits.place), draft, why)
    else:
        put_name_of(reading.script, (*own, Place(reading.script)), draft, why or _NOT_BY_SCRIPT)


def put_name_of(script: str, places: tuple[Place, ...], draft: Draft, why: str = "") -> None:
    """The name that a job has after its script."""
    file = script.rpartition("/")[2]
    good = _good_name(file.rsplit(".", 1)[0]) or "job"
    draft.put(("name",), good, places, f"the script's name {file}", why=why or BY_SCRIPT)


BY_SCRIPT = "sbatch names a job after its script where no line names it"
_AFTER_SCRIPT = "no line names it, and the job is named after its script"
# "sbatch" it calls one that it reads from its standard input (sbatch(1), --job-name), "wrap" that of --wrap.
_NOT_BY_SCRIPT = "no line names it, and the script that sbatch is given has no name that is told"
# Slurm 22.05 gives -N 2 --gpus=8 seven on one node and one on the other, with --exclusive too.
_SPREAD = "Slurm may have more of them on one node than on another; hpclaunch has as many on each"
_VARIABLE = re.compile(r"\$[\w@*#?{(]")  # sbatch puts in none: it is of a text that another script writes


def _good_name(text: str) -> str:
    text = re.sub(r"%\d*[A-Za-z]", "", text)  # %j is put in by Slurm in names of files alone
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:128]


def _nodes(reading: ShellReading, given: Mapping[str, Asked], found: Allocation, draft: Draft) -> None:
    each = given.get("nodes")
    if found.nodes is not None:
        what = next((given[name].written for name in ("nodes", "ntasks", "gpus") if name in given), "nodes")
        if not 1 <= found.nodes <= 100_000:
            draft.ask(("nodes",), f"how many nodes: {what} is no such number", found.places["nodes"], what)
            return
        why = _AS_WRITTEN if each is not None and each.how == "convention" else ""
        draft.put(("nodes",), found.nodes, found.places["nodes"], what, why=why)
    elif each is not None:
        told = f"{each.written} is a range or not known" if each.text is None or each.text else ""
        told = either_of(reading, each.value or ()) or told
        draft.ask(("nodes",), f"how many nodes{': ' * bool(told)}{told}", each.places, each.written)
    elif (chosen := given.get("nodelist")) is not None and _named_hosts(chosen) != 1:
        told = f"without -N a job has all hosts of {chosen.written}, and others where these are too few"
        draft.ask(("nodes",), f"how many nodes: {told}", chosen.places, chosen.written)
    else:
        lines = _of_several_nodes(reading)
        listed = None if lines else hosts_not_told.find(reading)
        total = given.get("ntasks") or _some_gpus(given)
        if lines or total is not None:
            told = "no line tells, and the operator may have given it to sbatch (-N)"
            if not lines and total is not None:
                lines = total.places
                told = f"{total.written} leaves it to Slurm, unless the operator gave sbatch -N"
            question = f"how many nodes: {told}"
            named = next((name for name in NODES if name in reading.wanted), "-N of sbatch")
            draft.ask(("nodes",), question, lines, named)
        elif listed:
            what, said = listed[0]
            draft.ask(("nodes",), f"how many nodes: {said}", (listed[1],), what)
        else:
            draft.say(
                "assumed",
                (Place(reading.script),),
                "no line says how many nodes",
                became="nodes: 1, which the job file need not say",
                why=_ONE_BY_MPIRUN if _is_by_mpirun_alone(reading) else _ONE_BY_SBATCH,
                todo="where the operator asked for more (-N N) write nodes: N in the job file",
                key="nodes",
            )


def _some_gpus(given: Mapping[str, Asked]) -> Asked | None:
    """--gpus, of which Slurm makes nodes; --gpus=0 asks for none."""
    each = given.get("gpus")
    return each if each is not None and each.text != "0" else None


def _named_hosts(chosen: Asked) -> int | None:
    """How many hosts -w names (sbatch(1), --nodelist), None where it is a file of them, or not known."""
    try:
        return hosts.count(chosen.text or "")
    except ValueError:
        return None


def is_for_several(reading: ShellReading) -> bool:
    """Whether a line asks for nodes, for tasks on any of them, or which nodes there are."""
    given = last(of_batch(reading))
    asks = "nodes" in given or "ntasks" in given or _some_gpus(given) is not None
    return asks or bool(_of_several_nodes(reading))


def _of_several_nodes(reading: ShellReading) -> tuple[Place, ...]:
    """Lines that ask how many nodes there are, or which: the script is written for several."""
    for name in NODES:
        if name in reading.wanted:
            return reading.wanted[name]
    return (
        tuple(each.place for each in reading.commands if _OF_NODES.search(each.written))[:3]
        or tuple(
            place for name, places in reading.wanted.items() for place in places if _OF_NODES.match(name)
        )[:3]
        or tuple(each.place for each in reading.assigned if _OF_NODES.search(shown(each.value)))[:3]
        or own_hosts(reading)[:3]
    )


def _is_by_mpirun_alone(reading: ShellReading) -> bool:
    """Whether mpirun starts the ranks, and nothing in the script is of Slurm."""
    its = [layers(each.words) for each in reading.of(*STARTERS)]
    programs = {layer.program for each in its for layer in each}
    of_slurm = reading.directives or not programs.isdisjoint((*STEPS, *SUBMITTERS))
    return not of_slurm and not programs.isdisjoint(MPI)


def _time(reading: ShellReading, given: Mapping[str, Asked], draft: Draft) -> None:
    least = given.get("time-min")
    if least is not None:
        why = "a job file has one limit"
        draft.say(
            "left", least.places, least.written, why=why, todo="lower `time` where it should start sooner"
        )
    each = given.get("time")
    if each is None:
        draft.say(
            "question",
            reading.wanted.get("WALLTIME", (Place(reading.script),)),
            NO_LIMIT,
            why=_BY_OPERATOR if is_of_slurm(reading) else _BY_PARTITION,
            todo="write `time` in the job file, or convert again with --env WALLTIME=...",
        )
        return
    minutes = number(each.value, reading, {})
    if each.text is None and minutes is not None:
        _say_later(reading, each, draft)
    text = each.text if each.text is not None or minutes is None else str(minutes)
    if text is None:
        either = either_of(reading, each.value or ())
        question = f"the time limit: {either}" if either else f"the time limit, which {each.written} gives"
        draft.ask(("time",), question, each.places, each.written)
        return
    why = _AS_WRITTEN.replace("-N", "-t") if each.how == "convention" else ""
    if text.lower() in WITHOUT_LIMIT:
        draft.put(("time",), "UNLIMITED", each.places, each.written, why=why)
        return
    try:
        scalars.minutes(text)
        forms.seconds(text)
    except ValueError as error:
        draft.ask(("time",), f"the time limit: {error}", each.places, each.written)
        return
    draft.put(("time",), _clock(text), each.places, each.written, why=why)


def _say_later(reading: ShellReading, each: Asked, draft: Draft) -> None:
    """Say that a limit is made of defaults that a script gives behind it: a configuration that is sourced
    before had none of them, but where the operator gave some."""
    for name in sorted(names_in(each.value or ())):
        given = reading.last(name)
        if given is not None and given.default:
            value = shown(given.value)
            why = "the time limit is made of it before the script gives it that: unset it counts 0 there"
            todo = f"where the operator had set it convert again with --env {name}=..., else correct `time`"
            draft.say("assumed", (given.place, *each.places), name, became=value, why=why, todo=todo)


def _clock(text: str) -> str:
    """Plain minutes as hours and minutes, which nobody takes for something else."""
    if not text.isdecimal():
        return text
    days, minutes = divmod(int(text), 24 * 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:00"
    return f"{days}-{clock}" if days else clock


def put_gpus_of(found: Gpus, draft: Draft) -> None:
    """Those that are told."""
    draft.put(("gpus_per_node",), found.number, found.places, found.written)
    if found.in_all and (found.number or 0) > 1:
        became = f"gpus_per_node: {found.number}"
        draft.say("assumed", found.places, found.written, became=became, why=_SPREAD)
    if found.kind:
        why = "Slurm's name of the kind of GPU, which another site may not have"
        draft.put(("gpu_type",), found.kind, found.places, found.written, why=why)


def _put_gpus(found: Gpus, draft: Draft) -> None:
    if found.number is not None:
        put_gpus_of(found, draft)
    elif found.written:
        question = f"how many GPUs on each node: {found.written} does not tell it"
        draft.ask(("gpus_per_node",), question, found.places, found.written)


def _say_unlike(told: Sequence[tuple[Asked, int]], draft: Draft) -> None:
    """That options say unlike numbers, of which the job has the first."""
    if told:
        first, *others = (f"{each.written} ({count} on a node)" for each, count in told)
        why = f"{' and '.join(others)} {'say' if len(others) > 1 else 'says'} another number, and which"
        why += " of them Slurm gave no line tells"
        todo = "see how many GPUs the job had on each node, and correct gpus_per_node"
        places = dict.fromkeys(place for each, _ in told for place in each.places)
        became = f"gpus_per_node: {told[0][1]}"
        draft.say("question", tuple(places), first, became=became, why=why, todo=todo)


def _other_resources(given: Mapping[str, Asked], draft: Draft) -> None:
    each = given.get("gres")
    others = forms.gpus_of_gres(each.text)[2] if each is not None and each.text else []
    # A number of GPUs that cannot be read (gpu:) is asked for.
    others = [part for part in others if part.partition(":")[0] != "gpu"]
    if each is not None and others:
        draft.say(
            "left",
            each.places,
            f"--gres={','.join(others)}",
            why="a resource of Slurm's whose name is not gpu",
            todo="ask the site whether the job needs it: --gres is hpclaunch's own, and is not passed on",
        )


def say_unused(reading: ShellReading, draft: Draft) -> None:
    """Say of each option of a #SBATCH line that no finding names that nothing of the job follows from it, and
    of a line that is nothing but a variable that its options are not told."""
    by_place: dict[Place, list[Finding]] = {}
    for finding in draft.findings:
        for place in finding.places:
            by_place.setdefault(place, []).append(finding)
    for line in reading.directives:
        if line.system == "SBATCH" and len(line.words) == 1 and line.words[0].startswith("$"):
            why = f"which options of sbatch {line.words[0]} stands for is not told"
            draft.say("question", (line.place,), line.words[0], why=why, todo=batch_options.GIVE)
    for each in of_batch(reading):
        its = [finding for place in each.places for finding in by_place.get(place, ())]
        if each.how != "directive" or any(_is_about(finding, each) for finding in its):
            continue
        if each.name == "nodes" or each.name.startswith("ntasks"):
            number = "how many nodes it has" if each.name == "nodes" else "how many ranks a node has"
            why = (
                f"{number} is told, or asked, by what starts {'the run' if each.name == 'nodes' else 'them'}"
            )
            draft.say("replaced", each.places, each.written, why=why)
        elif each.name in OF_GPUS and draft.number("gpus_per_node") is not None:
            draft.say("replaced", each.places, each.written, why="another line tells the GPUs of a node")
        elif each.written.startswith(_OF_SHIFTER) and ("image",) in draft.facts:
            draft.say("replaced", each.places, each.written, why="the line of the run names its image itself")
        else:
            why, todo = "nothing of the job follows from it", "see that the job asks for what this line did"
            draft.say("left", each.places, each.written, why=why, todo=todo)


def _is_about(finding: Finding, asked: Asked) -> bool:
    """Whether a finding of the option's line is about the option. What is no size is told by its line."""
    if asked.name != "nodes" and not asked.name.startswith("ntasks"):
        return True
    key = "nodes" if asked.name == "nodes" else "ranks_per_node"
    told = finding.key or finding.became.partition(":")[0]
    is_of_all = key == "nodes" and "nodes for the whole" in finding.what
    return is_of_all or key in told or sayable(asked.written) in finding.what
