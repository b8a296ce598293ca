"""Unlike parts of one job: groups of ranks with a command and variables of their own."""

from typing import Literal

from msgspec import Struct

from hpclaunch.values.words import EnvVar

# What each rank of a job with groups has. The index is the group's place in the job file, from 0, as a colour
# for MPI_Comm_split; GROUPS is "train:272 evaluate:136", names and sizes in the order of their ranks.
GROUP = "HPCLAUNCH_GROUP"
GROUP_INDEX = "HPCLAUNCH_GROUP_INDEX"
GROUP_RANK = "HPCLAUNCH_GROUP_RANK"
GROUP_SIZE = "HPCLAUNCH_GROUP_SIZE"
GROUPS = "HPCLAUNCH_GROUPS"
NAMES = (GROUP, GROUP_INDEX, GROUP_RANK, GROUP_SIZE, GROUPS)


class RankGroup(Struct, frozen=True):
    """A group: nodes of its own, the next of the job after those of the groups before it, with so many
    ranks on each. `environment` is over the job's own."""

    name: str
    nodes: int
    ranks_per_node: int
    argv: tuple[str, ...]
    environment: tuple[EnvVar, ...]


class RankGroups(Struct, frozen=True):
    """All groups, in the order of their ranks. In `one` world these count through all groups; of `separate`
    ones each counts from 0, and knows nothing of the others."""

    world: Literal["one", "separate"]
    members: tuple[RankGroup, ...]
