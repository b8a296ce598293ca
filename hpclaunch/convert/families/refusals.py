"""Launchers that become no job: by which line each is known, and why it is refused as a whole."""

import re
from posixpath import basename

from msgspec import Struct

from hpclaunch.convert.families.docker_ssh import are_beside
from hpclaunch.convert.mapping.schedulers import other_schedulers
from hpclaunch.convert.mapping.slurm.batch.of_slurm import is_of_slurm
from hpclaunch.convert.mapping.slurm.scripts.submitted import unwrapped
from hpclaunch.convert.programs.flags import leading
from hpclaunch.convert.programs.layers import MPI, PER_GPU, layers
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, CONTAINERS, REMOTE, STEPS, any_of
from hpclaunch.convert.programs.schedulers import scheduler_of
from hpclaunch.convert.programs.singularity import in_image
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import base_name, known, program_of, shown
from hpclaunch.values.conversion import Place

_START_TEXTS = frozenset(
    ("ansible", "tmux", "screen", "parallel", "xargs", "dsh", "mussh", "salt", "fab", "sem")
)
_STARTERS = re.compile(rf"\b{any_of(CONTAINERS, REMOTE, STEPS, BY_MPI, BY_TORCH)}\b")
_STARTS_IN_PYTHON = re.compile(
    rf"(?s)(subprocess|os\.system|Popen).*\b{any_of(CONTAINERS, STEPS, BY_MPI, ('ssh',))}\b"
)
_DOCKER_ONLY = (
    "its containers are on the machine where it is typed, and it asks no scheduler for nodes or for a time: "
    "a job would have those that its configuration names, if any"
)
_OF_VARIABLES = {
    "PBS_": "PBS",
    "LSB_": "LSF",
    "SGE_": "Grid Engine",
    "PE_HOSTFILE": "Grid Engine",
    "COBALT_": "Cobalt",
    "PJM_": "PJM",
    "OAR_": "OAR",
    "LOADL_": "LoadLeveler",
}
_OF_SLURM = re.compile(r"^[^#\n]*\$\{?SLURM_(?:J|N|T)", re.MULTILINE)
_VARIABLE = re.compile(rf"\$\{{?({'|'.join(_OF_VARIABLES)})")
_WORKERS = ("-n", "--num-workers")
_OF_TRACKER = ("-s", "--num-servers", "--launcher", "--cluster")
_OF_SERVERS = (
    "launch.py starts workers, servers and a scheduler of a parameter server, which are no ranks of one kind"
)
_OTHER_RUNTIMES = {"shifter": "Shifter", "ch-run": "Charliecloud", "sarus": "Sarus", "udocker": "udocker"}


class Refusal(Struct, frozen=True):
    """What a launcher is, by which line, and why it is not converted."""

    name: str
    place: Place
    reason: str
    is_scheduler: bool = False


def of(reading: ShellReading) -> Refusal | None:
    """That of the first of these kinds which the script is, None where it is none."""
    for find in (_scheduler, _singularity, _other_runtime, _docker_only, _python, _tracker, _handed_over):
        found = find(reading)
        if found is not None:
            return found
    return None


def _scheduler(reading: ShellReading) -> Refusal | None:
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
                return Refusal(f"commands of {its} in a script for Slurm", command.place, reason)
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
    return Refusal(f"a script for {name}", place, reason, is_scheduler=True)


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


def _singularity(reading: ShellReading) -> Refusal | None:
    for command in unwrapped(reading).commands:
        layer = in_image(layers(command.words))
        if layer is not None:
            reason = "containers of Singularity or Apptainer: hpclaunch's are of Pyxis and Kubernetes"
            is_of_registry = layer.words and leading(layer.words[0]).startswith("docker:")
            its = "" if is_of_registry else ", and neither runs a .sif image"
            return Refusal("singularity", command.place, f"{reason}{its}")
    return None


def _other_runtime(reading: ShellReading) -> Refusal | None:
    for command in unwrapped(reading).commands:
        inner = layers(command.words)
        named = [*map(base_name, command.words[:12]), *(layer.program.partition(" ")[0] for layer in inner)]
        for program in (*named, program_of(inner[-1].words)):
            name = _OTHER_RUNTIMES.get(program)
            if name is not None:
                reason = f"containers of {name}: hpclaunch's are of Pyxis and Kubernetes"
                return Refusal(name, command.place, reason)
    return None


def _docker_only(reading: ShellReading) -> Refusal | None:
    if are_beside(reading):
        return None
    for command in reading.commands:
        if any(layer.program in ("docker run", "docker exec") for layer in layers(command.words)):
            return Refusal("docker without a scheduler", command.place, _DOCKER_ONLY)
        words = [known(word) or "" for word in command.words[:3]]
        if words[:2] in (["docker", "service"], ["docker", "stack"]):
            reason = "services of Docker's swarm: hpclaunch sends jobs to Slurm and Kubernetes"
            return Refusal("docker swarm", command.place, reason)
        if command.program == "docker-compose" or any(
            layer.program == "docker compose" for layer in layers(command.words)
        ):
            return Refusal("docker compose", command.place, _DOCKER_ONLY)
    return None


def _python(reading: ShellReading) -> Refusal | None:
    """A here-document for Python that starts something itself."""
    for command in reading.commands:
        text = shown(command.stdin or ())
        if command.program.startswith("python") and _STARTS_IN_PYTHON.search(text):
            reason = "a Python text starts the commands here: hpclaunch reads scripts for shells alone"
            return Refusal("a launcher in Python", command.place, reason)
    return None


def _tracker(reading: ShellReading) -> Refusal | None:
    """launch.py of MXNet and dmlc-core, which starts workers and servers (tools/launch.py of MXNet,
    tracker/dmlc_tracker/opts.py of dmlc-core)."""
    for command in reading.commands:
        words = [known(word) or "" for word in command.words]
        at = next((index for index, word in enumerate(words[:3]) if basename(word) == "launch.py"), None)
        options = set(words[at + 1 :]) if at is not None else set()
        if not options.isdisjoint(_WORKERS) and not options.isdisjoint(_OF_TRACKER):
            return Refusal("workers and servers of a parameter server", command.place, _OF_SERVERS)
    return None


def _handed_over(reading: ShellReading) -> Refusal | None:
    """Commands in the texts of programs that are not read."""
    for command in reading.commands:
        text = " ".join(map(shown, command.words[1:]))
        if command.program in _START_TEXTS and _STARTERS.search(text):
            reason = f"what starts the ranks is in texts for {command.program}, and those are not read"
            return Refusal(f"commands for {command.program}", command.place, reason)
    return None
