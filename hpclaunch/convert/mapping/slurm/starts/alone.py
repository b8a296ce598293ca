"""A script's own command as the run, where no srun and no mpirun starts ranks: it runs on the first node."""

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.container import enroot, other_runtimes
from hpclaunch.convert.mapping.slurm.batch.asked import Asked, of_batch
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.numbers.step_ranks import Ranks
from hpclaunch.convert.mapping.slurm.srun.sruns import Step, fallbacks, is_another
from hpclaunch.convert.mapping.slurm.starts import in_text
from hpclaunch.convert.programs import singularity, srun
from hpclaunch.convert.programs.beside import PREPARES, that
from hpclaunch.convert.programs.bind import BINDERS
from hpclaunch.convert.programs.environments import ENVIRONMENTS
from hpclaunch.convert.programs.layers import MPI, OVER_HOSTS, PER_GPU, Layer, layers
from hpclaunch.convert.programs.names import (
    BY_MPI,
    CONTAINERS,
    GPU_LAUNCHERS,
    OTHER_SUBMITTERS,
    REMOTE,
    SHELLS,
    STEPS,
    SUBMITTERS,
    any_of,
)
from hpclaunch.convert.programs.plain import IN_FRONT
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.convert.shell.started import behind_options
from hpclaunch.readback.shell.commands import BUILTINS
from hpclaunch.readback.shell.values import Value, base_name, known, known_parts, program_of, shown
from hpclaunch.values.conversion import Place

_RUNS = re.compile(
    rf"^((?:[\w.+-]+/)*python[\d.]*|{any_of(GPU_LAUNCHERS)}"
    r"|charmrun|bash|sh|julia|Rscript|matlab|octave|java|t?csh|[kz]sh"
    r"|[\w./-]+\.(sh|py|x|exe)|\./\S+|/\S+)$"
)
_STARTS = re.compile(rf"(?:^|[\s;&|(/`\"'])({any_of(STEPS, BY_MPI)})(?=[\s;\"']|$)")
_UNKNOWN_START = re.compile(r"(?:^|[;&|({\n])\s*\0")
_HELPS = PREPARES | that("shell", "enters", "words", "texts", "edits", "fetches", "ends")
_NUMBER_OF_NODES = re.compile(r"\bSLURM_(?:JOB_NUM_NODES|NNODES)\b")
_OF_SHELL = frozenset(("exit", "return", "break", "continue", "eval", "exec"))
# Besides those: what builds or looks at something, or only starts another, and is not what a job is for.
_NO_RUN = _HELPS | that("builds", "compiles").union(
    *(
        CONTAINERS,
        REMOTE,
        IN_FRONT,
        ("sudo", "enroot", "numactl", "taskset", "find", "xargs", "perl"),
    ),
    ("yes", "sacctmgr", "sattach", "ping", "clear", "mktemp", "modprobe", "mount", "umount"),
    ("tmux", "screen", "mail"),
)
_AROUND = (*IN_FRONT, *ENVIRONMENTS, *BINDERS)
_OF_DEVICES = re.compile(r"nvidia-\S+|rocm-\S+|ibstat\w*|ibv_\w+")
_OF_BATCH = re.compile(r"#SBATCH[ \t]+-")
_OF_BRANCH = re.compile(r": (?:not \()?(?:if|elif|case) ")
_MOST_SHOWN = 3
_FILE = re.compile(r"\.(?:py|sh|bash|jl|R|pl)$")  # of a program, as its name ends
_OF_ITSELF = frozenset(("-V", "-VV", "-version", "--version", "--help"))  # a program tells it, and ends
_FAR = ("config_file", "use_deepspeed", "deepspeed_", "mpirun_hostfile")  # what accelerate goes by
_OF_HOSTS = ("hostfile", "host", "include", "nnodes", "node_rank")


def step(reading: ShellReading, found: Allocation) -> Step | None:
    """The last command that may be the run, before any other the last that starts a process for each GPU;
    None where there is none. A container that sbatch was asked for is its own: the whole script is in it
    (Pyxis's README, "Advanced usage")."""
    found_here = [] if _submits_another(reading) else commands(reading)
    instead = fallbacks(found_here)
    found_here = [each for each in found_here if id(each) not in instead] or found_here
    if not found_here:
        return None
    command = (_launched(found_here) or found_here)[-1]
    of_enroot, inner, by_enroot = enroot.of(reading, command, layers(command.words))
    asked = (*of_container(reading), *by_enroot)
    inner, folder, front = in_text.unfolded(reading, command, inner, in_container=bool(asked))
    size = Ranks(nodes_of(inner, found), 1, (command.place,))
    if _may_start(reading, command, found):
        size = Ranks(found.nodes, None, (command.place,), _told([command]))
    return Step(command, (*asked, *folder), size, inner, (), of_enroot, front)


def _submits_another(reading: ShellReading) -> bool:
    """Whether it is a script of the login node, and submits one that is not given: what else it does is no
    job's."""
    its = [each for each in reading.of("sbatch", *OTHER_SUBMITTERS) if each.place not in reading.entered]
    return bool(its) and not reading.directives


def only_submits(reading: ShellReading) -> bool:
    """Whether a script with lines of #SBATCH does nothing but submit another one that is not given."""
    if not any(each.system == "SBATCH" for each in reading.directives):
        return False
    last = next((each for each in reversed(reading.of("sbatch")) if each.place not in reading.entered), None)
    script = () if last is None else srun.read(last.words)[1][:1]
    name = known(script[0]) if script else None
    return (
        name is not None
        and name.rpartition("/")[2] != reading.script.rpartition("/")[2]
        and all(known_parts(word) for each in reading.commands for word in each.words[:1])
        and not commands(reading)
        and not unknown_of(reading)
        and all(program_of(layers(each.words)[-1].words) in PREPARES for each in reading.of(*STEPS, *BY_MPI))
    )


def only(reading: ShellReading, found: Allocation, draft: Draft) -> Step | None:
    """The one command of a script for sbatch of which nothing is known, where no other may be the run. On
    several nodes it may be a launcher."""
    of_batch = any(each.system == "SBATCH" for each in reading.directives) or too_late(reading) is not None
    if found.nodes not in (None, 1) or not of_batch:
        return None
    unknown = unknown_of(reading)
    if len(unknown) != 1:
        return None
    command = unknown[0]
    unread = any(each.program == "eval" for each in reading.commands)
    known_of = "that is understood " if unread else ""
    perhaps = [each for each in reading.commands if _is_on_condition(each) and _may_be_one(each)]
    but = "; ".join(f"{each.brief()} ({each.place})" for each in perhaps[:_MOST_SHOWN])
    but = f", but for what a condition decides on: {but}" if but else ""
    why = f"nothing starts ranks, and no other command of the script {known_of}may be the run{but}"
    todo = "where it is none write `command` in the job file"
    draft.say("assumed", (command.place,), command.written, became="command", why=why, todo=todo)
    found_step = of_script(reading, command)
    if _may_start(reading, command, found):
        size = Ranks(found.nodes, None, (command.place,), _told([command]))
        return structs.replace(found_step, ranks=size)
    return found_step


def too_late(reading: ShellReading) -> Place | None:
    """The first line of #SBATCH behind a command: it asks for nothing, and the script is one for sbatch."""
    text = next((each.text for each in reading.sources if each.name == reading.script), "")
    if "\n#SBATCH" not in text:
        return None
    own = [each.place for each in reading.statements if each.place.file == reading.script]
    inside = {number for place in own for number in range(place.line + 1, place.last + 1)}
    lines = (number for number, each in enumerate(text.split("\n"), 1) if _OF_BATCH.match(each))
    first = next((number for number in lines if number not in inside), None)
    return None if first is None else Place(reading.script, first)


def unknown_of(reading: ShellReading) -> list[Command]:
    """The commands of a script of which nothing is known, and each of which may be the run."""
    return [each for each in reading.commands if _may_be_anything(each)]


def of_script(reading: ShellReading, command: Command) -> Step:
    """A command of a script that sbatch puts into a container."""
    return Step(command, of_container(reading), Ranks(1, 1, (command.place,)), layers(command.words))


def _may_be_anything(command: Command) -> bool:
    return not command.conditions and _may_be_one(command)


def _is_on_condition(command: Command) -> bool:
    """Whether an `if` or a `case` decides on it, and not only whether another command failed."""
    return bool(command.conditions) and all(map(_OF_BRANCH.search, command.conditions))


def _may_be_one(command: Command) -> bool:
    """Whether nothing is known of it, so that it may be the run where it is executed."""
    if command.within or command.signals or command.loops or command.pipeline[0] > 0:
        return False
    found = layers(command.words)
    its = found[-1].words
    name = program_of(its) if its else ""
    if _tells_of_itself(found[-1]):
        return False
    if any(layer.program in (*MPI, *SUBMITTERS) for layer in found):
        return False  # it was looked at, and is not the run; what sbatch starts is in another job
    return bool(re.match(r"[./]*\w", name)) and not (
        name in BUILTINS
        or name in _OF_SHELL
        or name in _NO_RUN
        or _OF_DEVICES.fullmatch(name)
        or command.background
    )


def _tells_of_itself(program: Layer) -> bool:
    return len(program.words) == 2 and known(program.words[1]) in _OF_ITSELF


def commands(reading: ShellReading) -> list[Command]:
    """The commands of the script that may be the run."""
    return [command for command in reading.commands if _may_be_run(command)]


def is_one(run: Step, by: Layer | None) -> bool:
    """Whether neither srun nor mpirun (`by`) starts the run."""
    return by is None and all(layer.program != "srun" for layer in layers(run.command.words))


def may_start_ranks(run: Step) -> bool:
    """Whether the run may start ranks itself, in a way that is not read."""
    return run.ranks.doubt == _told([run.command])


def _may_start(reading: ShellReading, command: Command, found: Allocation) -> bool:
    """Whether a command of the script's own may start ranks itself, as far as that is read of it: by a text,
    by words that name a starter, or by a script that is not given, where sbatch asks for more than one."""
    if _is_unknown_text(command) or _names_starter(command):
        return True
    on_its_node = any(
        layer.program in PER_GPU and layer.program not in OVER_HOSTS for layer in layers(command.words)
    )
    if found.nodes is None and not on_its_node and _is_told_nodes(reading, command):
        return True
    several = any((number or 1) > 1 for number in (found.nodes, found.tasks, found.per_node))
    return several and bool(_script_not_given(reading, command))


def _is_told_nodes(reading: ShellReading, command: Command) -> bool:
    """Whether its words tell how many nodes there are, also by way of a variable."""
    given = (reading.at(name, command.place) for name in reading.used_by(command))
    values = (*command.words, *(each.value for each in given if each is not None))
    return any(_NUMBER_OF_NODES.search(shown(each)) for each in values)


def ask_text(reading: ShellReading, run: Step, found: Allocation, draft: Draft) -> None:
    """The question what is started by a text or a script of which nothing is told."""
    texts = [each for each in reading.commands if _may_be_run(each) and _is_unknown_text(each)]
    own = [run.command] if _may_start(reading, run.command, found) else []
    places = tuple(dict.fromkeys(each.place for each in (*texts, *own)))
    script = _script_not_given(reading, run.command)
    todo = f"convert again with {script}" if script else ""
    on_others = [] if found.nodes == 1 else texts  # of one node none is left for what the text starts
    asks = [("command", "what each rank executes", texts or own), ("nodes", "how many nodes", on_others)]
    for key, asked, by in asks:
        if by:
            draft.unsay((key,))
            question = f"{asked}: {_told(by)}"
            draft.ask((key,), question, (*places, run.command.place), _shown(by), todo)
    if script and not (texts or own):
        what = f"whether {script} starts ranks itself"
        draft.say("question", (run.command.place,), what, why="the file is not given", todo=todo)


def _told(commands: Sequence[Command]) -> str:
    return f"what {_shown(commands)} starts is not told, and it may start ranks itself"


def _shown(commands: Sequence[Command]) -> str:
    return " and ".join(dict.fromkeys(" ".join(map(shown, each.words)) for each in commands))


def _names_starter(command: Command) -> bool:
    """Whether srun or mpirun stands among what a program is given, or reads, that is not known to start
    it."""
    its = layers(command.words)
    if any(layer.program in (*MPI, "srun") for layer in its):
        return False
    read = its[-1].words[1:] if command.stdin is None else (*its[-1].words[1:], command.stdin)
    texts = ("".join(each for each in word if isinstance(each, str)) for word in read)
    return any(map(_STARTS.search, texts))


def naming_starter(reading: ShellReading) -> Command | None:
    """The last command that may start ranks in a way that is not read."""
    commands = [each for each in reading.commands if each.program not in _HELPS and not each.within]
    return next((each for each in reversed(commands) if _names_starter(each)), None)


def _script_not_given(reading: ShellReading, command: Command) -> str:
    """The name of the script that a command executes, "" where it is given, and for a program."""
    words = list(layers(command.words)[-1].words)
    if words and base_name(words[0]) in SHELLS:
        words = behind_options(words[1:])
    elif not words or not shown(words[0]).endswith((".sh", ".bash")):
        return ""
    if not words:
        return ""
    name = shown(words[0])
    given = (each.name.rpartition("/")[2] for each in (*reading.sources, *reading.beside))
    return "" if name.rpartition("/")[2] in given else name


def _is_unknown_text(command: Command) -> bool:
    """Whether a shell is given a text in which nothing is known of the name of a command."""
    words = layers(command.words)[-1].words
    if program_of(words) not in SHELLS or behind_options(words[1:]):
        return False  # behind the name of a script stand its own words: bash run.sh -c CONFIG
    texts = [word for option, word in pairwise(words) if re.fullmatch(r"-\w*c\w*", known(option) or "")]
    return any(_UNKNOWN_START.search(_shown_of(word)) for word in texts)


def _shown_of(word: Value) -> str:
    """The word with a NUL for each part that is not known."""
    return "".join(part if isinstance(part, str) else "\0" for part in word)


def others(reading: ShellReading, run: Command) -> list[Command]:
    """The other commands that start a process for each GPU of their node, but for those that run only where
    one has failed, and those that go on beside the run."""
    found = _launched([command for command in reading.commands if _may_be_run(command)])
    instead = fallbacks(found)
    return [each for each in found if is_another(each, run) and id(each) not in instead]


def _launched(commands: Sequence[Command]) -> list[Command]:
    return [each for each in commands if any(layer.program in PER_GPU for layer in layers(each.words))]


def of_container(reading: ShellReading) -> tuple[Asked, ...]:
    """The options of Pyxis that sbatch was given."""
    names = ("container-", "no-container-")
    return tuple(each for each in of_batch(reading) if each.name.startswith(names))


def is_in_container(reading: ShellReading) -> bool:
    """Whether sbatch puts the script itself into a container, and with it all that no srun starts."""
    return any(each.name in ("container-image", "container-name") for each in of_container(reading))


def cut_short(reading: ShellReading, asked: Asked) -> bool:
    """Whether a # in the option's value made a comment of the rest: nvcr.io#nvidia/pytorch (get_argument in
    Slurm's src/sbatch/opt.c)."""
    place = asked.places[0]
    text = next((each.text for each in reading.sources if each.name == place.file), "")
    lines = text.split("\n")[place.line - 1 : place.line]
    return asked.how == "directive" and any(f"{asked.written}#" in line for line in lines)


def _may_be_run(command: Command) -> bool:
    if command.signals or command.pipeline[0] > 0 or not command.words:
        return False
    its = layers(command.words)
    if command.within and not _is_kept_output(command, its):
        return False
    first = next((layer for layer in its if layer.program not in _AROUND), its[-1])
    if first is not its[0] and first.program in PER_GPU:
        return True
    program = known((first.words if first is its[-1] and first.words else command.words)[0]) or ""
    if first.program in (enroot.PROGRAM, *other_runtimes.PROGRAMS):
        return first.program != singularity.SHELL or bool(its[-1].words)
    if _tells_of_itself(its[-1]) or first.program in (*STEPS, *MPI, *SUBMITTERS):
        return False  # whatever folder it is named with
    if first.program in PER_GPU:
        return True  # also where its folder is not known: $HOME/.local/bin/torchrun
    return bool(_RUNS.match(program)) and program.rpartition("/")[2] not in _HELPS


def _is_kept_output(command: Command, its: Sequence[Layer]) -> bool:
    """Whether it executes a file in a container and the script keeps what it writes: out=$(singularity exec
    IMAGE python run.py). Without a file it only asks the image for something."""
    in_container = any(each.program in (enroot.PROGRAM, *other_runtimes.PROGRAMS) for each in its)
    return (
        command.within == "output"
        and in_container
        and any(_FILE.search(shown(word)) for word in its[-1].words[:2])
    )


def nodes_of(inner: tuple[Layer, ...], found: Allocation) -> int | None:
    """deepspeed and its like go to the other nodes by themselves; deepspeed where it is told of any
    (fetch_hostfile in its launcher/runner.py), and accelerate where it starts deepspeed, which a file of its
    configuration may tell it, or mpirun (accelerate/utils/launch.py)."""
    reaches = any(
        (layer.program == "accelerate" and any(each.name.startswith(_FAR) for each in layer.options))
        or (layer.program in OVER_HOSTS and any(layer.option(name) for name in _OF_HOSTS))
        for layer in inner
    )
    return found.nodes if reaches else 1
