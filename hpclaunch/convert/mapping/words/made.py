"""Variables that the script gives one value or another, and nothing tells which."""

import re
from collections.abc import Iterable, Sequence

from hpclaunch.convert.reading import ShellReading
from hpclaunch.convert.shell.names import used
from hpclaunch.readback.shell.values import Unknown, Value, known

_OF_ARRAYS = re.compile(r"SLURM_ARRAY_\w+")
_MOST = 4
_LONGEST = 80  # characters of a condition


def in_doubt(reading: ShellReading, values: Iterable[Value]) -> list[str]:
    """The names of those in the values. They are no variables of the submitter's shell, from which a job
    could inherit them. Nor is the index of a job array, which no job has but the points of a sweep."""
    found: dict[str, None] = {}
    for value in values:
        for part in value:
            if not isinstance(part, Unknown):
                continue
            if (part.kind == "either" and reading.last(part.name) is not None) or (
                part.kind == "variable" and not reading.of_points and _OF_ARRAYS.fullmatch(part.name)
            ):
                found[part.name] = None
    return list(found)


def either_of(reading: ShellReading, value: Value) -> str:
    """What the first variable in doubt of the value may be, "" for a value without one."""
    return next((alternatives(reading, name) for name in in_doubt(reading, [value])), "")


def alternatives(reading: ShellReading, name: str) -> str:
    """What the variable may be, for a question."""
    if _OF_ARRAYS.fullmatch(name):
        return f"{name} is of an array of jobs, and nothing gives one: --env SBATCH_ARRAY_INX=1-8 does"
    texts = [_texts(each.array or (each.value,)) for each in reading.given(name)]
    several = list(dict.fromkeys(text for group in texts for text in group))
    listed = " or ".join(several[:_MOST]) + (" or another" if len(several) > _MOST else "")
    if not several:
        return f"{name} is made where the script runs"
    if len(several) == 1:
        counts = any(name in each.uses for each in reading.given(name))
        listed = f"{listed} or {'another' if counts else 'not set'}"
    return f"{name} is {listed}, and which of them {decided(reading, name)}"


def decided(reading: ShellReading, name: str) -> str:
    """What decides, for a question: the condition with its line, and the variable that nobody gave."""
    conditions = [each.conditions[-1] for each in reading.given(name) if each.conditions]
    if not conditions:
        return "is not told"
    place, _, written = conditions[0].partition(": ")
    written = written.removeprefix("if ")
    if written.startswith("not ("):
        written = written.removeprefix("not (").removesuffix(")")
    if len(written) > _LONGEST:
        written = written[:_LONGEST] + "..."
    missing = [each for each in used(written) if each in reading.wanted and reading.last(each) is None]
    given = f", and nothing gives {missing[0]}: --env {missing[0]}=VALUE does" if missing else ""
    return f"is not told: it depends on `{written}` ({place.rpartition('/')[2]}){given}"


def _texts(values: Sequence[Value]) -> list[str]:
    return [repr(text) for value in values if (text := known(value)) is not None]
