"""Launchers of other kinds: known, refused as a whole with the reason, and what could be told of them."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.families import docker_ssh, other_containers
from hpclaunch.convert.mapping import other_schedulers, own_program
from hpclaunch.convert.mapping.container.images import reference
from hpclaunch.convert.mapping.docker import config_env, container, launch
from hpclaunch.convert.mapping.docker.mounts import volume
from hpclaunch.convert.mapping.docker.sizes import is_of_slurm
from hpclaunch.convert.mapping.docker.steps import started
from hpclaunch.convert.mapping.environment import handed_on
from hpclaunch.convert.mapping.ranks import by_jsrun, mpi
from hpclaunch.convert.mapping.slurm import allocation
from hpclaunch.convert.mapping.slurm.asked import of_options
from hpclaunch.convert.mapping.slurm.sizes import Allocation, ranks
from hpclaunch.convert.mapping.words.lines import lines_of
from hpclaunch.convert.mapping.words.texts import line, path, split
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs.layers import MPI, PER_GPU, Layer, layers
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, CONTAINERS, REMOTE, STEPS, any_of
from hpclaunch.convert.programs.schedulers import scheduler_of
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, base_name, join, known, shown
from hpclaunch.values.conversion import Finding, Place

_STARTS = re.compile(r"^singularity (exec|run)$")
_OF_SINGULARITY = re.compile(r"(?:SINGULARITY|APPTAINER)(?:_BIND(?:PATH)?|ENV_(\w+))")
_START_TEXTS = frozenset(
    ("ansible", "tmux", "screen", "parallel", "xargs", "dsh", "mussh", "salt", "fab", "sem")
)
_STARTERS = re.compile(rf"\b{any_of(CONTAINERS, REMOTE, STEPS, BY_MPI, BY_TORCH)}\b")
_STARTS_IN_PYTHON = re.compile(r"(?s)(subprocess|os\.system|Popen).*\b(docker|ssh|srun|mpirun|singularity)\b")
_DOCKER_ONLY = (
    "it runs one container on the machine where it is typed, and asks no scheduler for nodes: how many, and "
    "for how long, no line tells"
)
_TODO = "write a job file with what is told here: `hpclaunch schema job` has its keys, examples/ has some"
_OF_VARIABLES = {
    "PBS_": "PBS",
    "LSB_": "LSF",
    "SGE_": "Grid Engine",
    "PE_HOSTFILE": "Grid Engine",
    "COBALT_": "Cobalt",
    "PJM_": "PJM",
    "OAR_": "OAR",
}
_OF_SLURM = re.compile(r"^[^#\n]*\$\{?SLURM_(?:J|N|T)", re.MULTILINE)
_VARIABLE = re.compile(rf"\$\{{?({'|'.join(_OF_VARIABLES)})")
_OTHER_RUNTIMES = {"shifter": "Shifter", "ch-run": "Charliecloud", "sarus": "Sarus", "udocker": "udocker"}


class _Kind(Struct, frozen=True):
    """What a launcher is, by which line, and why it is not converted."""

    name: str
    place: Place
    reason: str
    is_scheduler: bool = False


def recognise(reading: ShellReading) -> Place | None:
    """The line that makes it one of these, None for none."""
    kind = _kind(reading)
    return kind.place if kind is not None else None


def convert(reading: ShellReading, draft: Draft, options: Options) -> None:
    """Refuse it, and tell what could be told."""
    kind = _kind(reading)
    assert kind is not None
    of_slurm = is_of_slurm(reading)
    steps = of_slurm and other_containers.are_steps(reading)
    found = allocation.put(reading, draft) if of_slurm and not steps else Allocation()
    if steps:
        other_containers.put(reading, draft, options)
    # What allocation has told is not said again.
    others = [each for each in reading.directives if not (of_slurm and each.system == "SBATCH")]
    other_schedulers.put(others, draft)
    if not steps:
        _facts(reading, found, draft, options)
    # Nobody answers questions about a job that is not written; the construct itself is not lost.
    told = [_no_question(each) for each in draft.findings if each.kind != "question" or _is_of_a_line(each)]
    draft.findings[:] = told
    if not of_slurm and kind.is_scheduler and ("command",) not in draft.facts:
        own_program.put(reading, draft)
        draft.findings[:] = [_no_question(each) for each in draft.findings]
    draft.refuse(kind.reason, [kind.place], kind.name, todo=_TODO)


def _kind(reading: ShellReading) -> _Kind | None:
    for find in (_scheduler, _singularity, _other_runtime, _docker_only, _python, _handed_over):
        kind = find(reading)
        if kind is not None:
            return kind
    return None


def _is_of_a_line(finding: Finding) -> bool:
    """Whether it is about something that stands in the input, and not about what the input lacks."""
    return finding.key.partition(".")[0] in ("mounts", "env", "image", "workdir")


def _no_question(finding: Finding) -> Finding:
    if finding.kind != "question":
        return finding
    return structs.replace(finding, kind="left", key="", todo="write it in a job file")


def _scheduler(reading: ShellReading) -> _Kind | None:
    seen: dict[str, Place] = {}
    systems = {each: other_schedulers.system(each) for each in reading.directives}
    of_slurm = not all(systems.values())
    if of_slurm and _starts_ranks(reading):
        return None
    for directive, system in systems.items():
        if not of_slurm:
            seen.setdefault(system, directive.place)
    for command in reading.commands:
        its = scheduler_of(command.words)
        if its and not seen:
            if of_slurm:
                reason = (
                    f"what it starts is given to {its}, by `{command.program}`: hpclaunch sends jobs to "
                    "Slurm and Kubernetes, and reads launchers of those"
                )
                return _Kind(f"commands of {its} in a script for Slurm", command.place, reason)
            seen.setdefault(its, command.place)
    if not seen and not of_slurm and not is_of_slurm(reading) and not _asks_slurm(reading):
        for name, places in reading.wanted.items():
            system = next((its for prefix, its in _OF_VARIABLES.items() if name.startswith(prefix)), "")
            if system and places:
                seen.setdefault(system, places[0])
        for command in reading.commands:
            found = _VARIABLE.search(command.written)
            if found:
                seen.setdefault(_OF_VARIABLES[found[1]], command.place)
    if not seen:
        return None
    name, place = next(iter(seen.items()))
    reason = (
        f"a script for {name}: hpclaunch sends jobs to Slurm and Kubernetes, and reads launchers of those"
    )
    return _Kind(f"a script for {name}", place, reason, is_scheduler=True)


def _asks_slurm(reading: ShellReading) -> bool:
    """Whether a script that knows another scheduler knows Slurm too: which of them runs it nobody tells."""
    return any(_OF_SLURM.search(source.text) for source in reading.sources)


def _starts_ranks(reading: ShellReading) -> bool:
    """Whether something is started that hpclaunch reads, or that is a program of the script's own."""
    own = (shown(command.words[0]) for command in reading.commands if command.words)
    if any("/" in word or word.startswith("python") for word in own):
        return True
    return any(
        layer.program in (*MPI, *PER_GPU, "srun", "sbatch", "salloc", "docker run", "docker exec")
        for command in reading.commands
        for layer in layers(command.words)
    )


def _singularity(reading: ShellReading) -> _Kind | None:
    for command in reading.commands:
        if any(_STARTS.match(layer.program) for layer in layers(command.words)):
            reason = (
                "containers of Singularity or Apptainer: hpclaunch's are of Pyxis and Kubernetes, and "
                "neither runs a .sif image"
            )
            return _Kind("singularity", command.place, reason)
    return None


def _other_runtime(reading: ShellReading) -> _Kind | None:
    for command in reading.commands:
        for word in command.words[:12]:
            name = _OTHER_RUNTIMES.get(base_name(word))
            if name is not None:
                reason = f"containers of {name}: hpclaunch's are of Pyxis and Kubernetes"
                return _Kind(name, command.place, reason)
    return None


def _docker_only(reading: ShellReading) -> _Kind | None:
    for command in reading.commands:
        if any(layer.program in ("docker run", "docker exec") for layer in layers(command.words)):
            return _Kind("docker without a scheduler", command.place, _DOCKER_ONLY)
        words = [known(word) or "" for word in command.words[:3]]
        if words[:2] in (["docker", "service"], ["docker", "stack"]):
            reason = "services of Docker's swarm: hpclaunch sends jobs to Slurm and Kubernetes"
            return _Kind("docker swarm", command.place, reason)
        if command.program == "docker-compose" or any(
            layer.program == "docker compose" for layer in layers(command.words)
        ):
            return _Kind("docker compose", command.place, _DOCKER_ONLY)
    return None


def _python(reading: ShellReading) -> _Kind | None:
    """A here-document for Python that starts something itself."""
    for command in reading.commands:
        text = shown(command.stdin or ())
        if command.program.startswith("python") and _STARTS_IN_PYTHON.search(text):
            reason = "a Python text starts the commands here: hpclaunch reads scripts for shells alone"
            return _Kind("a launcher in Python", command.place, reason)
    return None


def _handed_over(reading: ShellReading) -> _Kind | None:
    """Commands in the texts of programs that are not read."""
    for command in reading.commands:
        text = " ".join(map(shown, command.words[1:]))
        if command.program in _START_TEXTS and _STARTERS.search(text):
            reason = f"what starts the ranks is in texts for {command.program}, and those are not read"
            return _Kind(f"commands for {command.program}", command.place, reason)
    return None


def _facts(reading: ShellReading, found: Allocation, draft: Draft, options: Options) -> None:
    reading = config_env.told(reading)
    steps = started(reading)
    main = docker_ssh.main_of(steps)
    if main is not None and main.container is not None and not main.words:
        container.put_image(reading, steps, draft)
        return
    if main is not None and main.container is not None:
        home = container.container_of(steps, main)
        launch.put(launch.Launch(reading, steps, main, home), Allocation(), draft, options)
        return
    for command in reading.commands:
        its = layers(command.words)
        layer = next((each for each in its if _STARTS.match(each.program)), None)
        if layer is not None:
            _container(reading, command, layer, draft)
            _by_variables(reading, command, draft)
        mpirun = next((each for each in its if each.program in ("mpirun", "mpiexec.hydra")), None)
        if mpirun is not None:
            _ranks(reading, command, mpirun, draft)
        elif layer is not None:
            _ranks_of_step(reading, command, its, found, draft)
        start = next((each for each in its if by_jsrun.is_run(command, each, its[-1])), None)
        if start is not None:
            by_jsrun.put(reading, command, start, draft)
        if layer is not None or mpirun is not None or start is not None:
            _command(reading, command, its[-1], draft)


def _ranks(reading: ShellReading, command: Command, mpirun: Layer, draft: Draft) -> None:
    told = ("ranks_per_node",) in draft.facts
    size = None if told else mpi.ranks_of(reading, command, mpirun, draft.number("nodes"), {})
    if size is not None and size.per_node is not None:
        draft.put(("ranks_per_node",), size.per_node, size.places, size.what)
    elif size is not None:
        why = "how many of these are on a node is not told"
        draft.say("left", size.places, size.what, why=why, todo="write nodes and ranks_per_node")
    mpi.put_options(reading, command, mpirun, draft)
    mpi.put_kind(command, mpirun, draft)
    hands_on_all = mpirun.program == "mpiexec.hydra"  # Intel MPI's and MPICH's default, -genvall
    all_given = by_jsrun.exported(reading, command) if hands_on_all else []
    all_given += handed_on.given(reading, command, mpirun.all("x"), f"{mpirun.program} -x")
    handed_on.put(reading, all_given, draft, handed_on.Receivers())


def _ranks_of_step(
    reading: ShellReading, command: Command, its: Sequence[Layer], found: Allocation, draft: Draft
) -> None:
    """How many of the containers srun starts on each node, where it starts them."""
    step = next((each for each in its if each.program == "srun"), None)
    if step is None:
        return
    size = ranks(reading, of_options(reading, command, step.options), found, command.place)
    if size.per_node is not None:
        draft.put(("ranks_per_node",), size.per_node, size.places, "srun")


def _command(reading: ShellReading, command: Command, inner: Layer, draft: Draft) -> None:
    written = line(list(inner.words))
    if inner.words and not written.doubt:
        draft.put(("command",), written.plain, reading.origin(command), " ".join(map(shown, inner.words)))


def _container(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    for option in layer.options:
        places = lines_of(reading, command, option)
        rule = _OPTIONS.get(option.name)
        if rule is not None and option.value is not None:
            rule(reading, command, layer, draft)
        elif option.name not in _OPTIONS:
            draft.say("left", places, option.written, why="an option of Singularity's")
    text = path(layer.words[0]) if layer.words else None
    if text is None:
        return
    places = lines_of_image(reading, command, layer)
    if text.endswith((".sif", ".simg", ".img")) or text.startswith("/"):
        todo = "name the image that it was made of, or make a .sqsh file (enroot import docker://...)"
        draft.say("left", places, f"the image {text}", why="neither Pyxis nor Kubernetes runs it", todo=todo)
    else:
        draft.put(("image",), reference(text), places, text)


def _by_variables(reading: ShellReading, command: Command, draft: Draft) -> None:
    """What its own variables ask for (apptainer(1), "Environment variables"): SINGULARITY_BIND and
    APPTAINER_BINDPATH are --bind, SINGULARITYENV_NAME is --env NAME."""
    for name, value in command.environment:
        found = _OF_SINGULARITY.fullmatch(name)
        if found is None:
            continue
        each = reading.last(name)
        places = (each.place,) if each is not None else (command.place,)
        if found[1]:
            handed = handed_on.Handed(found[1], value, name.removesuffix(found[1]), places, {})
            handed_on.put(reading, [handed], draft, handed_on.Receivers())
        else:
            _mounts_of(value, name, places, draft, command.folder)


def lines_of_image(reading: ShellReading, command: Command, layer: Layer) -> tuple[Place, ...]:
    """The lines that give the image."""
    return reading.origin(command, known(layer.words[0]) or shown(layer.words[0]))


def _mounts(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    for option in layer.all("bind"):
        _mounts_of(option.value or (), "-B", lines_of(reading, command, option), draft, command.folder)


def _mounts_of(folders: Value, by: str, places: tuple[Place, ...], draft: Draft, folder: Value) -> None:
    for value in split(folders, ","):
        both = value if len(split(value, ":")) > 1 else join([*value, ":", *value])
        volume(both, f"{by} {shown(value)}", places, draft, folder)


def _workdir(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    option = layer.option("pwd")
    text = known(option.value or ()) if option is not None else None
    if option is not None and text:
        draft.put(("workdir",), text, lines_of(reading, command, option), option.written)


def _environment(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    given = handed_on.given(reading, command, layer.all("env"), "singularity --env")
    handed_on.put(reading, given, draft, handed_on.Receivers())


def _nothing(reading: ShellReading, command: Command, layer: Layer, draft: Draft) -> None:
    """Told by the reason of the refusal."""


_Rule = Callable[[ShellReading, Command, Layer, Draft], None]
_OPTIONS: dict[str, _Rule] = {
    "bind": _mounts,
    "pwd": _workdir,
    "env": _environment,
    **dict.fromkeys(("nv", "nvccli", "cleanenv", "contain", "containall", "writable-tmpfs"), _nothing),
}
