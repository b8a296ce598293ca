"""CPU lists: what is written is read back as the same numbers, in the forms of the kernel and of Slurm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.values import cpulist

NUMBERS = st.lists(st.integers(0, 40) | st.integers(0, cpulist.HIGHEST), unique=True)


@given(NUMBERS)
def test_lists(numbers: list[int]) -> None:
    assert cpulist.parse(cpulist.format_list(numbers)) == tuple(sorted(numbers))
    assert cpulist.parse(cpulist.format_in_order(numbers)) == tuple(numbers)


@given(st.sets(st.integers(0, 512)))
def test_masks(numbers: set[int]) -> None:
    mask = int(cpulist.format_mask(numbers), 16)
    assert {bit for bit in range(mask.bit_length()) if mask >> bit & 1} == numbers


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0-", "neither a number nor a range"),
        ("-1", "neither a number nor a range"),
        ("0x3", "neither a number nor a range"),
        ("1 2", "neither a number nor a range"),
        ("\u0663", "neither a number nor a range"),
        ("3-1", "runs backwards"),
        ("0,,1", "an empty part"),
        (",", "an empty part"),
        ("0-3,2", "stands twice"),
        ("65536", "is above 65535"),
    ],
)
def test_what_is_no_list(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        cpulist.parse(text)
