"""What is behind a difference between the original and the job that it became.

Each reason looks at the values that it explains, and at what the report and the job file say: of any other
difference it says nothing.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from hpclaunch.convert.answers import plain
from hpclaunch.convert.draft import shown
from hpclaunch.convert.mapping.ranks.rendezvous import COMPUTED
from hpclaunch.convert.programs.layers import PER_GPU, layers
from hpclaunch.readback.place import NOTHING
from hpclaunch.readback.shell.values import Value
from hpclaunch.readback.shell.values import shown as as_text
from hpclaunch.readback.slurm import forms
from hpclaunch.spec.tree import compose
from hpclaunch.values import cpulist
from hpclaunch.values.conversion import Finding
from hpclaunch.values.launch import Difference

_OF_SITE = "set by the site, its node type or hpclaunch for the ranks of every job"
_IN_RANKS = "the shell of each rank puts in what is known only there: {}"
_EXECUTES = re.compile(r"(?:export [^;]*; )*exec (.*)", re.DOTALL)
_NAMES = re.compile(r"\$\{?([A-Za-z_]\w*)")
_OUTPUTS = re.compile(r"\$\([^()]*\)")
_PODS = "the site, its node type or hpclaunch gives it to the pods of every job there"
_WHERE_IT_RUNS = "in the original it depends on where the script runs"
_FROM_JOB_FILE = "a relative path starts from the folder of the job file"
_AROUND = "the words before it bound the ranks or started them: keys of the job say that now"
_PROCESSES = "{} started that many processes for each task, and each of them is a rank of the job"
_ALL_GPUS = "the original asks Slurm for none: its nodes are its own, with all that is in them"
_NAME_OF_GPU = "the name that the site's Slurm has for the GPUs of its nodes"
_FOLDER = "unset in the original: srun's own folder, or the image's"
_ONE_FAILS = "the first rank that fails ends the job: the others would wait for it"
_REQUEUED = "a job never runs twice by itself: requeueing is Slurm's default"
_BOUND = (
    "ranks are bound beside their GPU, to memory and HCAs there; the original left that to its own scripts"
)
_BOUND_OTHERWISE = "what `bind` of the job file says; what it leaves out is beside the GPU"
_BESIDE = {"cpus": "local", "memory": "local", "hcas": "nearest"}
_OWN_SCRIPTS = "its own"
# Options of what starts a process for each GPU that say how many there are.
_COUNTS = ("nproc-per-node", "nproc_per_node", "num_gpus", "num_processes")
# Of variables: what the script is started with, and what its commands make.
_OUTSIDE = ("the submitter's", "made by the script")
_BY_RENDEZVOUS = "`rendezvous` sets it in each rank"
_BY_TRIALS = "`trials` sets it, another one for each trial"
# The keys of the job file, by what of a launch they decide.
_KEYS = {
    "nodes": "nodes",
    "ranks on a node": "ranks_per_node",
    "GPUs on a node": "gpus_per_node",
    "image": "image",
    "working folder": "workdir",
    "time limit": "time",
    "command": "command",
    "mount": "mounts",
    "environment": "env",
}


class Original(Struct, frozen=True):
    """What of the original's run decides what a difference means: the `words` that srun starts, the options
    that bind it, and the targets of mounts whose source is known only where the script runs."""

    words: tuple[Value, ...]
    binding: tuple[str, ...]
    open_targets: frozenset[str]


class Known(Struct, frozen=True, dict=True):
    """What there is to explain by: the original, the text of the job file and the words of the ranks that it
    was rendered to, the report, and the keys that the user set."""

    original: Original
    job: str
    rendered: tuple[str, ...]
    findings: Sequence[Finding]
    sets: Sequence[str]

    @cached_property
    def _job(self) -> Any:
        root = compose(self.job, "", "job")
        return plain(root) if root is not None else {}

    @cached_property
    def _said(self) -> frozenset[str]:
        kinds = ("carried", "replaced", "assumed")
        return frozenset(each.became for each in self.findings if each.kind in kinds)

    @cached_property
    def _reasons(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for each in self.findings:
            if each.kind in ("replaced", "left", "without effect", "assumed") and each.why:
                found.setdefault(each.what.partition("=")[0], each.why)
        return found

    def value(self, *key: str) -> Any:
        """What the job file has there, None where it has nothing."""
        found = self._job
        for part in key:
            found = found.get(part) if isinstance(found, dict) else None
        return found

    def is_told(self, *key: str) -> bool:
        """Whether the report says that the job file has there what it has."""
        value = self.value(*key)
        return value is not None and f"{'.'.join(key)}: {shown(value)}" in self._said

    def has_variable(self, name: str) -> bool:
        """Whether the job file names the variable."""
        names = (*(self.value("env") or ()), *(self.value("inherit") or ()), *(self.value("secrets") or ()))
        return name in names

    def has_mount(self, target: str) -> bool:
        """Whether the job file has a mount there."""
        entries = self.value("mounts") or ()
        targets = (each.get("target") if isinstance(each, dict) else each.split(":")[1] for each in entries)
        return target in targets

    def reason(self, *what: str) -> str:
        """Why the report has one of these replaced or left, "" where it says of none that it has."""
        return next((self._reasons[each] for each in what if each in self._reasons), "")

    def reason_for(self, *key: str) -> str:
        """Why the job file has there what it has, "" where the report gives no reason."""
        said = f"{'.'.join(key)}: {shown(self.value(*key))}"
        return next((each.why for each in self.findings if each.became == said and each.why), "")

    def reason_of_mount(self, target: str) -> str:
        """The same of a mount there."""
        named = (each for each in self._reasons if each.startswith("mount "))
        return self.reason(*(each for each in named if target in each.split(":")[1:]))


def explained(each: Difference, known: Known) -> str:
    """What is behind it, "" where nothing that is known tells it."""
    kind, _, name = each.what.partition(" ")
    key = _KEYS.get(each.what, _KEYS.get(kind.rstrip(","), ""))
    given = _by_user(f"env.{name.partition(':')[0]}" if key == "env" else key, known) if key else ""
    of_kind = _BY_KIND.get(each.what, _BY_KIND.get(kind.rstrip(",")))
    return given or each.why or (of_kind(each, known) if of_kind is not None else "")


def _by_user(key: str, known: Known) -> str:
    """That the user said it so, "" where nobody did."""
    names = (text.partition("=")[0] for text in known.sets)
    said = (name for name in names if _is_of(name, key) and known.is_told(*name.split(".")))
    return next((f"--set {name} says so" for name in said), "")


def _is_of(one: str, other: str) -> bool:
    """Whether one of the two keys is the other, or is below it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _environment(each: Difference, known: Known) -> str:
    name = each.what.partition(" ")[2]
    if known.has_variable(name):
        return known.reason_for("env", name) if each.a == NOTHING else ""
    if each.a == NOTHING:
        return _OF_SITE
    if each.b == NOTHING and name in COMPUTED and known.value("rendezvous"):
        return _BY_RENDEZVOUS
    if each.b == NOTHING and name == known.value("trials", "seed"):
        return _BY_TRIALS
    return known.reason(name) or (_WHERE_IT_RUNS if each.a in _OUTSIDE and each.b == NOTHING else "")


def _mount(each: Difference, known: Known) -> str:
    target = each.what.partition(" ")[2]
    if each.a == NOTHING:
        is_open = target in known.original.open_targets and known.has_mount(target)
        return _WHERE_IT_RUNS if is_open else ""
    if each.b == NOTHING:
        return known.reason_of_mount(target)
    relative = each.a.removeprefix("path .")
    return _FROM_JOB_FILE if relative.startswith("/") and each.b.endswith(relative) else ""


def _command(each: Difference, known: Known) -> str:
    command, words = known.value("command"), known.original.words
    written = tuple(command) if isinstance(command, list) else ("/bin/sh", "-c", command)
    texts = tuple(map(as_text, words))
    if not known.is_told("command") or known.rendered != written or written == texts:
        return ""  # what became of it later is not the report's
    its = layers(words)
    inner = tuple(map(as_text, its[-1].words))
    # What is in front of it may be the interpreter that the launcher called.
    if len(its) > 1 and inner and written[-len(inner) :] == inner:
        return _AROUND
    names = _put_in(command, words) if isinstance(command, str) else []
    return _IN_RANKS.format(", ".join(names)) if names else known.reason_for("command")


def _put_in(command: str, words: Sequence[Value]) -> list[str]:
    """The variables that a text for /bin/sh has in the original's words, or sets in front of them; nothing
    where it executes other words."""
    found = _EXECUTES.fullmatch(command)
    try:
        parts = shlex.split(found[1]) if found else []
    except ValueError:
        return []
    if len(parts) != len(words) or not all(map(_fits, words, parts)):
        return []
    there = " ".join(map(as_text, words))
    return [name for name in dict.fromkeys(_NAMES.findall(command)) if f"${name}" not in there]


def _fits(word: Value, text: str) -> bool:
    """Whether a word is that text, but for its parts that are not known before it runs."""
    pattern = "".join(
        ".*".join(map(re.escape, _OUTPUTS.split(part))) if isinstance(part, str) else ".*" for part in word
    )
    return re.fullmatch(pattern, text, re.DOTALL) is not None


def _ranks(each: Difference, known: Known) -> str:
    launcher = next((layer for layer in layers(known.original.words) if layer.program in PER_GPU), None)
    if launcher is None or each.b != str(known.value("ranks_per_node")):
        return ""
    counts = [as_text(option.value or ()) for name in _COUNTS for option in launcher.all(name)]
    fits = all(int(each.a) * int(count) == int(each.b) for count in counts if count.isdecimal())
    return _PROCESSES.format(launcher.program) if fits and each.a.isdecimal() else ""


def _gpus(each: Difference, known: Known) -> str:
    of_job = each.a == "0" and each.b == str(known.value("gpus_per_node"))
    return _ALL_GPUS if of_job and known.is_told("gpus_per_node") else ""


def _folder(each: Difference, known: Known) -> str:
    of_job = each.a == "the image's own" and each.b == known.value("workdir")
    return _FOLDER if of_job and known.is_told("workdir") else ""


def _of_pods(each: Difference, known: Known) -> str:
    return _PODS if each.a == NOTHING else ""


def _if(a: str, why: str, b: str = "") -> Callable[[Difference, Known], str]:
    """The reason for these two values, and no others."""
    return lambda each, known: why if each.a == a and (not b or each.b == b) else ""


_BY_KIND: Mapping[str, Callable[[Difference, Known], str]] = {
    "ranks on a node": _ranks,
    **dict.fromkeys(("limit", "nodeSelector", "networks", "toleration"), _of_pods),
    "environment": _environment,
    "mount": _mount,
    "command": _command,
    "GPUs on a node": _gpus,
    "kind of GPU": _if("any", _NAME_OF_GPU),
    "working folder": _folder,
    "one failing rank ends all": _if("no", _ONE_FAILS, "yes"),
    "retries after a failure": _if("without end", _REQUEUED, "0"),
}


def of_binding(known: Known) -> Difference | None:
    """Where the job's ranks sit, beside what the original's options said of it; None where both say the same
    lists."""
    told = {key: known.value("bind", key) for key in _BESIDE}
    others = {key: each for key, each in told.items() if each not in (None, _BESIDE[key])}
    options = known.original.binding
    listed = _listed(options, len(others["cpus"]) if isinstance(others.get("cpus"), list) else 0)
    if listed and listed == {key: _parsed(each) for key, each in others.items() if isinstance(each, list)}:
        return None
    written = ", ".join(
        f"{key} {each if isinstance(each, str) else ' '.join(map(str, each))}" for key, each in others.items()
    )
    if others:
        is_told = not listed and all(known.is_told("bind", key) for key in others)
        why = _BOUND_OTHERWISE if is_told else ""
    else:
        why = known.reason(*(each.partition("=")[0] for each in options)) if options else _BOUND
    return Difference(
        "binding of ranks", ", ".join(options) or _OWN_SCRIPTS, written or "beside the GPU", "place", why
    )


def _listed(options: Sequence[str], ranks: int) -> dict[str, list[tuple[int, ...]]]:
    """The lists that options of srun give: those of CPUs and of NUMA nodes, an entry for each rank."""
    found = {}
    for each in options:
        name, _, text = each.removeprefix("--").partition("=")
        before, _, numbers = text.partition(":")
        mode = before.rpartition(",")[2].lower()
        key = {"cpu-bind": "cpus", "mem-bind": "memory"}.get(name)
        try:
            if key and mode in ("map_cpu", "map_mem"):
                lists = [tuple(one) for one in forms.numbers(numbers)]
            elif key and mode in ("mask_cpu", "mask_mem"):
                lists = [tuple(one) for one in forms.masks(numbers)]
            else:
                continue
        except ValueError:
            continue
        found[key] = [lists[rank % len(lists)] for rank in range(ranks or len(lists))] if lists else []
    return found


def _parsed(entries: Sequence[object]) -> list[tuple[int, ...]]:
    """Lists of the job file, as numbers."""
    try:
        return [tuple(cpulist.parse(str(each))) for each in entries]
    except ValueError:
        return []
