"""The key for unlike parts of one job."""

from msgspec import Struct, field


class GroupHints(Struct, frozen=True, forbid_unknown_fields=True):
    """Which of a site's nodes a group gets, where not those of the whole job: as in `SiteHints`."""

    partition: str | None = None
    qos: str | None = None
    reservation: str | None = None
    constraint: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    node_type: str | None = None


class GroupSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """Some of the job's nodes, whose ranks have a command and variables of their own. What is unset is the
    job's; `env` is put over the job's, and each of `sites` over what the job says of that site."""

    nodes: int
    command: str | tuple[str, ...] | None = None
    env: dict[str, str] = field(default_factory=dict)
    gpus_per_node: int | None = None
    gpu_type: str | None = None
    ranks_per_node: int | None = None
    sites: dict[str, GroupHints] = field(default_factory=dict)
