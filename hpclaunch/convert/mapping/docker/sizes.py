"""How many nodes, ranks and GPUs a launcher with docker has: from Slurm, its configuration, lists of hosts
and mpirun."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.docker.arguments import count_of_gpus, visible_gpus
from hpclaunch.convert.mapping.docker.steps import Started
from hpclaunch.convert.mapping.ranks import mpi
from hpclaunch.convert.mapping.slurm.batch.asked import GPUS, number, origin_of
from hpclaunch.convert.mapping.slurm.batch.of_slurm import is_of_slurm
from hpclaunch.convert.mapping.slurm.numbers.settled import by_role, settled
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import Ranks
from hpclaunch.convert.mapping.slurm.starts.by_mpirun import of_all
from hpclaunch.convert.mapping.words.host_lists import lists
from hpclaunch.convert.mapping.words.variables import names_in
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import Layer, Option, layers
from hpclaunch.convert.programs.slurm_variables import is_slurms
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

_LARGEST = 1 << 18
_BY_SLOT = ("", "slot")
# Options of mpirun that tell it of other machines.
OF_HOSTS = ("hostfile", "host", "launch-agent")
_TASKS = "SLURM_NTASKS_PER_NODE"
_OF_GPUS = re.compile(r"gpu|nvidia|runtime|cuda|/dev/(?:dri|kfd)", re.IGNORECASE)
# $(seq 0 7 | tr '\n' ','): all lines are kept by what is behind it
_FROM_0 = re.compile(
    r"\$\(seq(?: -s ?\S+)? 0 (\d{1,3})(?: *\| *(?:tr '?\\+n|sed (?:-e )?['\"]?s|paste -s|xargs)[^()|]*)*\)"
)
_SLOTS = re.compile(r"\bslots\s*=\s*(\$?\{?\w+\}?)")


def told(reading: ShellReading, draft: Draft, options: Options) -> ShellReading:
    """The reading of a walk that knows how many nodes and tasks there are, so that what the script does on
    several nodes alone is known; and which configuration it sources, where one was given.
    --ntasks-per-node $DGXNGPU, which the README has on the command line, counts more than the script's own.
    """
    if sum(len(source.text) for source in reading.sources) > _LARGEST:
        return reading
    given: dict[str, str] = {}
    lines: dict[str, Place] = {}
    for name, (text, file, place) in _configured(reading, options).items():
        given[name], lines[name] = text, Place(file)
        draft.say(
            "assumed",
            (place, Place(file)),
            f"{name} is {text}",
            why="the script sources the file of that name, and it is the one that was given",
            todo=f"where that is not meant convert again with --env {name}=... and its file",
        )
    if given:
        reading = _again(reading, {**options.environment, **given})
    others = reading.directives
    gpus = _of_configuration(reading)
    if gpus is not None:
        given[_TASKS], lines[_TASKS] = str(gpus[0]), gpus[1][0]
        others = tuple(
            each for each in others if not any(word.startswith("--ntasks-per-node") for word in each.words)
        )
        reading = _again(reading, {**options.environment, **given})
    asked = structs.replace(options, environment={**options.environment, **given})
    again = settled(structs.replace(reading, directives=others), asked)
    places = {Place(f"--env {name}"): place for name, place in lines.items()}
    return structs.replace(
        again,
        directives=reading.directives,
        assigned=tuple(
            structs.replace(each, place=places.get(each.place, each.place)) for each in again.assigned
        ),
    )


def _again(reading: ShellReading, environment: Mapping[str, str]) -> ShellReading:
    """The reading of a walk with these variables, or as it was where that cannot be."""
    try:
        shells = by_role(reading)["shell"]
        again = walk.read(shells, environment, reading.script, arguments=reading.arguments)
    except (ScriptError, InputError):
        return reading
    return structs.replace(again, sources=reading.sources, beside=reading.beside)


def _configured(reading: ShellReading, options: Options) -> dict[str, tuple[str, str, Place]]:
    """The variable in `source config_${SYSTEM}.sh` that has a default, or no value, by the name of the one
    file that fits and that nothing else sources: its value, the file, and the line."""
    used = {each.file for each in reading.sourced if each.file} | {reading.script}
    found: dict[str, tuple[str, str, Place]] = {}
    for each in reading.sourced:
        here = each.place.file, each.place.line
        statements = (its for its in reading.statements if (its.place.file, its.place.line) == here)
        written = next((its.written for its in statements), "")
        path = re.search(r"(?:source|\.)\s+[\"']?([^\s\"';]+)", written)
        variables = re.findall(r"\$\{?(\w+)\}?", path[1].rpartition("/")[2]) if path else []
        if each.file or path is None or len(variables) != 1 or variables[0] in options.environment:
            continue
        first, last = re.split(r"\$\{?\w+\}?", path[1].rpartition("/")[2])
        fitting = {
            source.name: base[len(first) : len(base) - len(last)]
            for source in reading.sources
            if (base := source.name.rpartition("/")[2]).startswith(first)
            and base.endswith(last)
            and len(base) > len(first) + len(last)
            and source.name not in used
        }
        if len(fitting) == 1:
            file, text = next(iter(fitting.items()))
            found.setdefault(variables[0], (text, file, each.place))
    return found


def _of_configuration(reading: ShellReading) -> tuple[int, tuple[Place, ...]] | None:
    """GPUs on a node, by the variable of the configuration."""
    for name in GPUS:
        each = reading.last(name)
        count = number(each.value, reading, {}) if each is not None else None
        if count is not None:
            return count, origin_of(reading, name)
    return None


def with_ranks(reading: ShellReading, found: Allocation) -> Allocation:
    """The allocation with the tasks on a node that the operator gives by the README."""
    gpus = _of_configuration(reading)
    if gpus is None:
        return found
    return structs.replace(found, per_node=gpus[0], places={**found.places, "per_node": gpus[1]})


def numbers(reading: ShellReading, found: Allocation) -> Mapping[str, int]:
    """Slurm's own variables as far as they are known, also those that the script sets itself."""
    result = dict(found.numbers)
    each = reading.last(_TASKS)
    text = known(each.value) if each is not None else None
    if text and text.isdecimal() and _TASKS not in result:
        result[_TASKS] = int(text)
    return result


def put_ranks(
    reading: ShellReading,
    command: Command,
    mpirun: Layer,
    found: Allocation,
    slurm_numbers: Mapping[str, int],
    draft: Draft,
) -> None:
    """Ranks on a node, by mpirun's own options, or by the slots of its list of hosts."""
    size = mpi.ranks_of(reading, command, mpirun, found.nodes, slurm_numbers)
    slots = _slots(reading, found, slurm_numbers)
    told, what, why = None, "", ""
    if size is not None and size.per_node is not None and not (slots and slots[0] and _fills(mpirun)):
        told, what = Ranks(found.nodes, size.per_node, size.places), size.what
    elif slots is not None and slots[0] is not None:
        told, what = Ranks(found.nodes, slots[0], slots[1]), slots[2]
        why = "mpirun fills the slots of each host"
    if told is not None:
        total = mpirun.option("np")
        count = number(total.value, reading, slurm_numbers) if total is not None else None
        sized = of_all(reading, mpirun, told, slurm_numbers) if count else told
        if found.nodes is None:  # other lines may say others: who counts nodes has asked for them
            sized = structs.replace(sized, nodes=None)
        if why and count and told.per_node and count % told.per_node == 0 and found.nodes is None:
            sized = structs.replace(told, nodes=count // told.per_node)
        if sized.per_node is None:
            question = f"how many ranks on each node: {sized.doubt}"
            draft.ask(("ranks_per_node",), question, sized.places, what)
            return
        if why and total is not None and count is None:
            missing = [name for name in sorted(names_in(total.value or ())) if reading.last(name) is None]
            wanted = " ".join(f"--env {name}=..." for name in missing if not is_slurms(name))
            why = f"{why}, as far as {total.written} goes, which is not told"
            how = f"convert again with {wanted}" if wanted else "write ranks_per_node"
            draft.put(("ranks_per_node",), sized.per_node, sized.places, what, why, "assumed")
            draft.say("question", (command.place,), total.written, why="how many ranks it makes", todo=how)
        else:
            draft.put(("ranks_per_node",), sized.per_node, sized.places, what, why=why)
        if total is not None and sized.nodes and sized.nodes != found.nodes:
            places = (*reading.origin(command, known(total.value or ()) or total.written), *sized.places)
            draft.put(("nodes",), sized.nodes, places, f"{total.written} with {what}")
        return
    places = slots[1] if slots is not None else size.places if size is not None else (command.place,)
    what = slots[2] if slots is not None else size.what if size is not None else mpirun.program
    if found.nodes is None and slots is None and _is_on_one_machine(reading, command, mpirun):
        its = mpi.told_by(mpirun, lambda option: number(option.value, reading, slurm_numbers))
        if its is not None and its.is_total and its.total:
            why = "no line names a host, so that mpirun starts all of them in its own container"
            draft.put(("ranks_per_node",), its.total, places, what, why, "assumed")
            return
    question = f"how many ranks on each node: {what} does not tell it"
    draft.ask(("ranks_per_node",), question, places, what)


def _is_on_one_machine(reading: ShellReading, command: Command, mpirun: Layer) -> bool:
    """Whether it is in a container that the script itself starts, and is told of no hosts, neither by an
    option nor by Slurm: then it starts all on its own (mpirun(1) of Open MPI, "Quick Summary": "or will
    default to running all X copies on the localhost")."""
    first = next((each.program for each in layers(command.words) if each.program != "sudo"), "")
    if first != "docker run" or is_of_slurm(reading) or any(map(mpirun.option, OF_HOSTS)):
        return False
    return next(iter(lists(reading)), None) is None


def _fills(mpirun: Layer) -> bool:
    """Whether it fills the slots of one host of its list after the other, and is told how many ranks
    there are in all (mpirun(1) of Open MPI, "--map-by": slot is the default)."""
    its = mpi.told_by(mpirun, lambda _: None)
    return (
        mpirun.option("hostfile") is not None and its is not None and its.is_total and its.policy in _BY_SLOT
    )


def _slots(
    reading: ShellReading, found: Allocation, slurm_numbers: Mapping[str, int]
) -> tuple[int | None, tuple[Place, ...], str] | None:
    """The slots of each host in the list that the script writes, the lines, and what is written; None for
    hosts that have not all as many."""
    texts = _texts(reading)
    unlike = dict.fromkeys(each for _, text in texts for each in _SLOTS.findall(text) if each.isdecimal())
    if len(unlike) > 1:
        places = tuple(dict.fromkeys(place for place, text in texts if _SLOTS.search(text)))
        return None, places, " and ".join(f"slots={each}" for each in unlike)
    for place, text in texts:
        match = _SLOTS.search(text)
        if match is None:
            continue
        name = match[1].strip("${}")
        if match[1].isdecimal():
            return int(match[1]), (place,), f"slots={match[1]}"
        each = reading.last(name)
        count = slurm_numbers.get(name)
        lines = found.places.get("per_node", ()) if name == _TASKS else ()
        if each is not None and known(each.value):
            count = number(each.value, reading, slurm_numbers)
            lines = origin_of(reading, name)
        wanted = reading.wanted.get(name, ())[:2] if count is None else ()
        return count, tuple(dict.fromkeys((place, *lines, *wanted))), f"slots=${name}"
    listed = next((each for each in lists(reading) if each.slots is not None), None)
    return None if listed is None else (listed.slots, listed.hosts.places, f"slots={listed.slots}")


def _texts(reading: ShellReading) -> Sequence[tuple[Place, str]]:
    found = [(each.place, each.written) for each in reading.statements if "slots" in each.written]
    for command in reading.commands:
        text = " ".join(map(shown, command.words))
        found += [(command.place, each) for each in (text, shown(command.stdin or ())) if "slots" in each]
    return found


def put_gpus(reading: ShellReading, steps: Sequence[Started], draft: Draft) -> None:
    """GPUs on a node: those that docker lets in, where Slurm's options and the configuration tell nothing, or
    more of them."""
    key = ("gpus_per_node",)
    fact = draft.facts.get(key)
    of_gpus = list(_let_in(reading, steps))
    let_in = next((each for each in of_gpus if each.count is not None), None)
    if fact is None or fact.is_open:
        if let_in is not None:
            draft.put(key, let_in.count, let_in.places, let_in.what)
            return
        places = tuple(step.command.place for step in steps) or (Place(reading.script),)
        told = "docker lets all of a node's in, and how many those are is not told"
        some = next((each for each in of_gpus if not each.is_told), None)
        if some is not None:
            told = f"docker lets those in that {some.what} names, which is not told"
        elif not any(layer.program in _RUNS for step in steps for layer in step.layers):
            told = "the container was there before, and which GPUs docker let into it is not told"
        unnamed = _may_let_in(steps)
        if unnamed:
            told = f"docker lets all of a node's in, some or none, as {unnamed} says, which is not told"
        if _lets_none_in(steps):
            told = "docker is told to let none in (0, but for nodes whose docker does so without an option)"
        draft.ask(key, f"how many GPUs on each node: {told}", places, "GPUs")
    elif let_in is not None and let_in.count < fact.value:
        draft.unsay(key)
        why = f"docker lets no more in than these, of the {fact.value} that a node has by {fact.places[0]}"
        draft.put(key, let_in.count, (*let_in.places, *fact.places), let_in.what, why=why)
    elif let_in is not None and let_in.count > fact.value:
        why = f"docker shows {let_in.count} GPUs of a node, and the job has {fact.value} by {fact.places[0]}"
        draft.say("defect", let_in.places, let_in.what, why=f"{why}: the others may be another job's")


def ask_gpus_of_several(reading: ShellReading, steps: Sequence[Started], draft: Draft) -> None:
    """The question for the GPUs of a node where containers have some of them each, --gpus device=0 and --gpus
    device=1, and no command tells in which of them the ranks are."""
    key = ("gpus_per_node",)
    fact = draft.facts.get(key)
    shares: dict[str, tuple[Place, ...]] = {}
    for step in steps:
        if not step.roles & {"caches", "test"} and step.layer("docker exec") is None:
            of_it = [each for each in _let_in(reading, [step]) if each.count]
            shares |= {of_it[0].what: of_it[0].places} if of_it else {}
    if fact is None or fact.is_open or len(shares) < 2:
        return
    more = f" and {len(shares) - _MOST_SHARES} more" if len(shares) > _MOST_SHARES else ""
    told = f"the script's containers have some each: {', '.join([*shares][:_MOST_SHARES])}{more}"
    places = tuple(dict.fromkeys(place for each in shares.values() for place in each))
    draft.unsay(key)
    draft.ask(key, f"how many GPUs on each node: {told}", places, "GPUs")


_MOST_SHARES = 8
_RUNS = ("docker run", "docker create")
# Without --gpus, which counts more, these let no GPU in (NVIDIA Container Toolkit, "GPU Enumeration").
_NO_GPUS = frozenset(("none", "void"))


class _Let(Struct, frozen=True):
    """What docker is told of GPUs: as it is written, how many those are (None: all, or not told), whether
    it is told at all, and its lines."""

    what: str
    count: int | None
    is_told: bool
    places: tuple[Place, ...]


def _let_in(reading: ShellReading, steps: Sequence[Started]) -> Iterator[_Let]:
    """By --gpus, NV_GPU in front of docker, NVIDIA_VISIBLE_DEVICES by -e."""
    for step in steps:
        layer = step.layer("docker run")
        option = layer.option("gpus") if layer is not None else None
        if option is not None:
            text = known(option.value or ())
            places = reading.origin(step.command, text or option.written)
            yield _Let(option.written, count_of_gpus(option), text is not None, places)
        given = list(step.command.prefix)
        for each in step.layers:
            values = [*(option.value or () for option in each.all("env")), *each.words]
            given += [_pair(value) for value in values if value and isinstance(value[0], str)]
        for name, value in given:
            if name in ("NV_GPU", "NVIDIA_VISIBLE_DEVICES"):
                places = reading.origin(step.command, name)
                what = f"{name}={shown(value)}"
                listed = _FROM_0.fullmatch(shown(value))
                count = int(listed[1]) + 1 if listed else visible_gpus(value)
                if option is None and known(value) in _NO_GPUS:
                    count = 0
                yield _Let(what, count, known(value) is not None, places)


def _pair(word: Value) -> tuple[str, Value]:
    """NAME and value of a word NAME=value, whose value need not be known."""
    name, _, rest = str(word[0]).partition("=")
    return name, ((rest,) if rest else ()) + word[1:]


def _lets_none_in(steps: Sequence[Started]) -> bool:
    """Whether no option of the containers' lets GPUs in, as far as their options are told."""
    options = _of_runs(steps)
    return options is not None and not any(not each.name or _OF_GPUS.search(each.written) for each in options)


def _may_let_in(steps: Sequence[Started]) -> str:
    """What stands in the place of options where none that is told lets GPUs in, "" for nothing."""
    options = _of_runs(steps) or ()
    if any(_OF_GPUS.search(each.written) for each in options):
        return ""
    return next((each.written for each in options if not each.name), "")


def _of_runs(steps: Sequence[Started]) -> list[Option] | None:
    """The options of containers that are made, None where none is."""
    its = [layer for step in steps for layer in step.layers if layer.program == "docker run"]
    return [each for layer in its for each in layer.options] if its else None


def assume_gpus(launcher: str, draft: Draft) -> None:
    """GPUs on a node by the processes of a launcher that starts one for each GPU, if nothing else tells."""
    key = ("gpus_per_node",)
    ranks = draft.facts.get(("ranks_per_node",))
    fact = draft.facts.get(key)
    if fact is None or not fact.is_open or ranks is None or not isinstance(ranks.value, int):
        return
    draft.unsay(key)
    why = f"{launcher} starts a process for each GPU, and docker lets all of a node's in"
    what = f"{ranks.value} processes on a node"
    draft.put(key, ranks.value, (*ranks.places, *fact.places), what, why=why, kind="assumed")
