"""Launchers that start a process for each GPU of their node: how many, and what becomes of their options."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hpclaunch.convert.cores import BESIDE_ITS_GPU
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import accelerate_file, deepspeed, mpi, torch_variables
from hpclaunch.convert.mapping.ranks.rendezvous import SETS_ALL, carries_addresses
from hpclaunch.convert.mapping.slurm.batch.asked import number
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import Ranks
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.mapping.words.made import untold_number
from hpclaunch.convert.programs import accelerate, torch
from hpclaunch.convert.programs.layers import OVER_HOSTS, PER_GPU, Layer, Option
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell import slurm_outputs
from hpclaunch.readback.shell.values import Value, shown
from hpclaunch.values.conversion import Kind, Place

_GPUS = f"${{{slurm_outputs.GPUS}}}"

# What becomes of a launcher's option, by the name that `programs/torch.py` has for it.
REPLACED = {
    "nnodes": "the job says how many nodes, and WORLD_SIZE follows",
    "node_rank": SETS_ALL,
    "master_addr": SETS_ALL,
    "master_port": f"{SETS_ALL}; without MASTER_PORT in env the port is one that no other job there has",
    "rdzv_backend": SETS_ALL,
    "rdzv_endpoint": SETS_ALL,
    "rdzv_id": SETS_ALL,
    "rdzv_conf": SETS_ALL,
    "standalone": SETS_ALL,
    "nproc_per_node": "the job says how many ranks a node has",
    "num_processes": "the job says how many ranks a node has",
    "world_size": "the job says how many ranks there are, and WORLD_SIZE follows",
    "base_rank": SETS_ALL,
    "stdout": "`hpclaunch logs` shows the output of all ranks",
    "stderr": "`hpclaunch logs` shows the output of all ranks",
    "use_env": "LOCAL_RANK is in the environment of each rank",
    "module": "the command has it (python -m)",
    "no_python": "the command is executed as it is",
    "local_addr": SETS_ALL,
    "same_network": SETS_ALL,
    "max_restarts": "a job whose rank fails ends, and is not started again by itself",
    "monitor_interval": "a job whose rank fails ends, and is not started again by itself",
    "start_method": "each rank is a process that the job starts",
    "role": "a name for the launcher's own messages",
    "hostfile": "the job says how many nodes",
    "host": "the job says how many nodes",
    "ssh_port": "srun starts the ranks itself, without ssh",
    "redirect_stdout_and_stderr": "`hpclaunch logs` shows the output of all ranks",
    "multi_gpu": "the job has a rank for each GPU",
    "tee": "`hpclaunch logs` shows the output of all ranks",
    "redirects": "`hpclaunch logs` shows the output of all ranks",
    "log_dir": "`hpclaunch logs` shows the output of all ranks",
    "local_ranks_filter": "`hpclaunch logs` shows the output of all ranks",
}


# They start one process where they are not told of more (--nproc_per_node of each).
_ONE_ALONE = frozenset(
    (
        *("torchrun", "torch.distributed.launch"),
        *("bagua.distributed.launch", "bagua.distributed.run", "oneflow.distributed.launch"),
    )
)
_OF_RANKS = frozenset(("nproc_per_node", "num_processes"))
_TELL_NODES = frozenset(("ACCELERATE_CONFIG_FILE",))  # of accelerate (commands/launch.py)
# torchrun's MIN:MAX: with 1 there are as many nodes as it is started on (docs.pytorch.org, torchrun).
_ELASTIC = re.compile(r"1:(\d+)")


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
    chosen = deepspeed.slots(layer) if layer.program == "deepspeed" else None
    if chosen is not None:
        its = chosen[1]
        doubt = "" if its else f"which GPUs of each node {chosen[0].written} leaves is not told"
        lines = lines_of(reading, command, chosen[0])
        return FanOut(len(its) if its else None, lines, chosen[0].written, doubt)
    layer = torch_variables.of_command(layer, command)
    option = torch.starts_per_node(layer)
    listed = deepspeed.hosts(reading, layer) if option is None else None
    if listed is not None and listed.slots is not None:
        return FanOut(listed.slots, listed.hosts.places, f"slots={listed.slots}")
    of_script = deepspeed.written_slots(reading, layer) if option is None else []
    if of_script:
        return _by_slots(reading, command, layer, of_script, slurm)
    if option is None:
        alone = layer.program in _ONE_ALONE
        by_file = layer.option("config_file")
        in_file = accelerate_file.told(reading, layer)
        if by_file is not None and in_file is not None and "num_processes" in in_file:
            total, place = in_file["num_processes"]
            count = total // nodes if nodes and total % nodes == 0 else None
            what = f"num_processes: {total}"
            doubt = "" if count else f"{what} are on {nodes or 'nodes that are not told'}"
            return FanOut(count or None, (*lines_of(reading, command, by_file), place), what, doubt)
        if by_file is not None:
            doubt = f"{by_file.written} may say it (num_processes), and that file is not read"
            return FanOut(None, lines_of(reading, command, by_file), by_file.written, doubt)
        return FanOut(1 if alone else None, (command.place,), layer.program)
    lines = (*torch_variables.lines(reading, option), *lines_of(reading, command, option))
    text = shown(option.value or ())
    if _is_for_each_gpu(text):
        return FanOut(None, lines, option.written)
    count = number(option.value, reading, slurm)
    # accelerate counts the processes of all its machines, and has one where it is told of no others.
    machines = layer.option("nnodes")
    of_all = option.name == "num_processes" and (machines or layer.option("config_file"))
    if count is not None and of_all:
        over = (number(machines.value, reading, slurm) if machines is not None else None) or nodes
        if not over or count % over:
            on = f"{over} nodes do not share them evenly" if over else "how many nodes these are is not told"
            doubt = f"{option.written} counts those of all nodes, and {on}"
            return FanOut(None, lines, option.written, doubt)
        count //= over
    doubt = "" if count is not None else untold_number(reading, option)
    return FanOut(count, lines, option.written, doubt)


def _by_slots(
    reading: ShellReading,
    command: Command,
    layer: Layer,
    slots: Sequence[tuple[Value, Place]],
    slurm: Mapping[str, int],
) -> FanOut:
    """By the slots of the hosts that the script writes into a list."""
    places = tuple(dict.fromkeys((*(place for _, place in slots), command.place)))
    written = {f"slots={shown(value) or '?'}": value for value, _ in slots}
    what = " and ".join(written)
    if all(_is_for_each_gpu(shown(value)) for value in written.values()):
        return FanOut(None, places, what)
    counts = {number(value, reading, slurm) for value in written.values()}
    count = counts.pop() if len(counts) == 1 else None
    doubt = "" if count else f"{layer.program} starts one in each slot of its list, and there is {what}"
    return FanOut(count or None, places, what, doubt)


def _is_for_each_gpu(text: str) -> bool:
    return text in ("gpu", "auto", _GPUS) or slurm_outputs.counts_gpus(text)


def nodes_of(
    reading: ShellReading, command: Command, layer: Layer, slurm: Mapping[str, int]
) -> FanOut | None:
    """On how many nodes it says that it is, in `per_node`; None where no option of it says it."""
    layer = torch_variables.of_command(layer, command)
    option = layer.option("nnodes")
    chosen = deepspeed.slots(layer) if layer.program == "deepspeed" else None
    if option is None and chosen is not None and chosen[0].name == "include":
        doubt = "" if chosen[2] else f"which hosts {chosen[0].written} names is not told"
        return FanOut(chosen[2] or None, lines_of(reading, command, chosen[0]), chosen[0].written, doubt)
    named = mpi.nodes_of(layer) if option is None and layer.program in OVER_HOSTS else None
    host = layer.option("host")
    if named is not None and host is not None:
        return FanOut(named, lines_of(reading, command, host), host.written)
    listed = deepspeed.hosts(reading, layer) if option is None else None
    if listed is not None:
        return FanOut(listed.hosts.count, listed.hosts.places, listed.hosts.what)
    in_file = accelerate_file.told(reading, layer) if option is None else None
    if in_file is not None:
        machines, place = in_file["num_machines"]
        return FanOut(machines or None, (command.place, place), f"num_machines: {machines}")
    on_all = deepspeed.on_all_hosts(reading, layer) if option is None else None
    if on_all is not None:
        doubt = f"{on_all.program} asks all hosts of {deepspeed.OWN_LIST}, deepspeed's own list, which is "
        doubt += "not given"
        return FanOut(None, (on_all.place, command.place), on_all.program, doubt)
    if option is None:
        return _nodes_of_composer(reading, command, layer, slurm)
    count = number(option.value, reading, slurm)
    elastic = _ELASTIC.fullmatch(shown(option.value or ()))
    if elastic is not None:
        count = int(elastic[1])
        if slurm.get("SLURM_NNODES") != count:
            return None
    doubt = "" if count else untold_number(reading, option)
    lines = (*torch_variables.lines(reading, option), *lines_of(reading, command, option))
    return FanOut(count or None, lines, option.written, doubt)


def say_range(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """That torchrun's range of nodes leaves open how many they are, where no line tells that: the job has
    those of the one start, and the range more."""
    option = torch_variables.of_command(layer, command).option("nnodes")
    found = _ELASTIC.fullmatch(shown(option.value or ())) if option is not None else None
    told = draft.facts.get(("nodes",))
    nodes = draft.number("nodes") or 1
    if option is None or found is None or int(found[1]) <= nodes or (told is not None and told.is_open):
        return
    why = (
        f"{layer.program} goes on with 1 to {found[1]} nodes, as many as it is started on, and no line says "
    )
    why += "on how many that is"
    todo = f"where it was started on others too write their number, {found[1]} at the most, as `nodes`"
    places = lines_of(reading, command, option)
    draft.say("assumed", places, option.written, became=f"nodes: {nodes}", why=why, todo=todo, key="nodes")


def _nodes_of_composer(
    reading: ShellReading, command: Command, layer: Layer, slurm: Mapping[str, int]
) -> FanOut | None:
    """composer is told all processes, and those of a node."""
    every, each = layer.option("world_size"), layer.option("nproc_per_node")
    if every is None or each is None:
        return None
    total, count = number(every.value, reading, slurm), number(each.value, reading, slurm)
    if not total or not count or total % count:
        return None
    places = (*lines_of(reading, command, every), *lines_of(reading, command, each))
    return FanOut(total // count, tuple(dict.fromkeys(places)), f"{every.written} {each.written}")


def say_apart(command: Command, layer: Layer, ranks: Ranks, draft: Draft) -> None:
    """Where each task starts a launcher that is told of no others, each of them has a world of its own:
    --nnodes of torchrun is 1:1 (torch/distributed/run.py), --num_machines of accelerate 1, and deepspeed
    without a list of hosts takes what its node has."""
    layer = torch_variables.of_command(layer, command)
    told = {"nnodes", "config_file", "hostfile", "host", "include", "world_size", ""} & {
        each.name for each in layer.options
    }
    exported = {name for name, _ in (*command.environment, *command.prefix)}
    nodes, tasks = ranks.nodes or 1, ranks.per_node or 1
    if told or exported & _TELL_NODES or nodes * tasks < 2:
        return
    whose = f"each of the {nodes}" if tasks == 1 else f"each of the {nodes * tasks} tasks"
    why = f"{layer.program} is told of no other nodes: {whose} had a world of its own"
    todo = "where these were meant to be apart write a job for one of them, and submit it for each"
    became = "one world of all ranks"
    draft.say("question", (command.place,), layer.program, became=became, why=why, todo=todo)


def put_launcher(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """That the job's ranks take the launcher's place, and what becomes of its options."""
    draft.put(
        ("rendezvous",),
        "torch",
        (command.place,),
        layer.program,
        why=f"the job starts the ranks itself, one for each GPU, so {layer.program} is gone: {SETS_ALL}",
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
    if layer.program == "deepspeed":
        deepspeed.put(reading, command, layer, draft)
    if layer.program == "accelerate":
        accelerate_file.say_default(command, layer, draft)
    if layer.program == "composer":
        # _launch_processes of composer/cli/launcher.py, whatever it was before; PyTorch takes it for
        # TORCH_NCCL_ASYNC_ERROR_HANDLING, which later releases of composer set.
        why = "composer sets it in each process"
        draft.put(("env", "NCCL_ASYNC_ERROR_HANDLING"), "1", (command.place,), "composer", why=why)
    if layer.program == "bind_launch":
        _bound(reading, command, layer, draft)
    elif layer.program == "deepspeed" and deepspeed.binds(layer):
        return
    else:
        what = f"{layer.program} binds no process"
        draft.say("replaced", (command.place,), what, became="bind: cpus: local", why=BESIDE_ITS_GPU)


def _option(reading: ShellReading, command: Command, layer: Layer, option: Option, draft: Draft) -> None:
    places = lines_of(reading, command, option)
    if option.name in ("nsockets_per_node", "ncores_per_socket", "no_hyperthreads", "no_membind"):
        return
    if option.name in _OF_RANKS and _is_for_each_gpu(shown(option.value or ())):
        became, why = "ranks_per_node: one for each GPU", "a job that says no number has as many"
        draft.say("replaced", places, option.written, became=became, why=why)
    elif option.name in REPLACED:
        draft.say("replaced", places, option.written, why=REPLACED[option.name])
    elif not option.name and carries_addresses(option.value or ()):
        draft.say("replaced", places, option.written, why=SETS_ALL)
    elif layer.program == "deepspeed" and deepspeed.option(option, places, draft):
        return
    elif layer.program == "accelerate":
        in_file = accelerate_file.told(reading, layer) if option.name == "config_file" else None
        if in_file is not None:
            places = (*places, in_file["num_machines"][1])
        of_accelerate(layer, option, places, draft, is_read=in_file is not None)
    else:
        why = f"an option of {layer.program}, which the job does without"
        draft.say("left", places, option.written, why=why, todo="see whether the program counts on it")


def of_accelerate(
    layer: Layer, option: Option, places: tuple[Place, ...], draft: Draft, *, is_read: bool = False
) -> None:
    """What accelerate tells the program by variables is in the job's env. `is_read`: the file of its
    configuration was given."""
    found, needs = accelerate.variable(option), accelerate.family(option)
    if needs and layer.option(needs) is None:
        why = f"accelerate tells it to the program with --{needs} alone"
        todo = "where the file of its configuration turns that on write it in env"
        kind: Kind = "left" if layer.option("config_file") else "without effect"
        draft.say(kind, places, option.written, why=why, todo=todo if kind == "left" else "")
    elif found is not None:
        why = "accelerate tells it to each process by this variable"
        draft.put(("env", found[0]), found[1], places, option.written, why=why)
    elif option.name == "config_file":
        why = "that file is not read: what it says beside the command line is told to no rank"
        if not is_read and layer.option("nnodes") is None:
            why = f"{why}, and it may be of several nodes (num_machines)"
        if is_read:
            why = "it is read for num_machines and num_processes alone: what else it says is told to no rank"
        todo = (
            "write what it says as variables in env (ACCELERATE_MIXED_PRECISION, FSDP_*), or let one rank on "
            "each node run `accelerate launch`"
        )
        draft.say("left", places, option.written, why=why, todo=todo)
    elif option.name == "gpu_ids":
        draft.say("replaced", places, option.written, why="each rank has the GPU that the job gives it")
    else:
        why = "accelerate tells it to the program, and hpclaunch does not know by which variable"
        todo = "set it in env, or let one rank on each node run `accelerate launch` itself"
        draft.say("left", places, option.written, why=why, todo=todo)


def _bound(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """The cores that bind_launch.py gives each process (main() of it in NVIDIA's MLPerf v0.6 submissions,
    also bind_pyt.py): a run of ncores_per_socket // (processes of a socket), with their second threads behind
    the cores of all sockets, and the memory of the socket."""
    options = [layer.option(name) for name in ("nsockets_per_node", "ncores_per_socket", "nproc_per_node")]
    counts = [number(each.value, reading, {}) if each else None for each in options]
    places = tuple(
        dict.fromkeys(place for each in options if each for place in lines_of(reading, command, each))
    ) or (command.place,)
    what = " ".join(each.written for each in options if each)
    sockets, cores, ranks = counts
    if not sockets or not cores or not ranks or ranks > 4096 or cores > 4096:
        draft.say("replaced", places, what or layer.program, became="bind: cpus: local", why=BESIDE_ITS_GPU)
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
