"""Host lists, against ClusterShell."""

import re

import pytest
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.spec.hosts import count, expand

RANGE = st.tuples(st.integers(0, 99), st.integers(0, 12), st.integers(1, 4)).map(
    lambda parts: f"{parts[0]:0{parts[2]}d}-{parts[0] + parts[1]:0{parts[2]}d}" if parts[1] else f"{parts[0]}"
)
PART = st.tuples(
    st.sampled_from(["dgx", "n-", "rack1-n", "a.b"]),
    st.lists(RANGE, min_size=1, max_size=3),
    st.sampled_from(["", "x", "-ib0"]),
).map(lambda parts: f"{parts[0]}[{','.join(parts[1])}]{parts[2]}")


@given(st.lists(st.one_of(PART, st.sampled_from(["login", "a1"])), min_size=1, max_size=3).map(",".join))
def test_the_same_hosts_as_clustershell(hosts):
    oracle = set(NodeSet(hosts, resolver=RESOLVER_NOGROUP))
    if names_a_host_twice(hosts):
        with pytest.raises(ValueError, match="stands twice"):
            expand(hosts)
    else:
        assert set(expand(hosts)) == oracle
        assert count(hosts) == len(oracle)


def names_a_host_twice(hosts: str) -> bool:
    """Each range by itself, as ClusterShell counts it, against all of them together."""
    parts = re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?([^,\[]*)", hosts)
    ranges = [f"{name}[{one}]{end}" if one else name for name, many, end in parts for one in many.split(",")]
    alone = sum(len(NodeSet(one, resolver=RESOLVER_NOGROUP)) for one in ranges)
    return alone != len(NodeSet(hosts, resolver=RESOLVER_NOGROUP))


def test_order_and_padding_are_kept():
    assert expand("b,a[08-10]-x,c[2,1]") == ["b", "a08-x", "a09-x", "a10-x", "c2", "c1"]
    assert expand("r[1-2]n[01-02]") == ["r1n01", "r1n02", "r2n01", "r2n02"]
    assert count("dgx[001-140]") == 140


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ("", "empty"),
        ("a,", "empty"),
        (",a", "empty"),
        ("a[", "do not match"),
        ("a]", "do not match"),
        ("a[[1]]", "do not match"),
        ("a[1,[2]]", "do not match"),
        ("a[]", "not a range"),
        ("a[1-]", "not a range"),
        ("a[1-2-3]", "not a range"),
        ("a[x]", "not a range"),
        ("a[-1]", "not a range"),
        ("a[0-10/2]", "not a range"),
        ("a[٣]", "not a range"),
        ("a[5-1]", "backwards"),
        ("a b", "' ' cannot stand"),
        ("@group", "'@' cannot stand"),
        ("a!b", "'!' cannot stand"),
        ("a;b", "';' cannot stand"),
        ("-a", "does not begin"),
        ("[1-2]", "does not begin"),
        ("a,a", "a stands twice"),
        ("a[1-2],a[2-3]", "a2 stands twice"),
        ("a[0-99999999]", "more than 100,000"),
        ("a[0-99999999999999999999999]", "more than 100,000"),
        ("a[1-1000]b[1-1000]c[1-1000]d[1-1000]", "more than 100,000"),
        (",".join(f"a{n}[1-90000]" for n in range(9)), "more than 100,000"),
    ],
)
def test_what_is_not_a_host_list(hosts, said):
    with pytest.raises(ValueError, match=said):
        expand(hosts)
