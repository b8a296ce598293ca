"""A process that a script of hpclaunch's starts beside or as its ranks: what its words say, and whether it is
what a step tells of it."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from hpclaunch.rank import beside as rank_beside
from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.calls import Call
from hpclaunch.readback.shell.values import Value, known, program_of, shown
from hpclaunch.readback.slurm.options import options
from hpclaunch.readback.wrapper_words import is_own_wrapper
from hpclaunch.values.steps import Step

RANK = "hpclaunch-rank"
HOST, STAGE_IN, IMPORT, KEEP = (
    "hpclaunch-host",
    "hpclaunch-stage-in",
    "hpclaunch-import",
    "hpclaunch-keep",
)
_TEXTS: dict[str, Literal["host", "import", "keep", "stage-in"]] = {
    HOST: "host",
    STAGE_IN: "stage-in",
    IMPORT: "import",
    KEEP: "keep",
}


class Run(Struct, frozen=True):
    """An srun, or a shell that is started without one (`options` None): srun's options by name, as they
    stand, and the words of the command."""

    call: Call
    options: dict[str, str] | None
    name: str
    words: tuple[Value, ...]

    def texts(self) -> list[str]:
        """The words after the name of the shell's text."""
        return [outside(shown(word)) for word in self.words[4:]]


def run_of(call: Call) -> Run | None:
    """What the call starts, None where it is neither srun nor sh."""
    if program_of(call.words) == "srun":
        given, command = options("srun", call.words[1:])
        found = {each.name: shown(each.value or ()) for each in given}
        return Run(call, found, _name(command), tuple(command))
    if program_of(call.words) == "sh":
        return Run(call, None, _name(call.words), call.words)
    return None


def _name(command: Sequence[Value]) -> str:
    """What the shell's text is called that the command runs, "" for another command."""
    texts = [known(word) for word in command[:4]]
    of_shell = len(texts) == 4 and (texts[0] or "").rpartition("/")[2] == "sh" and texts[1] == "-c"
    return (texts[3] or "") if of_shell else ""


def is_own(run: Run) -> bool:
    """Whether the shell's text is the one that hpclaunch has for that."""
    text = outside(shown(run.words[2]))
    if run.name == RANK:
        return is_own_wrapper(text, [outside(known(word) or "") for word in _settings(run)])
    return run.name in _TEXTS and text == rank_beside.text(_TEXTS[run.name])


def _until_dashes(words: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
    index = next((at for at, word in enumerate(words) if word == ("--",)), len(words))
    return words[:index], words[index + 1 :]


def _settings(run: Run) -> Sequence[Value]:
    return _until_dashes(run.words[4:])[0]


def variables_of(run: Run) -> dict[str, str | None]:
    """The variables that a rank or step is given by name, None for what the text does not tell."""
    _, rest = _until_dashes(run.words[4:])
    found: dict[str, str | None] = {}
    for word in _until_dashes(rest if run.name == RANK else run.words[5:])[0]:
        first = word[0] if word else ""
        name, equals, _ = first.partition("=") if isinstance(first, str) else ("", "", "")
        if equals:
            text = known(word)
            found[name] = None if text is None else text[len(name) + 1 :]
    return found


def differs(step: Step, run: Run, main: Run, variables: Sequence[str]) -> str:
    """In what the run is not what the step says, "" where it is."""
    given, ranks = run.options, main.options or {}
    on_host = step.where == "host"
    if given is None and (step.per, step.where) != ("job", "host"):
        return "no srun starts it"
    if given is not None:
        if _box(given) != ({} if on_host else _box(ranks)):
            return "its container is not that of the ranks"
        names = ("nodes", "ntasks", "ntasks-per-node")
        sizes = tuple(given.get(name) for name in names)
        nodes = ranks.get("nodes")
        wanted: dict[str, tuple[str | None, ...]] = {
            "node": (nodes, nodes, "1"),
            "job": ("1", "1", "1"),
            "rank": tuple(ranks.get(name) for name in names),
        }
        if sizes != wanted[step.per]:
            return f"it has {sizes[1]} tasks on {sizes[0]} nodes"
        same = ("mpi", "cpu-bind", "mem-bind", "gres", "distribution")
        if step.per == "rank" and any(given.get(name) != ranks.get(name) for name in same):
            return "it is not started as the ranks are"
    if step.per == "rank":
        if run.words[2] != main.words[2] or _settings(run) != _settings(main):
            return "it is not started as the ranks are"
    elif not is_own(run):
        return f"{run.name} is not hpclaunch's own text"
    words = _command(run, on_host)
    if words is None or words != list(step.argv):
        return "it runs another command"
    if step.when == "before_each" and any(name not in variables_of(run) for name in variables):
        return f"it does not get {' and '.join(variables)}"
    return ""


def _box(given: dict[str, str]) -> dict[str, str]:
    """The options of a container that steps have in common: only the job's command leaves its to a file."""
    return {name: text for name, text in given.items() if "container-" in name and name != "container-save"}


def _command(run: Run, on_host: bool) -> list[str] | None:
    """The words of the command that a step comes to, None for none that is understood."""
    if run.name == RANK:
        _, rest = _until_dashes(run.words[4:])
        _, command = _until_dashes(rest)
    elif run.name == HOST:
        _, command = _until_dashes(run.words[5:])
    else:
        return None
    texts = [known(word) for word in command]
    if None in texts:
        return None
    words = [outside(text or "").removeprefix("=") for text in texts]
    if run.name == RANK and on_host:
        if words[0:2] != ["/bin/sh", "-c"] or words[3:4] != [HOST] or "--" not in words[5:]:
            return None
        words = [word.removeprefix("=") for word in words[words.index("--", 5) + 1 :]]
    return words
