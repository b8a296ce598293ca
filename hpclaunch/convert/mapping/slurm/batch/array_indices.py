"""The value of sbatch's --array: indices, and how many of them run at a time (sbatch(1), --array)."""

import re
from collections.abc import Iterator

from msgspec import Struct

from hpclaunch.convert.shell.walk import Parts
from hpclaunch.values.names import ARRAY_TASK

_MOST = 1000  # as many as anybody reads in a job file
_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::([1-9]\d{0,8}))?)?")
_LIMIT = re.compile(r"(.*?)(?:%([1-9]\d{0,8}))?")


class Indices(Struct, frozen=True):
    """They are in their order, and each once. `running`: so many run at a time, None for all."""

    numbers: tuple[int, ...]
    running: int | None = None

    @property
    def are_points(self) -> bool:
        """Whether they are the numbers that the points of a sweep have."""
        return self.numbers == tuple(range(len(self.numbers)))

    def variables(self, index: int | None) -> Parts:
        """What Slurm tells a task by variables; of no index in particular what is the same for all ("JOB
        ARRAY SUPPORT" of https://slurm.schedmd.com/job_array.html)."""
        same = {"COUNT": len(self.numbers), "MAX": self.numbers[-1], "MIN": self.numbers[0]}
        found = [(f"SLURM_ARRAY_TASK_{name}", str(number)) for name, number in same.items()]
        return (*found, *([(ARRAY_TASK, str(index))] if index is not None else ()))


def indices_of(text: str | None) -> Indices | None:
    """What the text says: 0-4, 1,3,7, 0-20:4, 0-9%2. None where it is not known, no such text, or where it
    has more than anybody would write into a job file."""
    found = _LIMIT.fullmatch(text or "")
    if found is None or not found[1]:
        return None
    numbers: set[int] = set()
    for part in found[1].strip("[]").split(","):
        for number in _range(part):
            numbers.add(number)
            if len(numbers) > _MOST:
                return None
        if not _PART.fullmatch(part):
            return None
    if not numbers:
        return None
    return Indices(tuple(sorted(numbers)), int(found[2]) if found[2] else None)


def _range(part: str) -> Iterator[int]:
    found = _PART.fullmatch(part)
    if found:
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        yield from range(first, last + 1, step)
