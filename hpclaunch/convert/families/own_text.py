"""A text that hpclaunch rendered, as far as its reading and its own words tell what was asked for."""

import re
import shlex
from collections.abc import Mapping
from typing import get_args

from msgspec import Struct

from hpclaunch.convert.mapping.slurm.batch_options import HINTS
from hpclaunch.readback.kubernetes.reader import read as read_manifest
from hpclaunch.readback.script import read as read_script
from hpclaunch.readback.shell.budget import MOST
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.evaluate import evaluate
from hpclaunch.readback.shell.values import known
from hpclaunch.readback.slurm.beside import FUNCTIONS, beside
from hpclaunch.readback.slurm.directives import directives
from hpclaunch.readback.slurm.options import options as slurm_options
from hpclaunch.spec.longrun import SignalName
from hpclaunch.spec.scalars import variable_name
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError, Problem
from hpclaunch.values.launch import Launch
from hpclaunch.values.longrun import LINK

# --signal as the key `signal` says it.
SIGNAL = re.compile(rf"({'|'.join(get_args(SignalName))})@([1-9]\d*)")

_HEADER = re.compile(r"^# \S.* on (\S+): ", re.MULTILINE)

_FOLDER = re.compile(r" hpclaunch-host ('[^']*'|[^\s'\"$\\]+) ")
_VARIABLE = re.compile(r"^(?:  | *- (?:\|[-+\d]*\n *)?)['\"$]*(\w+)=", re.MULTILINE)

# Where a key of the job shows in the text, for the lines of a fact.
_SHOWS = {
    "name": r"--job-name=|^  name:",
    "nodes": r"--nodes=|replicas:",
    "ranks_per_node": r"--ntasks-per-node=|slotsPerWorker:|-npernode",
    "gpus_per_node": r"--gres=|nvidia\.com/gpu",
    "image": r"--container-image=|image:",
    "workdir": r"--container-workdir=|workingDir:|^  'cwd=|^  cwd=",
    "time": r"--time=|activeDeadlineSeconds:",
    "mpi": r"--mpi=",
    "rendezvous": r"rendezvous=",
    "command": r"^hl_command=|- --$",
    "mounts": r"--container-mounts=|volumeMounts:",
    "bind": r"^hl_masks=|^  'near=|cpus=|near=",
    "verify": r"verify=1",
    "env": r"^hl_environment=",
    "inherit": r"^hl_inherited=|\$\{",
    "secrets": r"as \$2|secretKeyRef",
}
# What the tool writes for keys of the job, or for every job: any other option was the job's own, raw.
_OF_SBATCH = """
job-name nodes ntasks-per-node gres exclusive mem time no-requeue requeue open-mode propagate cpus-per-task
mail-type switches network
"""
_OF_SRUN = """
nodes ntasks ntasks-per-node distribution gres cpus-per-task cpu-bind mem-bind mpi export propagate
kill-on-bad-exit open-mode network exact overlap gpu-bind error
"""
_SBATCH = frozenset((*_OF_SBATCH.split(), *HINTS))
_SRUN = frozenset(_OF_SRUN.split())


class Rendered(Struct, frozen=True):
    """A rendered text and its reading. `sbatch` and `srun` are its options by their names, as written."""

    name: str
    text: str
    launch: Launch
    sbatch: Mapping[str, str]
    srun: Mapping[str, str]
    raw_sbatch: tuple[str, ...] = ()
    raw_srun: tuple[str, ...] = ()

    def place(self, key: str) -> list[Place]:
        """The first line that shows a key of the job."""
        pattern = _SHOWS.get(key) or rf"--{re.escape(key)}\b|\b{re.escape(key)}[=:]"
        found = re.search(pattern, self.text, re.MULTILINE)
        return [Place(self.name, self.text.count("\n", 0, found.start()) + 1 if found else 0)]

    @property
    def folder(self) -> str:
        """The folder of the job file that it was rendered from, where the text names it."""
        found = _FOLDER.search(self.text)
        return shlex.split(found[1])[0] if found else ""

    @property
    def site(self) -> str:
        """The site that its first comment names, "" for none."""
        found = _HEADER.search(self.text[:2000])
        return found[1] if found else ""


def read(name: str, text: str) -> Rendered:
    """A script or a manifest. Raises InputError, with its line, for one that cannot be read."""
    if not text.startswith("#!"):
        return Rendered(name, text, read_manifest(text, name), {}, {})
    launch = read_script(text, name)
    if launch.parts:
        message = (
            "the groups of this job differ in ranks or nodes, and its job file is not made of its script"
        )
        raise InputError([Problem(message, where=name)])
    batch = [argument for each in directives(text) for argument in each.arguments]
    step = _step(text)
    after = any(each.when == "after" for each in launch.steps)  # then --signal leaves them time
    given = slurm_options("sbatch", [(each,) for each in batch])[0]
    of_step = slurm_options("srun", step.words[1:])[0] if step else []
    theirs = frozenset[str]().union(*(part.options for part, _ in parts(text)))
    return Rendered(
        name,
        text,
        launch,
        {each.name: _text(each.value) for each in given},
        {each.name: _text(each.value) for each in of_step},
        tuple(
            each.written
            for each in given
            if each.name not in _SBATCH
            and not (each.name == "signal" and (after or SIGNAL.fullmatch(_text(each.value))))
            and not (each.name == "array" and is_chain(launch))
            and each.name not in theirs
        ),
        tuple(
            each.written
            for each in of_step
            if each.name not in _SRUN and "container-" not in each.name and each.name not in theirs
        ),
    )


def is_chain(launch: Launch) -> bool:
    """Whether the tasks of the text's job array are the links of a chain."""
    return any(each.name == LINK and each.source == "scheduler" for each in launch.environment)


class Part(Struct, frozen=True):
    """A part of the text with options of sbatch and srun that no job asks for by name: the line that shows
    it. `what` does not become a key of the job, and `why`; "" where it does."""

    shown: str
    options: frozenset[str]
    what: str = ""
    why: str = ""


_PARTS = (
    Part(r"^#SBATCH --array=[^%]*(?:%\d+)?  # a task for each point", frozenset(("array",))),
    Part(r"^preflight\(\) \{", frozenset(("no-kill", "nodelist"))),
    Part(
        r"^  'groups=",
        frozenset(("relative",)),
        "the groups of the job",
        "a text is read back as the same ranks, and not as a job file",
    ),
)


def parts(text: str) -> list[tuple[Part, int]]:
    """Those of a script that its conversion leaves, each with its line."""
    found = [(part, re.search(part.shown, text, re.MULTILINE)) for part in _PARTS]
    return [(part, text.count("\n", 0, at.start()) + 1) for part, at in found if at]


def _step(text: str) -> Call | None:
    """The srun of the ranks."""
    calls = evaluate(text, {"srun", *FUNCTIONS}, 4 * MOST).calls
    besides = beside(calls)
    if besides is not None:
        return besides.main
    return next((call for call in reversed(calls) if call.words and known(call.words[0]) == "srun"), None)


def _text(value: object) -> str:
    return known(value) or "" if isinstance(value, tuple) else ""


def environment(found: Rendered) -> dict[str, str]:
    """The variables whose values are in the text, but for those that no job can set, in its order."""
    values = {}
    for each in found.launch.environment:
        try:
            variable_name(each.name)
        except ValueError:
            continue
        if each.source == "text":
            values[each.name] = each.value
    start = max(found.text.find("\nhl_environment=("), 0)
    places = {each[1]: each.start() for each in reversed([*_VARIABLE.finditer(found.text, start)])}
    return dict(sorted(values.items(), key=lambda each: places.get(each[0], 0)))
