"""Words as the kubelet leaves them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kubelet_expansion import expand

from hpclaunch.render import kubelet

DOLLARS = st.text(st.sampled_from("$$$()(){}xXé\U0001f680 \n"))
VARIABLES = st.dictionaries(st.sampled_from(["X", "x", "", "xX", "$x", "(x"]), st.text("ab$()", max_size=3))


@given(DOLLARS | st.text(st.characters(exclude_categories=["Cs"])), VARIABLES)
@example("$é", {})
@example("$$(X)", {"X": "expanded"})
@example("$", {})
@example("$($(X)", {"X": "expanded", "$(X": "expanded"})
def test_what_was_written_arrives(text: str, variables: dict[str, str]) -> None:
    assert expand(kubelet.word(text), variables) == text


@pytest.mark.parametrize("text", ['$x ${x} "$@" $1 $? a$', "no dollar"])
def test_a_shell_text_stays_readable(text: str) -> None:
    assert kubelet.word(text) == text


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("$(X)", "v"),
        ("$$(X)", "$(X)"),
        ("$$$$", "$$"),
        ("$(Y) $z $", "$(Y) $z $"),
        ("$(X", "$(X"),
        ("a$é", "a$Ã\ufffd"),
    ],
)
def test_the_expansion_is_the_kubelets(text: str, got: str) -> None:
    """As its source has it, so that the function above is a test."""
    assert expand(text, {"X": "v"}) == got
