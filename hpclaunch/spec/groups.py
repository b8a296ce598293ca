"""The key for unlike parts of one job."""

from msgspec import Struct, field


class GroupSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """Some of the job's nodes, whose ranks have a command and variables of their own. What is unset is the
    job's; `env` is put over the job's."""

    nodes: int
    command: str | tuple[str, ...] | None = None
    env: dict[str, str] = field(default_factory=dict)
    gpus_per_node: int | None = None
    ranks_per_node: int | None = None
