"""Which node a rank is on, and whose node that is."""

from msgspec import Struct

from hpclaunch.values.errors import InputError
from hpclaunch.values.rankgroups import RankGroups


class RankPlace(Struct, frozen=True):
    """A rank of a job: its number in its MPI world and how many that has, and which of the nodes it is on:
    those of the job, or where groups have an allocation each those of the one with that number."""

    number: int
    total: int
    node: int
    allocation: int | None = None


def among_all(number: int, nodes: int, ranks_per_node: int) -> RankPlace:
    """In a job without groups. Raises InputError."""
    total = nodes * ranks_per_node
    _check(number, total, "the job")
    return RankPlace(number, total, number // ranks_per_node)


def in_groups(groups: RankGroups, group: str | None, number: int, apart: bool) -> RankPlace:
    """The rank with that number in the group, or through all of one world. `apart`: each group has an
    allocation. Raises InputError."""
    members, separate = groups.members, groups.world == "separate"
    names = [each.name for each in members]
    if group is not None and group not in names:
        raise InputError(f"the job has no group {group!r}; it has: {', '.join(names)}")
    if group is None and separate:
        raise InputError(f"each group counts its ranks from 0: say which with --group: {', '.join(names)}")
    sizes = [each.nodes * each.ranks_per_node for each in members]
    if group is None:
        _check(number, sum(sizes), "the job")
    else:
        _check(number, sizes[names.index(group)], f"group {group}")
        number += sum(sizes[: names.index(group)])
    index = next(index for index in range(len(sizes)) if number < sum(sizes[: index + 1]))
    before = sum(sizes[:index])
    node = (number - before) // members[index].ranks_per_node
    if not apart:
        node += sum(each.nodes for each in members[:index])
    allocation = index if apart else None
    if separate:
        return RankPlace(number - before, sizes[index], node, allocation)
    return RankPlace(number, sum(sizes), node, allocation)


def group_of(groups: RankGroups, node: int) -> str:
    """The group of the job's node with that number, from 0: each has the next ones. "" where none has it."""
    first = 0
    for group in groups.members:
        if first <= node < first + group.nodes:
            return group.name
        first += group.nodes
    return ""


def _check(number: int, total: int, whose: str) -> None:
    if not 0 <= number < total:
        raise InputError(f"{whose} has the ranks 0 to {total - 1}, and no {number}")
