"""Variables that the script gives one value or another, and nothing tells which."""

import re
from collections.abc import Iterable, Sequence
from shlex import join

from hpclaunch.convert.mapping.words.texts import NAMES_OF_HERE
from hpclaunch.convert.programs.layers import Option
from hpclaunch.convert.reading import Assigned, Command, ShellReading
from hpclaunch.convert.shell import slurm_options
from hpclaunch.convert.shell.names import used
from hpclaunch.readback.shell.values import Unknown, Value, known, shown

_OF_ARRAYS = re.compile(r"SLURM_ARRAY_\w+")
# Those of PBS and Torque, Grid Engine and LSF (qsub(1B) of OpenPBS 23 and Torque 6, qsub(1), bsub(1)).
_OF_OTHERS = re.compile(r"\$\{?(PBS_ARRAY_INDEX|PBS_ARRAYID|SGE_TASK_ID|LSB_JOBINDEX)\b")
_IN_SUM = re.compile(r"(?:\$\{([A-Za-z_]\w*)\}|\$?(?<![\w#{])([A-Za-z_]\w*)(?![\w\[}]))")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NUMBER = re.compile(r"0|[1-9]\d{0,17}")
_MOST = 4
_MOST_LINES = 20
_LONGEST = 80  # characters of a condition
OF_INDEX = "it is another one for other indices of the array"


def in_doubt(reading: ShellReading, values: Iterable[Value]) -> list[str]:
    """The names of those in the values. They are no variables of the submitter's shell, from which a job
    could inherit them. Nor is the index of a job array, which no job has but the points of a sweep."""
    found: dict[str, None] = {}
    for value in values:
        for part in value:
            if not isinstance(part, Unknown):
                continue
            found.update(dict.fromkeys(part.of))
            # Of ${NAMES[@]:0:1}, ${NAME,,} or $! in several ways no variable is told.
            is_variable = part.name.isidentifier() and part.name not in NAMES_OF_HERE
            if (part.kind == "either" and is_variable) or (
                part.kind == "variable" and not reading.of_points and _OF_ARRAYS.fullmatch(part.name)
            ):
                found[part.name] = None
    return list(found)


def either_of(reading: ShellReading, value: Value) -> str:
    """What the first variable in doubt of the value may be, "" for a value without one."""
    return next((alternatives(reading, name) for name in in_doubt(reading, [value])), "")


def untold_number(reading: ShellReading, option: Option) -> str:
    """Why the number of an option is not told, for a question: what it may be, where that is known."""
    either = either_of(reading, option.value or ())
    said = f", and {either}" if either else " is not a number that the input tells"
    parts = (part for part in option.value or () if isinstance(part, Unknown))
    for name in (part.name for part in parts if part.kind == "variable"):
        by = slurm_options.option_of(name)
        if by and slurm_options.is_unset(name, reading.sources):
            said += f"; Slurm sets {name} where --{by} is asked for, and no line asks for it"
            break
    return f"{option.written}{said}"


def alternatives(reading: ShellReading, name: str) -> str:
    """What the variable may be, for a question."""
    if _OF_ARRAYS.fullmatch(name):
        return f"{name} is of an array of jobs, and nothing gives one: --env SBATCH_ARRAY_INX=1-8 does"
    own = [each for each in by_itself(reading, name) if in_doubt(reading, [each.value])]
    given = [each for each in reading.given(name) if each not in own]
    if given and all(map(_has_none_told, given)):
        return f"which elements {name} has is not told"
    told = list(dict.fromkeys(text for each in given if (text := _text(each))))
    if not told and (own or given) and all(map(_is_own, given)):  # NAME=${NAME:?give it}
        return f"nothing gives {name}: --env {name}=VALUE does"
    if not (given or own):  # by a script that submits itself, which no job has run up to there
        return f"which value {name} has is not told"
    if not told:
        return f"{name} is made where the script runs"
    if len(given) == 1 and given[0].array is not None and not given[0].conditions:
        names = _of_its_index(reading, name)
        loops = (loop for each in reading.commands for loop in each.loops if loop.variable in names)
        if (loop := next(loops, None)) is not None:
            return f"{name} is {told[0]}, and it is another one in each round of the loop over {loop.over}"
        of_array = (
            any(map(_OF_ARRAYS.fullmatch, names))
            if names
            else any("SLURM_ARRAY_" in each.text for each in reading.sources)
        )
        if of_array and reading.of_points:
            return f"{name} is {told[0]}, and {OF_INDEX}"
        of_other = next((found[1] for each in reading.sources if (found := _OF_OTHERS.search(each.text))), "")
        if of_other:
            return f"{name} is {told[0]}, and {of_other}, which no job has, tells which of them it is"
        todo = ", as --env SBATCH_ARRAY_INX=1-8 does" if of_array else ""
        return f"{name} is {told[0]}, and nothing tells which of them it is{todo}"
    others = list(dict.fromkeys(_shown(each) for each in given if not _text(each)))
    several = [*told, *others]
    listed = " or ".join(several[:_MOST]) + (" or another" if len(several) > _MOST else "")
    if len(several) == 1:
        listed += " or another" if any(name in each.uses for each in given) else " or not set"
    return f"{name} is {listed}, and which of them {decided(reading, name)}"


def _of_its_index(reading: ShellReading, name: str) -> set[str]:
    """The variables that the lines take an element of the array by, also by way of others; none where no
    line tells it."""
    index = re.compile(rf"\$\{{{re.escape(name)}\[([^]\n]*)\]")
    texts = (found[1] for each in reading.sources for found in index.finditer(each.text))
    names = {other for text in texts for other in (*used(text), *_WORD.findall(text))}
    for _ in range(_MOST):
        also = {other for each in names for given in reading.given(each) for other in given.uses}
        if also <= names:
            break
        names |= also
    return names


def by_submission(reading: ShellReading, part: str) -> str:
    """Which loop gives a part of a value (${NAME}) another value for each job that it submits, "" where none
    does."""
    loops = (loop for each in reading.of("sbatch")[-_MOST_LINES:] for loop in each.loops)
    loop = next((each for each in loops if part == f"${{{each.variable}}}"), None)
    return "" if loop is None else f"another one for each job that the loop over {loop.over} submits"


def by_itself(reading: ShellReading, name: str) -> Sequence[Assigned]:
    """Where the variable is given its own value (export NAME=$NAME), of which it is not told what it is, and
    the walk's notes that loops around that give it one."""
    its = [each for each in reading.given(name) if each.uses == (name,) and _is_own(each)]
    if not its:
        return ()  # of nearly all: the texts of a long script are not split for them
    texts = {each.name: each.text.split("\n") for each in reading.sources}
    pattern = re.compile(rf"(?<!\w){name}=(\"?)\$(?:{name}|\{{{name}\}})\1(?=[\s;&|)]|$)")
    written = [
        each
        for each in its
        if any(map(pattern.search, texts.get(each.place.file, ())[each.place.line - 1 : each.place.line]))
    ]
    notes = [each for each in its if each.loops and each.place == each.loops[-1].place]
    return [*written, *notes] if written else ()


def _is_own(given: Assigned) -> bool:
    part = given.value[0] if len(given.value) == 1 else ""
    return isinstance(part, Unknown) and part.kind in ("either", "variable") and part.name == given.name


def _has_none_told(given: Assigned) -> bool:
    """Whether it is an array of which no element is known: an empty one, or with what it had before."""
    before = (Unknown("either", given.name),)
    return given.array is not None and all(each == before for each in given.array)


def with_numbers(reading: ShellReading, run: Command, value: Value) -> Value:
    """A word of the run with the numbers for the variables of its sums that have one: of $((BASE+i)) only i
    is another in each round of a loop."""
    rounds = {loop.variable for loop in run.loops}

    def filled_in(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        each = None if name in rounds else reading.at(name, run.place)
        text = known(each.value) if each is not None and not set(each.loops) & set(run.loops) else None
        return text if text and _NUMBER.fullmatch(text) else found[0]

    return tuple(
        Unknown("number", _IN_SUM.sub(filled_in, part.name), part.splits)
        if isinstance(part, Unknown) and part.kind == "number" and part.name.startswith("$((") and not part.of
        else part
        for part in value
    )


def decided(reading: ShellReading, name: str) -> str:
    """What decides, for a question: the condition with its line, and the variable that nobody gave."""
    conditions = [each.conditions[-1] for each in reading.given(name) if each.conditions]
    if not conditions:
        return "is not told"
    place, written = _parts(conditions[0])
    missing = [each for each in used(written) if each in reading.wanted and reading.last(each) is None]
    given = f", and nothing gives {missing[0]}: --env {missing[0]}=VALUE does" if missing else ""
    return f"is not told: it depends on `{written}` ({place}){given}"


def shown_condition(condition: str) -> str:
    """A condition of the walk with its line, as a sentence has it."""
    place, written = _parts(condition)
    return f"`{written}`, {place}"


def _parts(condition: str) -> tuple[str, str]:
    """The line of a condition, and its text."""
    place, _, written = condition.partition(": ")
    written = written.removeprefix("if ")
    if written.startswith("not ("):
        written = written.removeprefix("not (").removesuffix(")")
    if len(written) > _LONGEST:
        written = written[:_LONGEST] + "..."
    return place.rpartition("/")[2], written


def _shown(given: Assigned) -> str:
    """What it was given, as the script's reader knows it."""
    return shown(given.value) if given.array is None else f"({' '.join(map(shown, given.array))})"


def _text(given: Assigned) -> str:
    """What it was given, "" where that is not told."""
    if given.array is None:
        text = known(given.value)
        return "" if text is None else repr(text)
    words = [known(each) for each in given.array]
    return "" if None in words else f"({join(each or '' for each in words)})"
