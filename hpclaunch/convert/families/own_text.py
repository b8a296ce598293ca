"""A text that hpclaunch rendered, as far as its reading and its own words tell what was asked for."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import get_args

from msgspec import Struct

from hpclaunch.convert.draft import Key
from hpclaunch.convert.mapping.slurm.batch.batch_options import HINTS
from hpclaunch.readback.kubernetes.reader import read as read_manifest
from hpclaunch.readback.script import read as read_script
from hpclaunch.readback.shell.budget import MOST
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.evaluate import evaluate
from hpclaunch.readback.shell.values import known
from hpclaunch.readback.slurm.beside import FUNCTIONS, beside
from hpclaunch.readback.slurm.directives import Component, components
from hpclaunch.readback.slurm.options import Given
from hpclaunch.readback.slurm.options import options as slurm_options
from hpclaunch.spec.longrun import SignalName
from hpclaunch.spec.scalars import variable_name
from hpclaunch.values.conversion import Place
from hpclaunch.values.launch import Launch
from hpclaunch.values.longrun import LINK

# What is said of a text that its job renders to again.
WHOLE = "the whole text"
# --signal as the key `signal` says it.
SIGNAL = re.compile(rf"({'|'.join(get_args(SignalName))})@([1-9]\d*)")

_HEADER = re.compile(r"^# \S.* on (\S+): ", re.MULTILINE)

_FOLDER = re.compile(r" (?:hpclaunch-host|CDPATH='' cd --) ('[^']*'|[^\s'\"$\\]+) ")
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
    "queue": r"kueue\.x-k8s\.io/queue-name:",
    "priority_class": r"priorityClassName:",
    "user": r"runAsUser:",
    "nodelist": r"--nodelist=|^ *operator: In$",
    "exclude": r"--exclude=|^ *operator: NotIn$",
    "share_nodes": r"replicas:",
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
    """A rendered text and its reading. `sbatch` and `srun` are its options by their names, as written;
    `components` those of sbatch for each allocation, of a job that has several."""

    name: str
    text: str
    launch: Launch
    sbatch: Mapping[str, str]
    srun: Mapping[str, str]
    raw_sbatch: tuple[str, ...] = ()
    raw_srun: tuple[str, ...] = ()
    components: tuple[Mapping[str, str], ...] = ()

    def place(self, key: str) -> list[Place]:
        """The first line that shows a key of the job."""
        return self._line(_SHOWS.get(key) or rf"--{re.escape(key)}\b|\b{re.escape(key)}[=:]")

    def place_of(self, key: Key) -> list[Place]:
        """The first line that shows a key, which may be one below others."""
        if key[0] == "groups":
            return self._line(rf"^  -- # {re.escape(str(key[1]))}: ")
        return self.place(str(key[-1] if key[0] == "sites" else key[0]))

    def _line(self, pattern: str) -> list[Place]:
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
    blocks = [_of_batch(each) for each in components(text)]
    given, *others = blocks
    step = _step(text)
    after = any(each.when == "after" for each in launch.steps)  # then --signal leaves them time
    of_step = slurm_options("srun", step.words[1:])[0] if step else []
    theirs = _of_parts(text)
    return Rendered(
        name,
        text,
        launch,
        _by_name(given),
        _by_name(of_step),
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
        tuple(map(_by_name, blocks)) if others else (),
    )


def _of_batch(component: Component) -> list[Given]:
    """The options of sbatch for an allocation."""
    arguments = [(argument,) for each in component[1] for argument in each.arguments]
    return slurm_options("sbatch", arguments)[0]


def _by_name(given: Sequence[Given]) -> dict[str, str]:
    return {each.name: _text(each.value) for each in given}


def command(argv: Sequence[str]) -> str | list[str]:
    """As a job file has it: a text for the shell, or words."""
    return argv[2] if tuple(argv[:2]) == ("/bin/sh", "-c") and len(argv) == 3 else list(argv)


def is_chain(launch: Launch) -> bool:
    """Whether the tasks of the text's job array are the links of a chain."""
    return any(each.name == LINK and each.source == "scheduler" for each in launch.environment)


# Parts of the text with options of sbatch and srun that no job asks for by name, by the line that shows them.
_PARTS = (
    (r"^#SBATCH --array=[^%]*(?:%\d+)?  # a task for each point", ("array",)),
    (r"^preflight\(\) \{", ("no-kill", "nodelist")),
    (r"^  'groups=", ("relative", "het-group")),
    (r"^    'groups=", ("relative", "het-group")),
)


def _of_parts(text: str) -> frozenset[str]:
    """The options that the parts of a script have."""
    return frozenset(
        option for shown, options in _PARTS if re.search(shown, text, re.MULTILINE) for option in options
    )


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
    values = {
        each.name: each.value
        for each in found.launch.environment
        if each.source == "text" and settable(each.name)
    }
    start = max(found.text.find("\nhl_environment=("), 0)
    places = {each[1]: each.start() for each in reversed([*_VARIABLE.finditer(found.text, start)])}
    return dict(sorted(values.items(), key=lambda each: places.get(each[0], 0)))


def settable(name: str) -> bool:
    """Whether a job can set the variable."""
    try:
        variable_name(name)
    except ValueError:
        return False
    return True
