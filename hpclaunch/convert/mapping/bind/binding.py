"""Who binds a rank, and to what: srun's --cpu-bind and --mem-bind, bind.sh and bindpcie, numactl and taskset
-> `bind`."""

import re
from collections.abc import Sequence
from os.path import basename
from typing import Literal

from msgspec import Struct

from hpclaunch.convert.cores import BESIDE_ITS_GPU
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.batch.asked import Asked
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.bind import OF_MLPERF, is_of_memory
from hpclaunch.convert.programs.layers import MPI, PER_GPU, Layer, Option, layers
from hpclaunch.convert.reading import Command, Source
from hpclaunch.convert.shell import walk
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.values import known
from hpclaunch.readback.slurm import forms
from hpclaunch.readback.slurm.layout import TALK
from hpclaunch.spec.nodetype import NodeType
from hpclaunch.values import cpulist
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

Places = Sequence[Place]
Kind = Literal["cpus", "memory"]

_NEAR = "each rank's memory is preferred on the NUMA node beside its GPU"
_PREFERS = frozenset({"p", "prefer"})
_ARRAYS: dict[Kind, str] = {"cpus": "bind_cpu_cores", "memory": "bind_mem"}
_OPTIONS: dict[str, Kind] = {"cpu-bind": "cpus", "mem-bind": "memory"}
_SHOWN = re.compile(r"[\d,-]+")


def of_srun(asked: Sequence[Asked], per_node: int | None, draft: Draft, options: Options) -> None:
    """--cpu-bind and --mem-bind of the run; the later of two counts."""
    given = {each.name: each for each in asked}
    for name, kind in _OPTIONS.items():
        if name in given:
            _of_srun(kind, given[name], per_node, draft, options)
    fact = draft.facts.get(("bind", "cpus"))
    if "mem-bind" not in given and fact is not None and fact.value != "local" and not fact.is_open:
        # Beside its GPU it could be far from the cores that are given.
        why = "" if fact.value == "none" else "srun leaves it alone"
        draft.put(("bind", "memory"), "none", fact.places, given["cpu-bind"].written, why=why)


def say_default(command: Command, draft: Draft, *, may_start: bool = False) -> None:
    """That the job binds ranks where srun was told nothing of it, and so did what the site had it do.
    `may_start`: the command may start ranks in a way that is not read, and bind them."""
    programs = {layer.program for layer in layers(command.words)}
    told = any(key[0] == "bind" for key in draft.facts)
    if told or any(each.became.startswith("bind: ") for each in draft.findings):
        return
    became = "bind: cpus: local"
    if "srun" in programs:
        why = f"{BESIDE_ITS_GPU}, and not what srun does"
        draft.say("replaced", (command.place,), "srun without --cpu-bind", became=became, why=why)
    elif may_start:
        what = "the command, which is asked for, may bind the ranks that it starts"
        why = f"{BESIDE_ITS_GPU}; what its own words say of that is not read"
        todo = "where it binds them write the same in `bind`"
        draft.say("assumed", (command.place,), what, became=became, why=why, todo=todo)
    elif programs.isdisjoint((*MPI, *PER_GPU)):
        why = f"{BESIDE_ITS_GPU}; the script's shell binds nothing within what Slurm gives the job"
        todo = "where it is to have all of those cores write bind: {cpus: none, memory: none}"
        draft.say("replaced", (command.place,), "no launcher binds it", became=became, why=why, todo=todo)


class Ranks(Struct, frozen=True):
    """Those that a command line binds: its lines, how many of them are on a node, and the files that bind.sh
    and bindpcie may source."""

    places: Places
    per_node: int | None
    files: Sequence[Source] = ()


def of_layers(layers: Sequence[Layer], ranks: Ranks, draft: Draft, options: Options) -> tuple[Layer, ...]:
    """What bind.sh, bindpcie, numactl and taskset in front of the command say. Returns the layers that the
    command keeps: a binding that the job's keys cannot say stays where it is, and the job binds nothing
    itself."""
    kept: list[Layer] = []
    for layer in layers:
        if layer.program in OF_MLPERF:
            _of_mlperf(layer, ranks, draft)
        elif layer.program == "numactl":
            kept += _numactl(layer, ranks, draft, options)
        elif layer.program == "taskset":
            kept += _taskset(layer, ranks, draft)
        else:
            kept.append(layer)
    return tuple(kept)


def _of_mlperf(layer: Layer, ranks: Ranks, draft: Draft) -> None:
    """bind.sh and bindpcie: `node` is their default for cores and memory, and `off` for HCAs."""
    _of_mode("cpus", layer, layer.option("cpu"), ranks, draft)
    _of_mode("memory", layer, layer.option("mem"), ranks, draft)
    for name, why in (
        ("ib", "hpclaunch gives each rank the HCA nearest to its GPU (UCX_NET_DEVICES), if it can be used"),
        ("cluster", "the names of the HCAs are those of the site's node type"),
    ):
        given = layer.option(name)
        if given is not None:
            draft.say("replaced", ranks.places, f"{layer.program} {given.written}", why=why)


def _of_mode(kind: Kind, layer: Layer, option: Option | None, ranks: Ranks, draft: Draft) -> None:
    text = known(option.value or ()) if option is not None else "node"
    what = f"{layer.program} {option.written}" if option is not None else layer.program
    if text is None:
        draft.ask(("bind", kind), f"what each rank is bound to: {what} is not told", ranks.places, what)
    elif text in ("node", "exclusive", "exclusive,nosmt"):
        draft.put(("bind", kind), "local", ranks.places, what, why=BESIDE_ITS_GPU, kind="replaced")
        if text.endswith("nosmt"):
            draft.put(("bind", "smt"), False, ranks.places, what, why="one thread of each core")
    elif text == "off":
        draft.put(("bind", kind), "none", ranks.places, what)
    else:
        found = next((file for file in ranks.files if basename(file.name) == basename(text)), None)
        lists = array(found, _ARRAYS[kind]) if found is not None else None
        if lists is None or found is None:
            question = f"one entry for each local rank, as {_ARRAYS[kind]} in {text} has them"
            todo = f"give {basename(text)} too, or write bind.{kind} in the job file"
            draft.ask(("bind", kind), question, ranks.places, what, todo=todo)
            return
        entries, lines = lists
        places = (*lines, *ranks.places)
        draft.put(("bind", kind), entries[: ranks.per_node], places, f"{what}: {_ARRAYS[kind]}")


def array(source: Source, name: str) -> tuple[list[str], Places] | None:
    """The entries of an array that a file of bind.sh gives, and their lines."""
    try:
        found = walk.read((source,), {}, source.name).last(name)
    except (ScriptError, InputError):
        return None
    texts = [known(value) for value in found.array or ()] if found is not None else []
    if found is None or not texts or not all(text and _SHOWN.fullmatch(text) for text in texts):
        return None
    return [text for text in texts if text], (found.place,)


def _of_srun(kind: Kind, each: Asked, per_node: int | None, draft: Draft, options: Options) -> None:
    text = each.text
    if text is None:
        draft.ask(
            ("bind", kind), f"what ranks are bound to: {each.written} is not told", each.places, each.written
        )
        return
    # Words on what is printed, and whether memory is preferred, stand before and behind the kind.
    words = [word for word in text.split(",") if word.lower() not in TALK]
    prefer = not _PREFERS.isdisjoint(map(str.lower, words))
    mode, _, numbers = ",".join(word for word in words if word.lower() not in _PREFERS).partition(":")
    mode = mode.lower()
    try:
        if mode in ("mask_cpu", "mask_mem"):
            lists = [cpulist.format_list(mask) for mask in forms.masks(numbers)]
            _lists(kind, lists, each, per_node, prefer, draft)
        elif mode in ("map_cpu", "map_mem"):
            lists = [cpulist.format_list(one) for one in forms.numbers(numbers)]
            _lists(kind, lists, each, per_node, prefer, draft)
        elif mode in ("map_ldom", "mask_ldom"):
            found = forms.masks(numbers) if mode == "mask_ldom" else forms.numbers(numbers)
            _numa(kind, found, each, per_node, draft, options)
        elif mode in ("none", "no"):
            why = "without this key hpclaunch binds each rank beside its GPU"
            draft.put(("bind", kind), "none", each.places, each.written, why=why)
        elif prefer and kind == "memory":
            draft.put(("bind", kind), "prefer", each.places, each.written, why=_NEAR)
        else:
            draft.put(("bind", kind), "local", each.places, each.written, why=BESIDE_ITS_GPU, kind="replaced")
    except ValueError as error:
        draft.ask(("bind", kind), f"what ranks are bound to: {error}", each.places, each.written)


def _lists(
    kind: Kind, lists: list[str], each: Asked, per_node: int | None, prefer: bool, draft: Draft
) -> None:
    if prefer and kind == "memory":
        draft.put(("bind", kind), "prefer", each.places, each.written, why=_NEAR)
    else:
        draft.put(("bind", kind), _for_all(lists, per_node), each.places, each.written)


def _for_all(lists: list[str], per_node: int | None) -> list[str]:
    """An entry for each local rank: srun begins again where the list ends (srun(1), --cpu-bind)."""
    return [lists[index % len(lists)] for index in range(per_node)] if per_node else lists


def _numa(
    kind: Kind,
    found: Sequence[Sequence[int]],
    each: Asked,
    per_node: int | None,
    draft: Draft,
    options: Options,
) -> None:
    lists = [_cpus_of(options.node_type, one) for one in found] if options.node_type else []
    if lists and all(lists):
        name = options.node_type.name if options.node_type else ""
        places = (*each.places, Place(f"--node-type {name}"))
        draft.put(("bind", kind), _for_all(lists, per_node), places, each.written)
        return
    question = (
        f"the CPUs of each local rank: {each.written} names NUMA nodes, and which CPUs those have is not told"
    )
    todo = "convert again with --node-type, or write bind.cpus (local: those beside the rank's GPU)"
    draft.ask(("bind", kind), question, each.places, each.written, todo=todo)


def _cpus_of(machine: NodeType | None, numas: Sequence[int]) -> str:
    """All CPUs of these NUMA nodes, "" where the machine does not have them."""
    known_nodes = {node.node: node for node in machine.numa} if machine is not None else {}
    if not all(number in known_nodes for number in numas):
        return ""
    cpus = {
        cpu for number in numas for threads in known_nodes[number].threads for cpu in cpulist.parse(threads)
    }
    return cpulist.format_list(sorted(cpus))


def _numactl(layer: Layer, ranks: Ranks, draft: Draft, options: Options) -> list[Layer]:
    """A list that numactl gives is the same for all ranks of a node: the entry of each."""
    places, per_node = ranks.places, ranks.per_node
    facts: list[tuple[Kind, str, str]] = []
    for option in layer.options:
        entry = _numactl_entry(option, options)
        if entry is None:
            return _kept(layer, places, draft)
        facts.append((*entry, option.written))
    if per_node is None or not facts:
        return _kept(layer, places, draft)
    kinds = {kind for kind, _, _ in facts}
    for kind, text, written in facts:
        value: object = text if text in ("local", "none") else [text] * per_node
        draft.put(("bind", kind), value, places, f"numactl {written}", why=_ONE if per_node > 1 else "")
    if "memory" not in kinds and ("bind", "memory") not in draft.facts:
        # Beside its GPU it could be far from the cores that are given.
        draft.put(("bind", "memory"), "none", places, "numactl", why="numactl leaves it alone")
    return []


_ONE = "numactl gives all ranks of a node the same"


def _numactl_entry(option: Option, options: Options) -> tuple[Kind, str] | None:
    text = known(option.value or ())
    if text is None or option.name not in ("physcpubind", "cpunodebind", "membind", "localalloc"):
        return None
    if option.name == "localalloc":
        return "memory", "none"  # where the rank runs: what the kernel does by itself
    if not _SHOWN.fullmatch(text):
        return None
    if option.name == "cpunodebind":
        numas = cpulist.parse(text)
        lists = _cpus_of(options.node_type, numas) if options.node_type else ""
        return ("cpus", lists) if lists else None
    return ("cpus" if option.name == "physcpubind" else "memory"), text


def _taskset(layer: Layer, ranks: Ranks, draft: Draft) -> list[Layer]:
    places, per_node = ranks.places, ranks.per_node
    text = known(layer.words[0]) if layer.words else None
    try:
        if text is None or per_node is None:
            return _kept(layer, places, draft)
        is_list = layer.option("cpu-list") is not None
        cpus = text if is_list else cpulist.format_list(forms.masks(text)[0])
    except ValueError:
        return _kept(layer, places, draft)
    if not _SHOWN.fullmatch(cpus):
        return _kept(layer, places, draft)
    draft.put(("bind", "cpus"), [cpus] * per_node, places, f"taskset {text}")
    if ("bind", "memory") not in draft.facts:
        draft.put(("bind", "memory"), "none", places, "taskset", why="taskset leaves it alone")
    return []


def _kept(layer: Layer, places: Places, draft: Draft) -> list[Layer]:
    """The command keeps its own binding, which the job's would get in the way of."""
    why = f"{layer.program} stays in the command and binds each rank itself"
    for kind in ("memory",) if layer.options and is_of_memory(layer) else ("cpus", "memory"):
        draft.put(("bind", kind), "none", places, layer.program, why=why)
    return [layer]
