"""Scripts that come to an `exit` before what starts their ranks, by the values that their variables have."""

import re
from collections.abc import Mapping, Sequence

from hpclaunch.convert.arguments import ARGUMENT
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, CONTAINERS, STEPS, any_of
from hpclaunch.convert.reading import Assigned, Command, ShellReading, Statement
from hpclaunch.readback.shell.statements import Simple
from hpclaunch.readback.shell.values import program_of, shown
from hpclaunch.values.conversion import Place

_STARTERS = (*STEPS, *BY_MPI, *BY_TORCH, *CONTAINERS, "sbatch")
_STARTS = re.compile(rf"(?<![\w./-]){any_of(_STARTERS)}(?![\w./-])")
# $CMD and "${CMD[@]}" behind the `exit`, of which the words of the launcher were put together before.
_BY_VARIABLE = re.compile(
    r"(?:(?:sudo|exec|nohup|time)\s+)*\"?\$\{?([A-Za-z_]\w*)(?:\[[@*]\])?\}?\"?(?=$|[\s;&|>])"
)
# A program of the user's own, which may be the run where no launcher is known: python, a script.
_MAY_RUN = re.compile(
    r"\s*(?:(?:sudo|exec|nohup|time)\s+)*(?:python[\d.]*\s|(?:ba|z|k)?sh\s+(?!-c\b)\S|\.{0,2}/\S)"
)
_ASSIGNS = re.compile(r"^\s*(?:(?:export|readonly|declare|local)\s+)?([A-Za-z_]\w*)=")
_TESTS = re.compile(r"(?:^|[\s;&|!])(?:\[\[?\s|\(\(|test\s|case\s)")
_WORD = re.compile(r"\w+")
_NEAR = 8  # lines between a test and the `exit` that it leads to
# In the table of the launch, of what lines tell that are behind the `exit`.
DOUBT = "what lines behind its `exit` say"
_IN_CONTAINER = rf"--container-image\b|(?<![\w./-]){any_of((*CONTAINERS, 'enroot', 'shifter', 'sarus'))}\s+\S"
_TELLS = {
    "image": re.compile(_IN_CONTAINER),
    "mounts": re.compile(rf"--container-mounts\b|{_IN_CONTAINER}"),
    "environment": re.compile(r"(?m:^)[ \t]*(?:export|declare\s+-x|typeset\s+-x)\s+\w|\s--(?:env|export)\b"),
    "mpi": re.compile(r"\s--mpi\b"),
    "binding": re.compile(r"\s--(?:cpu-?bind|cpu_bind|bind-to|map-by)\b"),
}


def before_the_run(reading: ShellReading) -> Command | None:
    """The `exit`, None where the script does not end so, or nothing behind it starts anything."""
    last = reading.commands[-1] if reading.commands else None
    if last is None or last.program != "exit" or last.within or last.place.file != reading.script:
        return None
    behind = _behind(last, reading)
    starts = any(_STARTS.search(each.written) or _may_run(each) for each in behind)
    return last if starts or _by_variable(reading, behind) else None


def _may_run(statement: Statement) -> bool:
    """Whether it starts a program of the user's: what that is in the end need not be told for it."""
    return isinstance(statement.part, Simple) and _MAY_RUN.match(statement.written) is not None


def _behind(last: Command, reading: ShellReading) -> list[Statement]:
    """The statements behind it in its file."""
    # Of a script that stands in this one no more is behind it than that script has.
    own = reading.of_submitted or reading.statements
    return [each for each in own if each.place.file == last.place.file and each.place.line > last.place.line]


def tell(reading: ShellReading) -> Mapping[str, Sequence[Place]]:
    """The facts of a launch, by their names in its table, that lines behind the end of the script tell, with
    those lines."""
    last = before_the_run(reading)
    behind = _behind(last, reading) if last is not None else []
    found = {
        name: [each.place for each in behind if tells.search(each.written)] for name, tells in _TELLS.items()
    }
    return {name: places for name, places in found.items() if places}


def _by_variable(reading: ShellReading, behind: Sequence[Statement]) -> bool:
    """Whether one of them begins with a variable that was given what starts ranks, or a job."""
    named = {found[1] for each in behind if (found := _BY_VARIABLE.match(each.written.strip()))}
    return any(_is_starter(each) for name in named for each in reading.given(name))


def _is_starter(given: Assigned) -> bool:
    return any(program_of([(word,)]) in _STARTERS for word in shown(given.value).split(None, 1)[:1])


def said(command: Command, reading: ShellReading) -> tuple[str, str]:
    """Why nothing starts ranks, and what to do."""
    line = f"`{command.brief(40)}` ({command.place})"
    why = f"with the values that its variables have the script ends at {line}"
    if _is_for_arguments(command, reading):
        return why, "convert again with --args '...', the words behind the script's name that the test needs"
    return why, "convert again with --env for the variables that the test before that needs"


def _is_for_arguments(command: Command, reading: ShellReading) -> bool:
    """Whether the test that leads to the `exit` looks at the script's arguments, also by way of variables."""
    text = next((each.text for each in reading.sources if each.name == command.place.file), "")
    lines = [each for each in text.split("\n")[: command.place.line] if not each.lstrip().startswith("#")]
    assigned = ((_ASSIGNS.match(each), each) for each in lines)
    made = {found[1] for found, each in assigned if found and ARGUMENT.search(each)}
    test = next((each for each in reversed(lines[-_NEAR:]) if _TESTS.search(each)), "")
    return bool(ARGUMENT.search(test)) or not made.isdisjoint(_WORD.findall(test))
