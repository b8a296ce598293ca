"""The job's key `profile`."""

from typing import Literal

from msgspec import Struct


class ProfileSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """A profiler that starts the command of some `ranks`, with more `args` of its own. Each writes a file
    into the folder `output`, as the ranks see it; unset and without an image it is `profiles` in the folder
    that they work in. The file's name has the job's id and the rank."""

    tool: Literal["nsys", "ncu"]
    ranks: tuple[int, ...] = (0,)
    args: tuple[str, ...] = ()
    output: str | None = None
