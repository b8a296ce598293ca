"""The site's key `limits`."""

from msgspec import Struct


class LimitsSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """The most that one job may ask for here, each point of a sweep and each link of a chain being one:
    `gpu_hours` are its GPUs for all of its time limit. `time` is in minutes, read from the forms of a job's
    `time`. A job beyond it is refused before anything is sent."""

    gpu_hours: int | None = None
    nodes: int | None = None
    time: int | None = None
