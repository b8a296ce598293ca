"""Functions that are defined anew, also by themselves while they run: bash, run for real, and the walk find
the same commands."""

import pytest
from test_walk_bash import run, walk

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known


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


@pytest.mark.parametrize(
    "script",
    [
        'set -- $GIVEN; srun "$1" "$2" "$#"',
        'set -- a $GIVEN; shift; srun "$1" "$2" "${3-none}"',
        'for pair in $GIVEN; do :; done; f() { srun "${2:-none}" "$#"; }; f $GIVEN',
        'f() { set -- $1; srun "$1" "${2:+two}"; }; f "$GIVEN"',
        'set -o pipefail; set $GIVEN; srun "$2"',
        'set -- $GIVEN b; srun "$1" "$2"',
    ],
)
def test_words_that_an_unknown_one_is_split_into_are_not_said_to_be_missing(script: str) -> None:
    (command,) = [each for each in read([Source("run.sub", script)], {}).commands if each.program == "srun"]
    for given in ("", "1", "1 256", "x y z"):
        ((words, _, _),) = run(script, {"GIVEN": given})
        told = [known(each) for each in command.words[1:]]
        assert len(words) == len(told)
        assert all(each in (None, word) for each, word in zip(told, words, strict=True)), (told, words)
