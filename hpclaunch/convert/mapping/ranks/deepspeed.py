"""What deepspeed does beside starting ranks: the GPUs that it is told to take, the variables that it sets,
and who binds (deepspeed/launcher/runner.py and launch.py of DeepSpeed 0.10 to 0.16)."""

import re
from collections.abc import Iterator
from os.path import normpath

from hpclaunch.convert.cores import BESIDE_ITS_GPU
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.words.host_lists import HostList, lists
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.programs.layers import OVER_HOSTS, Layer, Option
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values import cpulist
from hpclaunch.values.conversion import Place

OWN_LIST = "/job/hostfile"  # DLTS_HOSTFILE, of runner.py and bin/ds_ssh
_FILE = re.compile(r"(^|/)\.deepspeed_env$")
_LINE = re.compile(r"([A-Za-z_]\w*)=(.*)")
_HANDED_ON = ("NCCL", "PYTHON", "MV2", "UCX", "MLFLOW")
_LISTED = re.compile(r"[\d,-]+")
_SLOTS = re.compile(r"(?<![\w-])slots\s*=\s*")


def slots(layer: Layer) -> tuple[Option, tuple[int, ...] | None, int] | None:
    """The option that chooses GPUs (--include), those of each host, None where it does not tell them or they
    are not the same for all, and how many hosts it names; None where no option chooses any."""
    option = layer.option("include") or layer.option("exclude")
    if option is None:
        return None
    text = known(option.value or ()) or ""
    hosts = [each.partition(":") for each in text.split("@") if each]
    lists = {slots for _, _, slots in hosts}
    only = lists.pop() if len(lists) == 1 else ""
    told = option.name == "include" and re.fullmatch(r"\d{1,4}(,\d{1,4})*", only)
    return option, tuple(map(int, only.split(","))) if told else None, len(hosts)


def hosts(reading: ShellReading, layer: Layer) -> HostList | None:
    """The hosts of its --hostfile, where their lines are told: it starts a process for each slot of each
    (fetch_hostfile), and those of --num_nodes and --num_gpus alone where these are there. Colossal-AI's has
    one to a line (fetch_hostfile of colossalai/cli/launcher/run.py)."""
    option = layer.option("hostfile")
    if layer.program not in OVER_HOSTS or option is None or known(option.value or ()) == "":
        return None
    return next(lists(reading), None)


def written_slots(reading: ShellReading, layer: Layer) -> list[tuple[Value, Place]]:
    """What the script writes behind `slots=` into its --hostfile, beside hosts that only the job knows (a
    loop over them, or sed and awk), () where that is not told."""
    option = layer.option("hostfile")
    if layer.program != "deepspeed" or option is None or not option.value:
        return []
    path = normpath(shown(option.value))
    return [
        (slots, command.place)
        for command in reading.commands
        if any(normpath(shown(each.path)) == path for each in command.writes)
        for word in command.words[1:]
        if (slots := _behind_slots(word)) is not None
    ]


def _behind_slots(word: Value) -> Value | None:
    """The number behind `slots=`: its digits, or the variable that stands for them."""
    for index, part in enumerate(word):
        found = _SLOTS.search(part) if isinstance(part, str) else None
        if isinstance(part, str) and found is not None:
            text, behind = part[found.end() :], word[index + 1 : index + 2]
            digits = re.match(r"\d+", text)
            if digits is None:
                return () if text else behind
            return () if digits[0] == text and behind else (digits[0],)
    return None


def on_all_hosts(reading: ShellReading, layer: Layer) -> Command | None:
    """The command that a script which names no hosts runs on those of the list that deepspeed looks for by
    itself: it is there then, and not of one node."""
    if layer.program != "deepspeed" or any(layer.option(name) for name in ("hostfile", "host", "include")):
        return None
    return next((each for each in reading.commands if each.program == "ds_ssh"), None)


def put(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """The GPUs of the ranks, the variables of .deepspeed_env, and the cores of each rank."""
    chosen = slots(layer)
    if chosen is not None:
        put_visible(layer, lines_of(reading, command, chosen[0]), draft)
    _put_file(reading, draft)
    _say_exported(reading, command, layer, draft)
    _bind(reading, command, layer, draft)


def put_visible(layer: Layer, lines: tuple[Place, ...], draft: Draft) -> None:
    """The GPUs that the ranks of a node see."""
    chosen = slots(layer)
    if chosen is not None and chosen[1] is not None and chosen[1] != tuple(range(len(chosen[1]))):
        value = ",".join(map(str, chosen[1]))
        why = "the ranks of a node see these GPUs, in this order"
        draft.put(("env", "CUDA_VISIBLE_DEVICES"), value, lines, chosen[0].written, why=why)


def option(option: Option, places: tuple[Place, ...], draft: Draft) -> bool:
    """What becomes of an option that is deepspeed's alone; False for any other."""
    if option.name == "include":
        draft.say(
            "replaced", places, option.written, why="the job has nodes of its own, and so many ranks on each"
        )
    elif option.name == "exclude":
        todo = "to keep nodes out write sites.NAME.exclude"
        draft.say("left", places, option.written, why="the job has nodes of its own", todo=todo)
    elif option.name in ("launcher", "no_ssh", "no_ssh_check", "ssh_port", "force_multi"):
        draft.say("replaced", places, option.written, why="srun starts the ranks itself, without ssh")
    elif option.name == "launcher_args":
        todo = "what is meant for srun may stand in sites.NAME.srun"
        draft.say("left", places, option.written, why="srun starts the ranks itself", todo=todo)
    elif option.name == "no_local_rank":
        draft.say("carried", places, option.written, became="command: without --local_rank", key="command")
    elif option.name not in ("bind_cores_to_rank", "bind_core_list"):
        return False
    return True


def binds(layer: Layer) -> bool:
    """Whether it binds its processes."""
    return layer.option("bind_cores_to_rank") is not None


def _bind(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """--bind_cores_to_rank: each rank has as many cores of the list, one rank after the other
    (get_numactl_cmd in deepspeed/utils/numa.py)."""
    asked, listed = layer.option("bind_cores_to_rank"), layer.option("bind_core_list")
    if asked is None:
        if listed is not None:
            why = "deepspeed reads it with --bind_cores_to_rank alone"
            draft.say("without effect", lines_of(reading, command, listed), listed.written, why=why)
        return
    if listed is None:
        lines = lines_of(reading, command, asked)
        draft.say("replaced", lines, asked.written, became="bind: cpus: local", why=BESIDE_ITS_GPU)
        return
    lines = lines_of(reading, command, listed)
    text, ranks = known(listed.value or ()) or "", draft.number("ranks_per_node")
    cores = list(cpulist.parse(text)) if _LISTED.fullmatch(text) else []
    each = len(cores) // ranks if ranks else 0
    if not each or not ranks:
        draft.ask(("bind", "cpus"), f"the CPUs of each local rank: {listed.written}", lines, listed.written)
        return
    parts = [cpulist.format_list(cores[rank * each : (rank + 1) * each]) for rank in range(ranks)]
    draft.put(("bind", "cpus"), parts, lines, f"{asked.written} {listed.written}")
    draft.put(("bind", "memory"), "none", lines, asked.written, why="it follows the cores that are given")


def _say_exported(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """Variables that ranks reached over ssh never had: all but those of EXPORT_ENVS in runner.py. With
    --no_ssh it starts those of its own node alone, and hands on all (main there, `and not args.no_ssh`)."""
    if layer.option("no_ssh") is not None:
        return
    names = [
        name
        for name, _ in command.environment
        if ("env", name) in draft.facts and not name.startswith(_HANDED_ON) and name != "CUDA_VISIBLE_DEVICES"
    ]
    places = [each.place for name in names if (each := reading.last(name)) is not None]
    if layer.option("hostfile") is not None and places:
        draft.say(
            "assumed",
            places,
            ", ".join(names),
            became="env",
            why=f"with a list of hosts deepspeed hands on {', '.join(_HANDED_ON)} and .deepspeed_env alone",
            todo="take it out of env where the ranks are not to have it",
        )


def _put_file(reading: ShellReading, draft: Draft) -> None:
    """The lines NAME=VALUE of a .deepspeed_env that the script writes: deepspeed exports them to all."""
    for command, text in _written(reading):
        for line in (text or "").splitlines():
            found = _LINE.fullmatch(line.strip())
            if found is None or ("env", found[1]) in draft.facts:
                continue
            if is_secret(found[1]):
                draft.put(("secrets", draft.count("secrets")), found[1], (command.place,), ".deepspeed_env")
            elif found[1] != "PATH":
                draft.put(("env", found[1]), found[2], (command.place,), ".deepspeed_env")
        if text is None:
            why = "deepspeed exports its lines to all ranks, and they are not told"
            todo = "write them in env"
            draft.say("left", (command.place,), ".deepspeed_env", why=why, todo=todo)


def _written(reading: ShellReading) -> Iterator[tuple[Command, str | None]]:
    """The commands that write it, and what they write, None where it is not told."""
    for command in reading.commands:
        if not any(_FILE.search(shown(each.path)) for each in command.writes):
            continue
        if command.program == "cat" and command.stdin is not None:
            yield command, known(command.stdin)
        elif command.program == "echo":
            words = [known(word) for word in command.words[1:]]
            yield command, None if None in words else " ".join(map(str, words))
        else:
            yield command, None
