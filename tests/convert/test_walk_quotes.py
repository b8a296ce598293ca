"""Quotes within "${x:-...}" pair as they do in bash, in a word and in a here-document."""

import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st
from test_walk_bash import run, walk

from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.values.errors import InputError

PIECES = st.sampled_from(["a", " b ", "${A}", "}", "'", "'c'", "'d}e'", "'${A}'", '"f g"', '"h}"', '"i${A}"'])
OPERATORS = st.sampled_from([":-", "-", ":="])


def bash_takes(script: str) -> bool:
    said = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, check=False)
    return said.returncode == 0


def as_walked(script: str) -> object:
    """The commands, None where no shell would take the script."""
    try:
        return walk(script, {"A": "x y"})
    except (ScriptError, InputError):
        return None


@settings(max_examples=150, deadline=None)
@given(OPERATORS, st.lists(PIECES, max_size=5).map("".join))
def test_in_a_word(operator: str, inner: str) -> None:
    script = f'srun "${{B{operator}{inner}}}" end\n'
    assert as_walked(script) == (run(script, {"A": "x y"}) if bash_takes(script) else None)


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=5).map("".join))
def test_in_a_document(inner: str) -> None:
    """What bash finds wrong there it finds when it runs: the rest is read all the same."""
    script = f"srun reads <<EOF\n${{B:-{inner}}}\nEOF\nsrun after\n"
    done = run(script, {"A": "x y"})
    found = as_walked(script)
    assert isinstance(found, list)
    assert found[-1] == done[-1]
    if len(done) == 2:
        assert found == done
