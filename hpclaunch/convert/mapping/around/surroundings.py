"""What a script does to its own shell before the run: modules, virtual environments, limits, its folder. srun
handed that on to the ranks; a job's ranks start from nothing, and do it themselves."""

import posixpath
import re
from collections.abc import Sequence
from posixpath import join, normpath

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.slurm.asked import of_batch
from hpclaunch.convert.mapping.words.texts import path
from hpclaunch.convert.reading import Command, ShellReading
from hpclaunch.readback.shell.values import Value, known, shown
from hpclaunch.values.conversion import Place

_PREPARES = frozenset({"module", "ml", "conda", "mamba", "micromamba", "spack", "ulimit", "pyenv"})
_CONDA_HOOK = re.compile(r"^eval\s+\"?\$\((?:\S*/)?(conda|mamba|micromamba|pyenv)\s+[^)]*\)\"?$")
# Not a configuration that was forgotten, but software of the machine or an environment of the user's.
_ENVIRONMENT = re.compile(r"^(?!.*\bconfig_)(/|~|\$\{?HOME)|/activate$|conda\.sh$")
_HOME = re.compile(r"^~|\$\{?HOME\}?")
_CHANGES = re.compile(r"^cd\s+(.+?)\s*(?:\|\|.*|&&.*)?$")


def put(reading: ShellReading, run: Command, draft: Draft, *, image: bool) -> list[tuple[Value, ...]]:
    """The commands that a rank runs first, in their order. Those of a job in an image are left, and that
    is said. `cd` becomes the working folder."""
    found: list[tuple[Place, tuple[Value, ...]]] = []
    for command in reading.commands:
        if command.program in _PREPARES and not command.within and not command.conditions:
            found.append((command.place, command.words))
    for sourced in reading.sourced:
        if not sourced.file and _ENVIRONMENT.search(shown(sourced.name)):
            here = path(sourced.name)
            name: Value = sourced.name if here is None else (here,)
            found.append((sourced.place, (("source",), name)))
    found += _hooks(reading)
    files = [source.name for source in reading.sources]
    lines = {place for place, _ in found}
    in_line: dict[Place, list[str]] = {}
    for statement in reading.statements:
        if statement.place in lines:
            in_line.setdefault(statement.place, []).append(statement.written)

    def position(each: tuple[Place, tuple[Value, ...]]) -> tuple[bool, int, int, int]:
        """Two of one line stay in the order in which they run: `source venv; module load`."""
        place, words = each
        file = files.index(place.file) if place.file in files else 0
        return place.file == run.place.file, file, place.line, _column(in_line.get(place, ()), words)

    before = [
        each
        for each in sorted(found, key=position)
        if _is_before(each[0], run.place) and not reading.is_apart(each[0], run.place)
    ]
    for where, words in before:
        what = " ".join(map(shown, words))
        if image:
            why = "it prepares the host's shell; what it exports and the image does not set, ranks had too"
            todo = "write what the ranks need of it in env"
            if words[0] == ("ulimit",):
                why = "srun handed this limit on; ranks have those of the node now (--propagate=NONE)"
                todo = "where the program needs it, begin the command with it"
            draft.say("left", (where,), what, why=why, todo=todo)
        else:
            why = "a rank's environment is its own, so each rank does it in a login shell"
            draft.say(
                "carried", (where,), what, became=f"command: bash -lc '{what}; ...'", why=why, key="command"
            )
    if not image:
        _folder(reading, run, draft)
    return [] if image else [words for _, words in before]


def _column(written: Sequence[str], words: tuple[Value, ...]) -> int:
    """Which of the statements of a line it is, by its first word and its last one."""
    first = ("source", ".") if words[0] == ("source",) else (shown(words[0]),)
    last = posixpath.basename(shown(words[-1]))
    its = [
        index
        for index, text in enumerate(written)
        if text.split(None, 1)[:1] and text.split(None, 1)[0] in first and last in text
    ]
    return its[0] if its else 0


def _is_before(place: Place, run: Place) -> bool:
    """Configurations come before the script."""
    return place.file != run.file or place.line < run.line


def _hooks(reading: ShellReading) -> list[tuple[Place, tuple[Value, ...]]]:
    """eval "$(conda shell.bash hook)" and its like, as they are written."""
    found: list[tuple[Place, tuple[Value, ...]]] = []
    for statement in reading.statements:
        hook = _CONDA_HOOK.match(" ".join(statement.written.split()))
        if hook:
            words: tuple[Value, ...] = (("eval",), ("$(" + hook[1] + " shell.bash hook)",))
            found.append((statement.place, words))
    return found


def _folder(reading: ShellReading, run: Command, draft: Draft) -> None:
    """The last folder that the script went to before the run."""
    last = None
    for statement in reading.statements:
        found = _CHANGES.match(" ".join(statement.written.split()))
        if not found or reading.is_apart(statement.place, run.place):
            continue
        if _is_before(statement.place, run.place):
            last = (statement.place, found[1].strip("\"'"))
    in_line = _before_in_line(reading, run)
    if in_line is not None:
        last = (run.place, shown(in_line.words[1]))
        if in_line.conditions or reading.is_in_subshell(
            run.place
        ):  # the line does not tell whose folder it is
            draft.ask(("workdir",), _asked_folder(last[1]), (run.place,), f"cd {last[1]}")
            return
    start = next((each for each in reversed(of_batch(reading)) if each.name == "chdir"), None)
    base = start.text if start is not None and (start.text or "").startswith("/") else None
    if ("workdir",) in draft.facts:
        return
    if last is None:
        if start is not None and base:
            draft.put(("workdir",), base, start.places, start.written)
        return
    where, text = last
    folder = _resolved(reading, text)
    if folder is not None and base and "SLURM_SUBMIT_DIR" not in text:
        folder = normpath(join(base, folder))
    if folder is None:
        draft.ask(("workdir",), _asked_folder(text), (where,), f"cd {text}")
    elif folder in (".", "./"):
        why = "relative paths start from the job file's folder"
        draft.say("replaced", (where,), f"cd {text}", why=why)
    else:
        draft.put(("workdir",), folder, (where,), f"cd {text}")


def _before_in_line(reading: ShellReading, run: Command) -> Command | None:
    """The last `cd` before the run on its own line, as in `cd /work && srun ...`, or in a text for another
    shell, whose lines are no statements of the script."""
    last = None
    statements = {each.place for each in reading.statements if _CHANGES.match(each.written)}
    for command in reading.commands:
        if command.place == run.place and command.words == run.words:
            return last
        here = command.place == run.place or command.place not in statements
        if here and command.program == "cd" and len(command.words) == 2:
            last = command
    return None


def _asked_folder(text: str) -> str:
    return f"the folder in which the ranks start: cd {text}"


def _resolved(reading: ShellReading, text: str) -> str | None:
    """The folder, relative to where the job was submitted; None where it is not told."""

    def filled_in(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name in ("SLURM_SUBMIT_DIR", "PWD"):
            return "."
        each = reading.last(name)
        value = known(each.value) if each is not None else None
        return value if value is not None else "\0"

    text = re.sub(r"^\"?\$\(dirname [^)]*\)\"?", ".", text)
    filled = re.sub(r"\$\{(\w+)\}|\$(\w+)", filled_in, text)
    return None if "\0" in filled or "$" in filled or _HOME.search(filled) else filled
