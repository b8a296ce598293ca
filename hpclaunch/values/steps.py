"""What a job does beside its ranks: data brought near, steps before and after, and runs repeated."""

from typing import Literal

from msgspec import Struct


class Step(Struct, frozen=True):
    """A command that runs at `when`, by itself. `per` node: once on each; job: once, on the first; rank: as
    the job's own command, with its MPI and its binding. `where` host is outside the container. An
    `optional` step may fail, or be left out with a warning where a site cannot run it. `title` is what
    messages call it."""

    when: Literal["setup", "before_each", "after"]
    title: str
    argv: tuple[str, ...]
    where: Literal["container", "host"]
    per: Literal["node", "job", "rank"]
    optional: bool = False


class Trials(Struct, frozen=True):
    """The command is run `count` times, one after the other. `seed` is the variable with the trial's seed
    ("": none): `first_seed`, and one more each time, or None: a random one, which the log names. `log` is
    the file of a trial's output, with {trial} in its name; "": NAME-JOBID-trial-N.log beside the job's own.
    With `keep_going` a failing trial does not stop the others; the job ends with the first failure's
    status."""

    count: int
    seed: str = ""
    first_seed: int | None = None
    log: str = ""
    keep_going: bool = False


class StageIn(Struct, frozen=True):
    """A folder copied on each node before the job starts, where it is not there yet. Each side is a path of
    the node, or on Kubernetes a volume of the site ("" where there is none)."""

    source: str
    target: str
    source_volume: str = ""
    target_volume: str = ""
