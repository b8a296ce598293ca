"""Launchers of PyTorch, and the addresses by which its processes find each other -> `rendezvous: torch`."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.asked import number
from hpclaunch.convert.mapping.lines import lines_of
from hpclaunch.convert.programs import torch
from hpclaunch.convert.programs.layers import PER_GPU, Layer, Option
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known, shown
from hpclaunch.values.conversion import Place

# What hpclaunch sets in each rank, by the names of a launcher's options. With one rank on each node the
# number of ranks is that of nodes.
_SET = {
    "nnodes": "WORLD_SIZE",
    "node_rank": "NODE_RANK",
    "master_addr": "MASTER_ADDR",
    "master_port": "MASTER_PORT",
}
_OPTION = re.compile(r"--(nnodes|node[-_]rank|master[-_]addr|master[-_]port)(?==|$)")
_FIRST_NODE = re.compile(
    r"\$\( *(scontrol show hostnames? [^|]*\| *head +(-n *|-)1 *"
    r"|hostname( -[sfiI]| --(short|fqdn|ip-address))?( *\| *awk '\{ *print \$1 *\}')? *)\)$"
)
# What prints a line for each GPU that the job has on the node, and what Slurm says of them.
_COUNTS_GPUS = re.compile(
    r"^\$\(nvidia-smi (-L|--list-gpus|--query-gpu=\w+ --format=csv,noheader) ?\| ?wc -l\)$"
    r"|^\$\{SLURM_GPUS_ON_NODE\}$"
)
# They differ from node to node, also where a script has a line for each.
_OF_THE_NODE = ("node_rank",)
_ONE = r"(?:\"[^\"]*\"|'[^']*'|[^\s\"';&|]+)"
_IN_TEXT = re.compile(
    rf"--(?P<option>nnodes|node[-_]rank|master[-_]addr|master[-_]port)(?P<by>=|\s+){_ONE}"
    rf"|(?<![\w$-])(?P<name>NODE_RANK|RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT)={_ONE}"
)
# Variables in which launchers carry them.
COMPUTED = ("MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK")
ADDRESSES = ("MASTER_IP", "MASTER_HOST", "MASTER_NODE", "MASTER", "HEAD_NODE", "HEAD_NODE_IP")
_SETS_ALL = "hpclaunch sets MASTER_ADDR, MASTER_PORT, RANK, LOCAL_RANK, WORLD_SIZE in each rank"
_REPLACED = {
    "nnodes": "the job says how many nodes, and WORLD_SIZE follows",
    "node_rank": _SETS_ALL,
    "master_addr": _SETS_ALL,
    "master_port": f"{_SETS_ALL}; the port follows from the job, so that two jobs on a node do not meet",
    "rdzv_backend": _SETS_ALL,
    "rdzv_endpoint": _SETS_ALL,
    "rdzv_id": _SETS_ALL,
    "rdzv_conf": _SETS_ALL,
    "standalone": _SETS_ALL,
    "nproc_per_node": "the job says how many ranks a node has",
    "num_processes": "the job says how many ranks a node has",
    "use_env": "LOCAL_RANK is in the environment of each rank",
    "module": "the command has it (python -m)",
    "no_python": "the command is executed as it is",
    "max_restarts": "a job whose rank fails ends, and is submitted again",
    "hostfile": "the job says how many nodes",
    "multi_gpu": "the job has a rank for each GPU",
    "tee": "`hpclaunch logs` shows the output of all ranks",
    "redirects": "`hpclaunch logs` shows the output of all ranks",
    "log_dir": "`hpclaunch logs` shows the output of all ranks",
    "local_ranks_filter": "`hpclaunch logs` shows the output of all ranks",
}


class FanOut(Struct, frozen=True):
    """What a launcher starts on each node: `per_node` processes, None for one for each GPU (or what is not
    known, with `doubt`)."""

    per_node: int | None
    places: tuple[Place, ...]
    what: str
    doubt: str = ""


def is_launcher(layer: Layer) -> bool:
    """Whether the layer starts a process for each GPU of its node."""
    return layer.program in PER_GPU


def size(
    reading: ShellReading, command: Command, layer: Layer, nodes: int | None, slurm: Mapping[str, int]
) -> FanOut:
    """How many processes it starts on a node. torch/distributed/run.py starts one where it is not told
    otherwise, deepspeed one for each GPU."""
    option = torch.starts_per_node(layer)
    if option is None:
        alone = layer.program in ("torchrun", "torch.distributed.launch")
        return FanOut(1 if alone else None, (command.place,), layer.program)
    lines = lines_of(reading, command, option)
    text = known(option.value or ()) or ""
    if text in ("gpu", "auto") or _COUNTS_GPUS.search(shown(option.value or ())):
        return FanOut(None, lines, option.written)
    count = number(option.value, reading, slurm)
    if count is not None and option.name == "num_processes":
        count = count // nodes if nodes and count % nodes == 0 else None
    doubt = "" if count is not None else f"{option.written} is not a number that the input tells"
    return FanOut(count, lines, option.written, doubt)


def place_launcher(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """That the job's ranks take the launcher's place, and what becomes of its options."""
    draft.put(
        ("rendezvous",),
        "torch",
        (command.place,),
        layer.program,
        why=f"the job starts the ranks itself, one for each GPU, so {layer.program} is gone: {_SETS_ALL}",
    )
    if torch.passes_local_rank(layer):
        draft.say(
            "carried",
            (command.place,),
            f"{layer.program} gives each process --local_rank=N",
            became='command: ... --local_rank="$LOCAL_RANK"',
            why="a program that reads LOCAL_RANK needs it no more",
        )
    for option in layer.options:
        _option(reading, command, layer, option, draft)
    if layer.program == "bind_launch":
        _bound(reading, command, layer, draft)
    else:
        what = f"{layer.program} binds no process"
        why = "each rank gets the cores and the memory beside its GPU, by the site's node type"
        draft.say("replaced", (command.place,), what, became="bind: cpus: local", why=why)


def _option(reading: ShellReading, command: Command, layer: Layer, option: Option, draft: Draft) -> None:
    places = lines_of(reading, command, option)
    if option.name in ("nsockets_per_node", "ncores_per_socket", "no_hyperthreads", "no_membind"):
        return
    if option.name in _REPLACED:
        draft.say("replaced", places, option.written, why=_REPLACED[option.name])
    elif not option.name and _carries_addresses(option.value or ()):
        draft.say("replaced", places, option.written, why=_SETS_ALL)
    else:
        why = f"an option of {layer.program}, which the job does without"
        draft.say("left", places, option.written, why=why, todo="see whether the program counts on it")


def _bound(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """The cores that bind_launch.py gives each process: a run of those of a socket, with their second
    threads behind those of all sockets."""
    options = [layer.option(name) for name in ("nsockets_per_node", "ncores_per_socket", "nproc_per_node")]
    counts = [number(each.value, reading, {}) if each else None for each in options]
    places = tuple(
        dict.fromkeys(place for each in options if each for place in lines_of(reading, command, each))
    ) or (command.place,)
    what = " ".join(each.written for each in options if each)
    sockets, cores, ranks = counts
    if not sockets or not cores or not ranks or ranks > 4096 or cores > 4096:
        why = "each rank gets the cores and the memory beside its GPU, by the site's node type"
        draft.say("replaced", places, what or layer.program, became="bind: cpus: local", why=why)
        return
    per_socket = -(-ranks // sockets)
    own = cores // per_socket
    smt = layer.option("no_hyperthreads") is None
    second = own * per_socket * sockets
    lists = [
        f"{rank * own}-{rank * own + own - 1}"
        + (f",{second + rank * own}-{second + rank * own + own - 1}" if smt else "")
        for rank in range(ranks)
    ]
    why = "the cores that bind_launch.py gives each process; without `bind` those beside its GPU"
    if not own:
        draft.ask(("bind", "cpus"), "the cores of each rank: bind_launch has none for it", places, what)
        return
    draft.put(("bind", "cpus"), lists, places, what, why=why)
    if layer.option("no_membind") is None:
        draft.put(("bind", "memory"), [str(rank // per_socket) for rank in range(ranks)], places, what)
    else:
        draft.put(("bind", "memory"), "none", places, "--no_membind")


def with_own_addresses(value: Value) -> Value | None:
    """A value such as " --nnodes=$N --node_rank=$h --master_addr=$IP" with what hpclaunch sets in each rank,
    where there is one on each node. None where it has no such option, or something else that is unknown."""
    text = "".join(part if isinstance(part, str) else "\0" for part in value)
    words = text.split()
    found: list[Part] = [" "] if text.startswith(" ") else []
    previous, options = "", 0
    for index, word in enumerate(words):
        found.append(" " if index else "")
        option = _OPTION.match(word)
        if option:
            name = option[1].replace("-", "_")
            options += 1
            previous = "" if "=" in word else name
            found += [f"{option[0]}=", _own(name)] if "=" in word else [word]
        elif previous:
            found.append(_own(previous))
            previous = ""
        elif "\0" in word:
            return None
        else:
            found.append(word)
    return join(found) if options else None


def first_node(words: Sequence[Value], places: Sequence[Place], draft: Draft) -> dict[str, str]:
    """Commands in the words that find out the job's first node, where the script itself runs: MASTER_ADDR by
    their texts, which hpclaunch sets to that."""
    found = {
        part.name: "MASTER_ADDR"
        for word in words
        for part in word
        if isinstance(part, Unknown) and part.kind == "output" and _FIRST_NODE.match(part.name)
    }
    if found:
        draft.put(("rendezvous",), "torch", places, next(iter(found)), why=_SETS_ALL)
    return found


def local_rank() -> Value:
    """The argument by which torch.distributed.launch tells a process its local rank."""
    return ("--local_rank=", Unknown("variable", "LOCAL_RANK"))


def without_addresses(text: str) -> str:
    """A command without what tells a node its number and the first node's address."""
    return " ".join(_IN_TEXT.sub("", text).split())


def own_addresses(words: Sequence[Value]) -> list[Value]:
    """The words of a command with --node_rank, --nnodes, --master_addr and --master_port, and NODE_RANK=1 and
    its like in the text of `bash -c`, as hpclaunch sets them in each rank."""
    found: list[Value] = []
    previous = ""
    for index, word in enumerate(words):
        text = word[0] if word and isinstance(word[0], str) else ""
        option = _OPTION.match(text)
        if index and re.fullmatch(r"-[a-z]*c", known(words[index - 1]) or ""):
            found.append(_in_text(word))
        elif previous and (known(word) is None or previous in _OF_THE_NODE):
            found.append((_own(previous),))
        elif option and "=" in text and (known(word) is None or _name(option) in _OF_THE_NODE):
            found.append((f"{option[0]}=", _own(_name(option))))
        else:
            found.append(word)
        previous = _name(option) if option and "=" not in text else ""
    return found


def in_texts(words: Sequence[Value], stand_ins: Mapping[str, str]) -> tuple[list[Value], frozenset[str]]:
    """The words, with what ranks have for the script's variables also in texts that were quoted twice, where
    a variable stands as it was written; and the variables that were there. One that ranks cannot have is
    unknown again."""
    found: list[Value] = []
    used: set[str] = set()
    for word in words:
        parts: list[Part] = []
        for part in word:
            pieces = re.split(r"\$\{(\w+)\}", part) if isinstance(part, str) else [part]
            for index, piece in enumerate(pieces):
                if index % 2 == 0:
                    parts.append(piece)
                elif str(piece) in stand_ins:
                    used.add(str(piece))
                    own = stand_ins[str(piece)]
                    parts.append(f"${own}" if own else Unknown("variable", str(piece)))
                else:
                    parts.append(f"${{{piece}}}")
        found.append(join(parts))
    return found, frozenset(used)


def _name(option: re.Match[str]) -> str:
    return option[1].replace("-", "_")


def _in_text(value: Value) -> Value:
    """The text for a shell; parts that are not known stand in it as one character."""
    unknown = [part for part in value if not isinstance(part, str)]
    text = "".join(part if isinstance(part, str) else "\0" for part in value)
    if "\0" in text.replace("\0", "", len(unknown)):
        return value
    marks = iter(range(len(unknown)))
    numbered = re.sub("\0", lambda _: f"\0{next(marks)}\0", text)
    replaced = _IN_TEXT.sub(_with_own, numbered)
    pieces = replaced.split("\0")
    return join([unknown[int(piece)] if index % 2 else piece for index, piece in enumerate(pieces)])


def _with_own(found: re.Match[str]) -> str:
    if found["option"]:
        name = found["option"].replace("-", "_")
        return f"--{found['option']}{found['by']}${_SET[name]}"
    return f"{found['name']}=${found['name']}"


def _carries_addresses(value: Value) -> bool:
    """Whether a value holds the addresses, or is the variable that does."""
    return bool(_OPTION.search(shown(value))) or any(
        isinstance(part, Unknown) and re.search(r"MULTI_?NODE|DIST|MASTER|RDZV", part.name, re.IGNORECASE)
        for part in value
    )


def _own(name: str) -> Unknown:
    return Unknown("variable", _SET[name])
