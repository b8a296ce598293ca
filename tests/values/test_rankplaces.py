"""Where ranks of groups are, against counting them one by one."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.values.errors import InputError
from hpclaunch.values.rankgroups import RankGroup, RankGroups
from hpclaunch.values.rankplaces import RankPlace, among_all, group_of, in_groups

SIZES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), min_size=1, max_size=4)
WORLDS: list[Literal["one", "separate"]] = ["one", "separate"]


@given(SIZES, st.sampled_from(WORLDS), st.booleans())
def test_every_rank_is_where_counting_finds_it(
    sizes: list[tuple[int, int]], world: Literal["one", "separate"], apart: bool
) -> None:
    members = tuple(RankGroup(f"g{index}", *size, ("x",), ()) for index, size in enumerate(sizes))
    groups = RankGroups(world, members)
    all_ranks, nodes = sum(nodes * ranks for nodes, ranks in sizes), 0
    through_all = 0
    for index, group in enumerate(members):
        own = 0
        for node in range(group.nodes):
            assert group_of(groups, nodes + node) == group.name
            for _ in range(group.ranks_per_node):
                where = (node, index) if apart else (nodes + node, None)
                separate = RankPlace(own, group.nodes * group.ranks_per_node, *where)
                expected = separate if world == "separate" else RankPlace(through_all, all_ranks, *where)
                assert in_groups(groups, group.name, own, apart) == expected
                if world == "one":
                    assert in_groups(groups, None, through_all, apart) == expected
                own, through_all = own + 1, through_all + 1
        for wrong in (-1, own):
            with pytest.raises(InputError, match=f"group {group.name} has the ranks 0 to {own - 1}"):
                in_groups(groups, group.name, wrong, apart)
        nodes += group.nodes
    assert group_of(groups, nodes) == ""
    with pytest.raises(InputError, match="no group 'x'; it has: g0"):
        in_groups(groups, "x", 0, apart)
    with pytest.raises(InputError, match="--group" if world == "separate" else "the job has the ranks"):
        in_groups(groups, None, all_ranks, apart)


@given(st.integers(1, 5), st.integers(1, 5))
def test_without_groups(nodes: int, ranks: int) -> None:
    found = [among_all(number, nodes, ranks) for number in range(nodes * ranks)]
    assert [each.node for each in found] == [node for node in range(nodes) for _ in range(ranks)]
    with pytest.raises(InputError):
        among_all(nodes * ranks, nodes, ranks)
