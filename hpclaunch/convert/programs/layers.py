"""A command line that starts another, layer by layer: srun ... docker exec ... mpirun ... ./run.sh."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module

from msgspec import Struct

from hpclaunch.convert.programs.names import (
    BY_JSRUN,
    BY_MPIRUN,
    BY_OTHER_MPI,
    DOCKERS,
    GPU_LAUNCHERS,
    REMOTE,
    SINGULARITIES,
)
from hpclaunch.readback.shell.values import Unknown, Value, base_name

# The program that each reader is for. A reader has `read(words) -> (Layer, rest)`: its own options, and the
# words of what it starts (none where it starts nothing).
_READERS = {
    "srun": "srun",
    "sbatch": "srun",
    "salloc": "srun",
    **dict.fromkeys(DOCKERS, "docker"),
    **dict.fromkeys(SINGULARITIES, "singularity"),
    "shifter": "shifter",
    "sarus": "shifter",
    "enroot": "enroot",
    **dict.fromkeys(REMOTE, "ssh"),
    "sshpass": "plain",
    **dict.fromkeys((*BY_MPIRUN, "horovodrun"), "mpirun"),
    **dict.fromkeys(BY_OTHER_MPI, "other_mpi"),
    **dict.fromkeys(BY_JSRUN, "jsrun"),
    **dict.fromkeys(GPU_LAUNCHERS, "torch"),
    "python": "torch",
    "python3": "torch",
    **{f"python3.{minor}": "torch" for minor in range(4, 20)},
    "bind.sh": "bind",
    "bindpcie": "bind",
    "numactl": "bind",
    "taskset": "bind",
    "env": "plain",
    "timeout": "plain",
    "nohup": "plain",
    "sudo": "plain",
    "time": "plain",
    "nice": "plain",
    "stdbuf": "plain",
    "setsid": "plain",
    "ionice": "plain",
    "unbuffer": "plain",
    "logsave": "plain",
    "nsys": "profilers",
    "ncu": "profilers",
    "nvprof": "profilers",
    "perf": "profilers",
    "vtune": "profilers",
    "amplxe-cl": "profilers",
    "conda": "environments",
    "mamba": "environments",
    "micromamba": "environments",
    "uv": "environments",
    "pixi": "environments",
    "poetry": "environments",
    "pipenv": "environments",
}
# Files of images. One that is executed is `singularity run` of itself: its first line is
# "#!/usr/bin/env run-singularity" (HdrLaunch of sylabs/sif), which Singularity and Apptainer install.
IMAGE_FILES = (".sif", ".simg")
# Layers that start ranks: by MPI, or a process for each GPU of their node.
MPI = ("mpirun", "mpiexec.hydra", "horovodrun", *BY_OTHER_MPI)
PER_GPU = (
    *("torchrun", "torch.distributed.launch", "bind_launch", "deepspeed", "accelerate", "composer"),
    *("bagua.distributed.launch", "bagua.distributed.run", "baguarun", "oneflow.distributed.launch"),
    "colossalai",
)
# Of these those that are told of hosts, and start the others on each.
OVER_HOSTS = ("deepspeed", "colossalai", "baguarun")
# Options with which a launcher tells of itself and starts nothing: -V and -h of mpirun (mpirun(1)), -h of
# argparse too, which torchrun and horovodrun read their options with, and --check-build of horovodrun
# (horovod/runner/launch.py).
_ASKS = frozenset(("version", "V", "help", "h", "check-build"))
_DEEPEST = 50  # no command line has so many programs in each other; each costs a look at all words after it
# What these start has the environment of the script.
STARTERS = frozenset(_READERS)


class Option(Struct, frozen=True):
    """An option by its whole name without dashes (-v and --volume are both volume), its value (None: it has
    none), and its words as they stand."""

    name: str
    value: Value | None
    written: str


class Layer(Struct, frozen=True):
    """One program of a command line. `program` is its name, with the subcommand of those that have one:
    "srun", "docker run", "docker exec", "ssh", "mpirun", "torchrun"; "unknown" for a word in front of others
    of which nothing is known ($SRUN docker exec ...). `words` are its own words that are no options: the
    container of docker exec, the host of ssh. The innermost has the program "" and the command in `words`.
    `name` is what the line has where several programs are one kind: mpiexec for "mpirun"."""

    program: str
    options: tuple[Option, ...] = ()
    words: tuple[Value, ...] = ()
    name: str = ""

    @property
    def called(self) -> str:
        """What a reader of the line knows it by."""
        return self.name or self.program

    def option(self, name: str) -> Option | None:
        """The last one of that name."""
        return next((each for each in reversed(self.options) if each.name == name), None)

    def all(self, name: str) -> list[Option]:
        """All of that name, in their order."""
        return [each for each in self.options if each.name == name]


Reader = Callable[[Sequence[Value]], tuple[Layer, list[Value]]]


def layers(words: Sequence[Value]) -> tuple[Layer, ...]:
    """The layers from the outside in. The last one is the command that all the others start."""
    if words and not may_be_many(words[0]) and _reader(words[0]) is None:
        return (Layer("", words=tuple(words)),)
    return _layers(tuple(words))


@lru_cache(maxsize=1 << 14)  # each of those who look at a command asks for its layers
def _layers(words: tuple[Value, ...]) -> tuple[Layer, ...]:
    found: list[Layer] = []
    rest = list(words)
    while rest and len(found) < _DEEPEST:
        if _stands_before_a_program(rest):
            found.append(Layer("unknown", words=(rest.pop(0),)))
            continue
        reader = _reader(rest[0])
        if reader is None:
            break
        module = import_module(f"hpclaunch.convert.programs.{reader}")
        read: Reader = module.read
        layer, inner = read(rest)
        if not layer.program:
            break
        found.append(layer)
        rest = inner
    return (*found, Layer("", words=tuple(rest)))


@lru_cache(maxsize=1 << 12)  # the same few programs, many times each
def _reader(word: Value) -> str | None:
    """The module that reads what the word starts, None for none."""
    name = base_name(word)
    return _READERS.get(name) or ("singularity" if name.endswith(IMAGE_FILES) else None)


def starts_ranks(words: Sequence[Value]) -> bool:
    """Whether a command line is a launcher of ranks, and is not only asked for its version or help."""
    launchers = [layer for layer in layers(words) if layer.program in (*MPI, *PER_GPU)]
    return bool(launchers) and not _ASKS.intersection(option.name for option in launchers[-1].options)


def length(words: Sequence[Value]) -> int | None:
    """How many of the words are the first layer's own; None where what it starts is not as it stands there
    (env -S)."""
    reader = _reader(words[0]) if words else None
    if reader is None:
        return None
    read: Reader = import_module(f"hpclaunch.convert.programs.{reader}").read
    inner = read(words)[1]
    count = len(words) - len(inner)
    return count if count > 0 and list(words[count:]) == list(inner) else None


def _stands_before_a_program(words: Sequence[Value]) -> bool:
    """Whether the first word may be several, or none, of which nothing is known, and a program follows."""
    after = next((index for index, word in enumerate(words) if not may_be_many(word)), 0)
    return 0 < after < len(words) and base_name(words[after]) in _READERS


def may_be_many(value: Value) -> bool:
    """Whether nothing is known of the word, not even that it is one."""
    return len(value) == 1 and isinstance(value[0], Unknown) and value[0].splits
