"""What mpirun tells each rank of its number -> variables in front of the command.

A text for the ranks' own shell, or a script that each rank executes, may take its GPU by
$OMPI_COMM_WORLD_LOCAL_RANK. srun sets none of these names, also with --mpi=pmix: ranks have Slurm's own.
Where mpirun starts the job's ranks, as in pods, they are there and count.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from os.path import basename
from types import MappingProxyType

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.file_names import names
from hpclaunch.convert.reading import ShellReading, Source
from hpclaunch.readback.shell.values import Unknown, Value, shown
from hpclaunch.values.conversion import Place

_RANK, _LOCAL_RANK, _SIZE = "$SLURM_PROCID", "$SLURM_LOCALID", "$SLURM_STEP_NUM_TASKS"
_LOCAL_SIZE = "$((SLURM_STEP_NUM_TASKS / SLURM_STEP_NUM_NODES))"
# Open MPI: mpirun(1), "Exported environment variables", where NODE_RANK is the number on the node over all
# jobs there. MVAPICH2's guide of the user, "MV2_COMM_WORLD_*"; MPICH's and Intel MPI's Hydra (pmip_cb.c).
_OF_SLURM: Mapping[str, str] = MappingProxyType(
    {
        "OMPI_COMM_WORLD_RANK": _RANK,
        "OMPI_COMM_WORLD_SIZE": _SIZE,
        "OMPI_COMM_WORLD_LOCAL_RANK": _LOCAL_RANK,
        "OMPI_COMM_WORLD_LOCAL_SIZE": _LOCAL_SIZE,
        "OMPI_COMM_WORLD_NODE_RANK": _LOCAL_RANK,
        "MV2_COMM_WORLD_RANK": _RANK,
        "MV2_COMM_WORLD_SIZE": _SIZE,
        "MV2_COMM_WORLD_LOCAL_RANK": _LOCAL_RANK,
        "MV2_COMM_WORLD_LOCAL_SIZE": _LOCAL_SIZE,
        "PMI_RANK": _RANK,
        "PMI_SIZE": _SIZE,
        "MPI_LOCALRANKID": _LOCAL_RANK,
        "MPI_LOCALNRANKS": _LOCAL_SIZE,
    }
)
# Those that tell a rank its number on its node.
LOCAL_RANK = tuple(name for name, number in _OF_SLURM.items() if number == _LOCAL_RANK)
_NAMED = re.compile(r"\b(?:(?:OMPI|MV2)_COMM_WORLD_\w+|OMPI_UNIVERSE_SIZE|PMI_RANK|PMI_SIZE|MPI_LOCAL\w+)\b")
_SCRIPT = re.compile(r"^[^\s$]+\.(?:sh|bash)$")
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)


def exports(
    words: Sequence[Value], scripts: Sequence[Source], places: Sequence[Place], draft: Draft
) -> list[tuple[str, Value]]:
    """The variables that the command has to set, since its words or a script that they start name them, with
    the findings that say so. `scripts` are those that were given, `places` the lines of the command."""
    found: list[tuple[str, Value]] = []
    given = {basename(each.name) for each in scripts}
    for missing in dict.fromkeys(basename(shown(word)) for word in words if _SCRIPT.search(shown(word))):
        if missing not in given:
            what = f"whether {missing} reads OMPI_COMM_WORLD_RANK or its like"
            why = "the file is not given; mpirun sets these in each rank, and srun does not"
            draft.say("question", places, what, why=why, todo=f"convert again with {missing}")
    for name, lines in _named(words, scripts, places).items():
        own = _OF_SLURM.get(name)
        if own is None:
            why = "mpirun sets it in each rank, srun does not, and no variable of Slurm's stands for it"
            todo = "set it in env, or in front of the command"
            draft.say("left", lines, f"${name}", why=why, todo=todo, key="command")
            continue
        value: Value = (Unknown("number", f"${{{name}:-{own}}}"),)
        found.append((name, value))
        why = "mpirun sets it in each rank, and srun does not: it has the same number under its own name"
        became = f"command: export {name}={shown(value)}"
        draft.say("carried", lines, f"${name}", became=became, why=why, key="command")
        if any(isinstance(part, Unknown) and part.name == name for word in words for part in word):
            why = (
                "the shell that calls mpirun puts it in, where nobody has set it: it was empty. In the job "
                "each rank puts in its own number, as was meant"
            )
            todo = "take it out of the command if it is to run as it did"
            draft.say("defect", places, f"${name} in mpirun's command", why=why, todo=todo)
    return found


def is_of_mpirun(name: str) -> bool:
    """Whether mpirun sets a variable of that name in each rank, and srun does not."""
    return _NAMED.fullmatch(name) is not None


def of_slurm(name: str) -> str:
    """What srun sets for it, "" for nothing."""
    return _OF_SLURM.get(name, "").removeprefix("$")


def started(words: Sequence[Value], scripts: Sequence[Source]) -> Iterator[Source]:
    """Those of the files that the words start, or that one of these names."""
    return _started(" ".join(map(shown, words)), scripts)


def scripts_of(reading: ShellReading) -> list[Source]:
    """What ranks may execute of the files that were given, and of those that the script writes."""
    given = [each for each in (*reading.sources, *reading.beside) if each.name != reading.script]
    for command in reading.of("cat"):
        if command.stdin is not None and len(command.words) == 1:
            text = shown(command.stdin)
            above = max(command.place.last, command.place.line) - text.count("\n") - 1
            given += [Source(shown(each.path), "\n" * above + text) for each in command.writes]
    return [*given, *_by_lines(reading)]


def _by_lines(reading: ShellReading) -> Iterator[Source]:
    """The files that the script writes line by line: echo ... >> helper."""
    texts: dict[str, str] = {}
    for command in reading.of("echo", "printf"):
        for output in command.writes:
            name, line = shown(output.path), " ".join(map(shown, command.words[1:]))
            before = texts.get(name) if output.append else None
            above = "\n" * (command.place.line - 1) if before is None else before
            texts[name] = f"{above}{line}\n"
    for name, text in texts.items():
        yield Source(name, text)


def _named(
    words: Sequence[Value], scripts: Sequence[Source], places: Sequence[Place]
) -> dict[str, tuple[Place, ...]]:
    """The names of mpirun's that stand in the words, or in a script that these start, with their lines."""
    found: dict[str, dict[Place, None]] = {}
    text = " ".join(map(shown, words))
    for name in _NAMED.findall(text):
        found.setdefault(name, {}).update(dict.fromkeys(places))
    for script in _started(text, scripts):
        read = _COMMENT.sub("", script.text)
        for each in _NAMED.finditer(read):
            line = Place(script.name, read.count("\n", 0, each.start()) + 1)
            found.setdefault(each[0], {})[line] = None
    return {name: tuple(lines)[:20] for name, lines in found.items()}


def _started(text: str, scripts: Sequence[Source]) -> Iterator[Source]:
    """The scripts that a text names, and those that these name."""
    waiting, left = [text], list(scripts)
    while waiting:
        text = waiting.pop()
        for script in [each for each in left if names(text, basename(each.name))]:
            left.remove(script)
            waiting.append(script.text)
            yield script
