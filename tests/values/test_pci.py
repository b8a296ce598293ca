"""PCI addresses: which texts are one, and in which order they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.values import pci

PLACES = st.tuples(st.integers(0, 0x1FFFF), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7))


@given(st.lists(PLACES))
def test_order_is_that_of_the_numbers(places: list[tuple[int, int, int, int]]) -> None:
    addresses = ["{:04x}:{:02x}:{:02x}.{:x}".format(*place) for place in places]
    assert sorted(map(pci.order, addresses)) == sorted(places)
    assert all(map(pci.is_address, addresses))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "07:00.0",
        "0000:07:00",
        "0000:07:00.8",
        "0000:07:00.10",
        "0000:0A:00.0",
        "000:07:00.0",
        "000000000:07:00.0",
        "0000.07:00.0",
        "0000:07.00.0",
        "0000:07:00:0",
        " 0000:07:00.0",
        "0000:07:00.0\n",
        "0000:0x:00.0",
        "0000:07:00.\u0660",
    ],
)
def test_what_is_no_address(text: str) -> None:
    assert not pci.is_address(text)
    with pytest.raises(ValueError, match="is not a PCI address"):
        pci.order(text)
