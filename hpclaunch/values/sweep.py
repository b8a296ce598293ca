"""Many runs of one job, as they are launched and as a record keeps them."""

from msgspec import Struct

# What a rank is told: the number of its point, and how many points there are.
POINT = "HPCLAUNCH_POINT"
SWEEP = "HPCLAUNCH_SWEEP"


class PointWords(Struct, frozen=True, gc=False):
    """A point of a sweep. `number` is counted from 0 over the whole sweep; `values` are what it sets, as text
    and in the order of the sweep's keys (None: nothing). `environment` (NAME=value) and `arguments` are what
    its ranks get beside those of all points."""

    number: int
    values: tuple[str | None, ...]
    environment: tuple[str, ...]
    arguments: tuple[str, ...]


class Sweep(Struct, frozen=True):
    """The points that one launch has. `keys` are those of the job file that points set; `total` counts all
    points of the sweep, of which other launches may have the others. `file` is the name of the file of
    `words` where the script is submitted by hand. With `commands` the points' arguments are the whole
    command, else they come after it. `max_running` None: no limit."""

    keys: tuple[str, ...]
    points: tuple[PointWords, ...]
    total: int
    file: str
    commands: bool = False
    max_running: int | None = None

    @property
    def width(self) -> int:
        """How many words each point has in the file."""
        return 2 + max(len(point.environment) + len(point.arguments) for point in self.points)

    @property
    def words(self) -> bytes:
        """The file that tasks read, NUL after each word: for each point how many variables and how many
        arguments it has, these, and empty words up to the number that all have."""
        width = self.width
        rows = []
        for point in self.points:
            own = (*point.environment, *point.arguments)
            counts = (str(len(point.environment)), str(len(point.arguments)))
            rows += [*counts, *own, *[""] * (width - 2 - len(own))]
        return "".join(f"{word}\0" for word in rows).encode()


class KeptPoint(Struct, frozen=True, gc=False):
    """A point in a record: its number, and what it sets (None: nothing)."""

    number: int
    values: tuple[str | None, ...]


class Points(Struct, frozen=True):
    """The points of a record, in the order of the array's tasks. `total` counts those of the whole sweep, and
    `parts` are the tags of all its records."""

    keys: tuple[str, ...]
    points: tuple[KeptPoint, ...]
    total: int
    parts: tuple[str, ...]
    schema: int = 1

    def values(self, task: int) -> dict[str, str]:
        """What the point of a task sets."""
        pairs = zip(self.keys, self.points[task].values, strict=True)
        return {key: value for key, value in pairs if value is not None}
