"""Host lists in Slurm's form."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hpclaunch.spec.hosts import count, expand


def test_padding_is_kept():
    assert expand("a[08-10]-x") == ["a08-x", "a09-x", "a10-x"]
    assert expand("r[1-2]n[01-02]") == ["r1n01", "r1n02", "r2n01", "r2n02"]
    assert sorted(expand("login,dgx[001-002,007]")) == ["dgx001", "dgx002", "dgx007", "login"]
    assert count("dgx[001-140]") == 140


def test_a_host_named_twice_is_one_host():
    assert count("a[1-3],a[2-4],a1") == 4


@given(
    st.sampled_from(["dgx", "n-", "rack1-n"]),
    st.integers(0, 900),
    st.integers(0, 99),
    st.integers(1, 4),
    st.sampled_from(["", "x", "-ib"]),
)
def test_a_range_is_each_number_in_it(name, first, more, width, end):
    numbers = range(first, first + more + 1)
    written = f"{name}[{first:0{width}d}-{first + more:0{width}d}]{end}"
    assert set(expand(written)) == {f"{name}{number:0{width}d}{end}" for number in numbers}


@pytest.mark.parametrize(
    "hosts",
    [
        "", "a,", ",a", "a[", "a]", "a[[1]]", "a[1,[2]]", "a[]", "a[1-]", "a[1-2-3]", "a[x]", "a[-1]",
        "a[1,-2]", "a[5-1]", "a[0-10/2]",
        "a[٣]", "a b", "@group", "a!b", "a;b", "a*", "a[0-99999999]", "a[1-1000]b[1-1000]",
        "a[1-1000]b[1-1000]c[1-1000]d[1-1000]", ",".join(f"a{n}[1-90000]" for n in range(9)),
    ],
)  # fmt: skip
def test_what_is_not_a_host_list(hosts):
    with pytest.raises(ValueError, match="host list"):
        expand(hosts)


@given(st.text("a1[],-@!& *", max_size=12))
def test_no_text_breaks_the_reader(text):
    try:
        names = expand(text)
    except ValueError:
        return
    assert names
    assert all("[" not in name and "," not in name for name in names)


SIMPLE = st.builds(
    "{}[{}-{}]{}".format,
    st.text("an1-.", max_size=4),
    st.text("0123456789", max_size=3),
    st.text("0123456789", max_size=3),
    st.sampled_from(["", "", "", "-ib", ",a1"]),
)


@given(SIMPLE | st.text("a1[],-", max_size=12))
@example("a[0000001-0000002]")
@example("a[00001-99999]")
@example("a[000000-100000]")
@example("a1234567[1-2]")
@settings(deadline=None)
def test_so_many_are_counted_as_there_are_names(text):
    assert said_by(count, text) == said_by(lambda hosts: len(set(expand(hosts))), text)


def said_by(read, text):
    try:
        return read(text)
    except ValueError as error:
        return str(error)
