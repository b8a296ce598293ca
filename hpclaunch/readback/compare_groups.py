"""Whether two launches have the same groups of ranks, each with the same command and variables."""

from hpclaunch.readback.place import NOTHING, Side, beside
from hpclaunch.values.launch import Difference, SeenGroup


def groups(a: Side, b: Side) -> list[Difference]:
    """Their world and their order, then each by its name."""
    found = []
    if a.launch.world != b.launch.world:
        worlds = tuple(each.launch.world or "one, without groups" for each in (a, b))
        found.append(beside("world of MPI", worlds))
    mine, theirs = ({each.name: each for each in side.launch.groups} for side in (a, b))
    if list(mine) != list(theirs):
        found.append(beside("groups of ranks", tuple(", ".join(each) or NOTHING for each in (mine, theirs))))
    for name in mine:
        if name in theirs:
            found += _group(mine[name], theirs[name])
    return found


def _group(one: SeenGroup, other: SeenGroup) -> list[Difference]:
    what = f"group {one.name}"
    found = []
    if one.ranks != other.ranks:
        found.append(beside(f"{what}: ranks", (str(one.ranks), str(other.ranks))))
    if one.argv != other.argv:
        found.append(
            beside(f"{what}: command", tuple(" ".join(map(repr, each.argv)) for each in (one, other)))
        )
    mine, theirs = ({each.name: each for each in group.environment} for group in (one, other))
    for name in dict.fromkeys((*mine, *theirs)):
        values = tuple(repr(each[name].value) if name in each else NOTHING for each in (mine, theirs))
        if mine.get(name) != theirs.get(name):
            found.append(beside(f"{what}: environment {name}", values))
    return found
