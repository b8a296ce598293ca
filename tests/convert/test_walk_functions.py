"""Functions that are defined anew, also by themselves while they run: bash, run for real, and the walk find
the same commands."""

import pytest
from test_walk_bash import run, walk

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read


@pytest.mark.parametrize(
    "script",
    [
        "f() { srun first; f() { srun second; }; srun on; }; f; f",
        'f() { f() { srun "$@"; }; f "$@" z; }; f a; f b',
        "f() { eval 'f() { srun now; }'; f; }; f; f",
        "f() { (f() { srun apart; }; f); srun out; }; f; f",
        'g() { if [ -n "$1" ]; then g() { srun in "$1"; }; g x; fi; srun end; }; g a; g b',
        "f() { local v=1; f() { srun v=${v-}; }; f; }; f; f",
        "f() { srun a; f() { srun b; f() { srun c; }; f; }; f; }; f; f",
    ],
)
def test_a_function_that_defines_itself_anew_is_the_new_one_from_there_on(script: str) -> None:
    assert walk(script, {}) == run(script, {})


@pytest.mark.parametrize(
    "script",
    [
        "f() { srun a; f; }; f",
        "f() { f() { f; }; f; srun a; }; f",
        'T=\'f() { eval "$T"; f; }; srun a\'; eval "$T"; f',
    ],
)
def test_a_function_that_goes_on_calling_itself_is_said(script: str) -> None:
    reading = read([Source("run.sub", script)], {})
    assert "calls itself" in " ".join(each.text for each in reading.unclear)
    assert {each.program for each in reading.starting} == {"srun"}
