"""What a job file says of many runs of it, of the order of several jobs, and of what to read in logs."""

from typing import Any, Literal

from msgspec import Struct, field


class Draw(Struct, frozen=True, forbid_unknown_fields=True, rename={"int_": "int"}):
    """How one value is drawn: a number between two others, evenly or evenly in its logarithm, a whole number
    from the first to the second, or one of a list."""

    uniform: tuple[str, ...] | None = None
    loguniform: tuple[str, ...] | None = None
    int_: tuple[str, ...] | None = None
    choice: tuple[Any, ...] | None = None


class RandomSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """`count` points, in which each KEY of `draw` is drawn by itself. The same seed draws the same points."""

    count: int
    draw: dict[str, Draw]
    seed: int = 0


class SweepSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """Many runs of one job: every combination of `grid`, each entry of `list`, or `random` points. A KEY is
    what --set takes, or `args`: words after the command. At most `max_running` run at a time."""

    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    list: tuple[dict[str, Any], ...] = ()
    random: RandomSpec | None = None
    max_running: int | None = None


class MetricSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The long form of a metric: a regular expression with one group, and which of its matches in a log
    counts."""

    pattern: str
    take: Literal["last", "first", "min", "max"] = "last"


class DependsOn(Struct, frozen=True, forbid_unknown_fields=True):
    """A job that another waits for: the one of the job file `job`, until it has ended well (afterok) or in
    any way (afterany). `singleton` waits for all of the user's jobs of the same name, and needs no file."""

    job: str | None = None
    when: Literal["afterok", "afterany", "singleton"] = "afterok"
