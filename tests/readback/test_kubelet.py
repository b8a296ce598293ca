"""The kubelet's expansion, by the rules of its own documentation and code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.readback.kubelet import expand

KNOWN = {"A": "1", "B": "$(A) $$", "": "empty"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)-$(A)", "1-1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$", "$$"),
        ("$(B)", "$(A) $$"),  # a value is not expanded again
        ("$(C)", "$(C)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$(A$(A)", "$(A$(A)"),  # the name runs to the first bracket
        ("a$$b$", "a$b$"),
        ("$é", "$Ã\udca9"),  # 0xC3 becomes U+00C3, and 0xA9 is left
        ("$$é", "$é"),
        ("", ""),
    ],
)
def test_expansion(text: str, expected: str) -> None:
    assert expand(text, KNOWN) == expected


@given(st.text("$()AB x", max_size=30))
def test_what_is_doubled_comes_through_as_it_was(text: str) -> None:
    assert expand(text.replace("$", "$$"), KNOWN) == text
