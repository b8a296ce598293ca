"""[[ =~ ]] and BASH_REMATCH: the walk gives commands the words that bash, run for real, gives them; and
whatever the expression is, what is told of it is what bash finds."""

import subprocess

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from test_walk_bash import run, walk

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.basic_regex import Unclear
from hpclaunch.convert.shell.extended_regex import search
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known

_KNOWN = (
    "[[ node-012 =~ ^[a-z]+-0*([1-9][0-9]*)$ ]] && srun ${BASH_REMATCH[1]}",
    'X=v1.20; if [[ $X =~ ^v([0-9]+)\\.([0-9]+)$ ]]; then srun "${BASH_REMATCH[@]:1}" $BASH_REMATCH; fi',
    "re='([a-z]+)-([0-9]+)'; [[ abc-12 =~ $re ]]; srun ${BASH_REMATCH[@]} ${#BASH_REMATCH[@]}",
    '[[ foo =~ (x)?foo ]]; srun "${BASH_REMATCH[@]}"; [[ a =~ b ]]; srun ${#BASH_REMATCH[@]}',
    '[[ a.b =~ a\\.b ]] && srun y; [[ axb =~ a\\.b ]] || srun n; [[ axb =~ "a.b" ]] || srun q',
    "[[ a1 =~ ([a-z])([0-9]) || b2 =~ ([a-z])([0-9]) ]]; srun ${BASH_REMATCH[@]}",
    "[[ a1 =~ ([a-z])([0-9]) && b2 =~ ([a-z])([0-9]) ]]; srun ${BASH_REMATCH[@]}",
    "[[ 192.168.1.1 =~ ^([0-9]{1,3}\\.){3}[0-9]{1,3}$ ]] && srun $BASH_REMATCH",
    "[[ DGXA100 =~ (A100|H100) ]] && srun ${BASH_REMATCH[1]}; [[ H100 =~ A1|H1 ]] && srun $BASH_REMATCH",
    "p() { [[ $1 =~ ^-([a-z]+)=(.*)$ ]]; printf -v ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}; }; p -a=1; srun $a",
    "s=a,b; while [[ $s =~ ^([a-z]),?(.*)$ ]]; do P+=${BASH_REMATCH[1]}; s=${BASH_REMATCH[2]}; done; srun $P",
    "[[ 01:02:03 =~ ^([0-9]+):([0-9]+) ]] && srun $((10#${BASH_REMATCH[1]} * 60 + BASH_REMATCH[2]))",
    "[[ 'a]b' =~ a[]]b ]] && srun b; [[ 'a  b' =~ ^a[[:space:]]+b$ ]] && srun z; [[ ab =~ a[.] ]] || srun n",
)  # fmt: skip


@pytest.mark.parametrize("script", _KNOWN)
def test_words_are_those_of_bash(script: str) -> None:
    found = walk(script, {})
    assert found == run(script, {})
    assert found


@pytest.mark.parametrize(
    "script",
    [
        '[[ a1 =~ ([a-z]) ]]; [[ -e x && b2 =~ ([a-z]) ]]; srun "${BASH_REMATCH[1]}"',
        '[[ a1 =~ ([a-z]) ]]; [[ $NODE =~ ([a-z]) ]]; srun "${BASH_REMATCH[1]}"',
        "[[ abab =~ (ab)+ ]]; srun ${BASH_REMATCH[1]}",
        "shopt -s nocasematch; [[ ABC =~ (abc) ]]; srun ${BASH_REMATCH[1]}",
    ],
)
def test_what_is_not_sure_is_not_known(script: str) -> None:
    (command,) = [each for each in read([Source("run.sub", script)], {}).commands if each.program == "srun"]
    assert None in map(known, command.words[1:])


_ONE = st.sampled_from(["a", "b", "1", r"\.", "-", "[ab]", "[^a]", "[0-9]", "[[:alpha:]]", ".", "^", "$"])
_OFTEN = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,}"])


def _groups(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(st.tuples(inner, _OFTEN).map("".join), min_size=1, max_size=3).map("".join)
    return several | several.map("({})".format) | st.tuples(several, several).map("({0[0]}|{0[1]})".format)


_EXPRESSION = st.recursive(_ONE, _groups, max_leaves=8)
_SHOW = """while IFS= read -r re && IFS= read -r text; do
  if [[ $text =~ $re ]]; then printf '<%s>' "${BASH_REMATCH[@]}"; echo; else echo "no$?"; fi
done"""


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_EXPRESSION, st.text("ab1.-", max_size=7)), min_size=20, max_size=60))
def test_whatever_is_told_is_what_bash_finds(cases: list[tuple[str, str]]) -> None:
    told = [(case, shown) for case in cases if (shown := _told(*case)) is not None]
    asked = "".join(f"{expression}\n{text}\n" for (expression, text), _ in told)
    command = ["bash", "-c", _SHOW]
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, timeout=20)
    except subprocess.TimeoutExpired:
        reject()  # bash itself goes on for ever with some groups within groups
    assert [shown for _, shown in told] == done.stdout.splitlines(), told


def _told(expression: str, text: str) -> str | None:
    """What the expression finds in the text as _SHOW writes it, None where nobody tells it."""
    try:
        found = search(text, expression)
    except Unclear:
        return None
    parts = [] if found is None else [found.whole, *found.groups]
    return "".join(f"<{text[part[0] : part[1]] if part else ''}>" for part in parts) or "no1"


def test_no_expression_takes_long() -> None:
    with pytest.raises(Unclear):
        search("a" * 200, "(a*)*b" * 20)
    with pytest.raises(Unclear):
        search("a" * 200, "(a|b)" * 20)
    assert search("a" * 150, "a*" * 60 + "b") is None
