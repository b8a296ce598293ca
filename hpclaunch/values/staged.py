"""Files of the submitting machine that a job finds on the cluster."""

from msgspec import Struct


class Staged(Struct, frozen=True):
    """A file or folder here, and where its copy is on the cluster: the name there follows from the
    content."""

    source: str
    target: str
