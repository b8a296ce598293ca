"""The kubelet's expansion, by the rules of its own documentation and code."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.readback.kubelet import expand


class _Counted(str):
    """A text that counts the characters of all pieces that are cut from it, and from those."""

    copied = 0

    def __getitem__(self, key: Any) -> "_Counted":
        return self._piece(super().__getitem__(key))

    def partition(self, sep: str) -> Any:
        return tuple(self._piece(each) for each in super().partition(sep))

    def _piece(self, text: str) -> "_Counted":
        _Counted.copied += len(text)
        return _Counted(text)


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


@pytest.mark.parametrize("part", ["$(A)", "${A}", "$$", "$("])
def test_a_long_text_is_copied_once_and_not_at_each_dollar(part: str) -> None:
    text = _Counted(part * 1000)
    _Counted.copied = 0
    assert expand(text, {}) == part.replace("$$", "$") * 1000
    assert _Counted.copied <= 4 * len(text)
