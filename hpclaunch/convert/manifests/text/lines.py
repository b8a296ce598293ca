"""Lines of a manifest with the numbers that they had, through all repairs."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hpclaunch.values.conversion import Place


class Line(Struct, frozen=True):
    """A line without its end. `number` is its own in the input, from 1."""

    number: int
    text: str

    @property
    def column(self) -> int:
        """Where its text begins, from 0."""
        return len(self.text) - len(self.text.lstrip(" "))

    @property
    def is_blank(self) -> bool:
        """Whether it has nothing, or a comment alone."""
        return self.text.strip()[:1] in ("", "#")


class Spread(Place, frozen=True):
    """The lines of a text whose own lines are others: folded (>), or between quotes."""


class Note(Struct, frozen=True):
    """Something that was repaired: what was wrong, what was made of it, and which lines it was about.
    `why` names the other way where there was one."""

    what: str
    became: str
    numbers: tuple[int, ...]
    why: str = ""


def split(text: str) -> tuple[Line, ...]:
    """The lines of a text. Only line feeds end lines, with a carriage return or without."""
    return tuple(
        Line(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), start=1)
    )


def joined(lines: Sequence[Line]) -> str:
    """The text of lines."""
    return "\n".join(line.text for line in lines)


def places(file: str, numbers: Iterable[int], most: int = 6) -> tuple[Place, ...]:
    """Numbers as places, runs of them in one. Beyond `most` the last one spans the rest."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    if len(runs) > most:
        runs = [*runs[: most - 1], [runs[most - 1][0], runs[-1][1]]]
    return tuple(Place(file, first, last if last > first else 0) for first, last in runs)


def merged(given: Sequence[Place]) -> tuple[Place, ...]:
    """Places with neighbouring lines of a file in one."""
    found: dict[str, list[int]] = {}
    for place in given:
        found.setdefault(place.file, []).extend(range(place.line, max(place.last, place.line) + 1))
    return tuple(each for file, numbers in found.items() for each in places(file, numbers))
