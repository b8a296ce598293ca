"""Are two launches the same?

They are when a rank cannot tell them apart by anything that the job says, or that decides how fast it is:

- the same command, working folder, image, environment and data, data read-only where it was;
- the same number of nodes and of ranks on each, numbered alike, with the same number of GPUs and HCAs;
- each rank on the same cores and memory, with the same of the node's HCAs, on nodes of one type. On another
  type of node it has as many cores, NUMA nodes and HCAs; which they are is that machine's own numbering;
- the same folders copied to nodes before, the same steps in the same order, and as many trials with the same
  seeds;
- a node that is its own where it was, the same time limit, the same end when one rank fails, as many retries.

Not counted is what the places differ in by themselves, the same for every job: the network interface in a
variable that the site sets, a volume's claim where the other has a path, the user that containers run as,
the capabilities that a pod needs for what needs none under Slurm. Such differences are of kind "place" and
are said, with the reason. A variable is of the place only where each text has what its own site says: one
that was lost or changed on the way is a difference, whoever set it. What only one of the schedulers can do,
and what a reader did not understand, is never passed over.
"""

import re

from msgspec import structs

from hpclaunch.readback import compare_groups, compare_pods, compare_steps, compare_tables, compare_words
from hpclaunch.readback.place import NOTHING, Place, Side, beside
from hpclaunch.values.launch import Difference, Launch

_GPU_BIND = "--gpu-bind="
_LINE = re.compile(r"^line \d+: ")
_NOT_READ = "the reader does not understand it, so what it does is not known"


def compare(a: Side, b: Side) -> tuple[Difference, ...]:
    """Everything that is not the same, in the order of a job file: size, command, data, places of ranks."""
    return (
        *_size(a, b),
        *compare_words.command(a, b),
        *compare_words.environment(a, b),
        *compare_groups.groups(a, b),
        *_unlike_groups(a, b),
        *compare_words.mounts(a, b),
        *compare_tables.tables(a, b),
        *compare_pods.wrapper(a, b),
        *compare_pods.rights(a, b),
        *compare_pods.resources(a, b),
        *compare_steps.staged(a, b),
        *compare_steps.steps(a, b),
        *compare_steps.trials(a, b),
        *_ends(a, b),
        *_listed(a, b),
    )


def _unlike_groups(a: Side, b: Side) -> list[Difference]:
    """What each group has on its nodes, where these differ from group to group."""
    if not a.launch.parts and not b.launch.parts:
        return []
    if len(a.launch.parts) != len(b.launch.parts):
        words = (str(len(side.launch.parts) or "alike") for side in (a, b))
        return [beside("groups with ranks and nodes of their own", words)]
    found = []
    for index, group in enumerate(a.launch.groups[: len(a.launch.parts)]):
        mine, theirs = (
            Side(side.launch.parts[index], side.place.parts[index] if side.place.parts else Place())
            for side in (a, b)
        )
        each = (
            *_size(mine, theirs),
            *compare_tables.tables(mine, theirs),
            *compare_pods.wrapper(mine, theirs),
        )
        found += [structs.replace(one, what=f"group {group.name}: {one.what}") for one in each]
    return found


def are_same(differences: tuple[Difference, ...]) -> bool:
    """Whether nothing is left but what the places differ in."""
    return all(each.kind == "place" for each in differences)


def _size(a: Side, b: Side) -> list[Difference]:
    """How many, and how they are numbered. Names follow each scheduler's rules."""
    found = []
    if a.launch.name != b.launch.name:
        why = "the name is not seen by ranks, and each scheduler has rules for it"
        found.append(Difference("name", a.launch.name, b.launch.name, "place", why))
    for what, field in (
        ("nodes", "nodes"),
        ("ranks on a node", "ranks_per_node"),
        ("GPUs on a node", "gpus_per_node"),
        ("numbering of ranks over nodes", "numbering"),
    ):
        found += differ(what, str(getattr(a.launch, field)), str(getattr(b.launch, field)))
    found += differ("tasks with points of their own", a.launch.tasks or NOTHING, b.launch.tasks or NOTHING)
    return [*found, *_node_types(a, b), *compare_pods.gpu_kind(a, b), *compare_pods.own_nodes(a, b)]


def _node_types(a: Side, b: Side) -> list[Difference]:
    types = [sorted(set(side.place.node_types.values())) for side in (a, b)]
    if not all(types) or types[0] == types[1]:
        return []
    why = "other machines: cores, NUMA nodes and HCAs are compared by their number"
    return [Difference("node type", " or ".join(types[0]), " or ".join(types[1]), "place", why)]


def _ends(a: Side, b: Side) -> list[Difference]:
    found = differ(
        "one failing rank ends all", _yes(a.launch.one_failure_ends_all), _yes(b.launch.one_failure_ends_all)
    )
    found += differ("retries after a failure", _retries(a.launch), _retries(b.launch))
    if a.launch.seconds is None and b.launch.seconds is None and a.launch.scheduler != b.launch.scheduler:
        why = "the job has no `time`: on Slurm the partition's limit counts"
        return [*found, Difference("time limit", _limit(a.launch), _limit(b.launch), "place", why)]
    return [*found, *differ("time limit", _limit(a.launch), _limit(b.launch))]


def _listed(a: Side, b: Side) -> list[Difference]:
    """What one of the texts has, and the other has not, or no reader understands."""
    found = []
    for first, mine, theirs in ((True, a.launch, b.launch), (False, b.launch, a.launch)):
        rows = [
            (each.what, "yes", each.why)
            for each in mine.unbridged
            if each.what not in _whats(theirs)
            and not (each.what.startswith(_GPU_BIND) and _has_one_gpu(a, b))
        ]
        # Where in a text it stands does not count.
        others = {_LINE.sub("", text) for text in theirs.unread}
        rows += [
            ("not understood", text, _NOT_READ) for text in mine.unread if _LINE.sub("", text) not in others
        ]
        for what, value, why in rows:
            values = (value, NOTHING) if first else (NOTHING, value)
            found.append(beside(what, values, "unbridged", why))
    return found


def _has_one_gpu(a: Side, b: Side) -> bool:
    """Then each rank sees that one, whoever shows it."""
    return a.launch.gpus_per_node == b.launch.gpus_per_node == 1


def _whats(launch: Launch) -> set[str]:
    return {each.what for each in launch.unbridged}


def differ(what: str, a: str, b: str) -> list[Difference]:
    """One difference, or none."""
    return [] if a == b else [Difference(what, a, b)]


def _retries(launch: Launch) -> str:
    return "without end" if launch.retries < 0 else str(launch.retries)


def _limit(launch: Launch) -> str:
    if launch.seconds is None and launch.scheduler == "slurm":
        return "the partition's"
    if not launch.seconds:
        return "none"
    minutes, seconds = divmod(launch.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
