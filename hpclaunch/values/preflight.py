"""A check of nodes before the ranks of a job start, as a plan has it."""

from typing import Literal

from msgspec import Struct

from hpclaunch.values.words import Option

FILE = "preflight"  # what a record's folder has of it
# The processes of the script that choose nodes: by the nodes themselves, and by what links them.
JUDGE, LINKS = "hpclaunch-preflight", "hpclaunch-links"
FAILED = 122  # the script's exit status where too few nodes are good
# And where a node of the ranks fails in a job that outlives it (sbatch's --no-kill). No common tool ends so.
LOST = 119


class Links(Struct, frozen=True):
    """An all_reduce over nodes, with one task on each: its command, the GB/s that it must reach, and srun's
    options over those of a check of single nodes."""

    floor: int
    command: tuple[str, ...]
    options: tuple[Option, ...]


class Preflight(Struct, frozen=True):
    """`spares` are the nodes that are asked for beside those of the ranks; `seconds` the limit of each check.
    `once` are srun's options for one task on a node; `on_host` the settings of the check outside the
    container, `all_reduce` those of the one among the GPUs of a node, with its command: empty for none.
    `links` is None where nothing is measured between nodes. `node_failure` says what a node that
    fails while the job runs does: it is outlived where no rank needs it, or ends the job, as Slurm has it, or
    ends it because one world of unlike groups could not go on."""

    spares: int
    seconds: int
    once: tuple[Option, ...]
    on_host: tuple[Option, ...] = ()
    all_reduce: tuple[Option, ...] = ()
    command: tuple[str, ...] = ()
    links: Links | None = None
    node_failure: Literal["outlived", "ends", "ends_groups"] = "ends"
