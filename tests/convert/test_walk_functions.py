"""Functions that are defined anew, also by themselves while they run: bash, run for real, and the walk find
the same commands."""

import pytest
from test_walk_bash import run, walk

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known, shown


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


_MADE = "a=$(sed -n 1p sizes); b=$(sed -n 2p sizes)\n"


def _last_words(script: str) -> list[str]:
    commands = read([Source("run.sub", _MADE + script)], {}).commands
    return [shown(each) for each in next(each for each in commands if each.program == "srun").words[1:]]


@pytest.mark.parametrize(
    "body", ["srun $2", 'srun "$2"', 'local n=$1 m=${2}; srun "$m"', "echo $1; srun ${2}"]
)
@pytest.mark.parametrize("call", ["f $a $b", "f ${a} ${b}", 'V=1 f $a "$b"', "f $a $b > log"])
def test_a_function_that_takes_each_argument_by_its_number_has_those_of_its_call(
    body: str, call: str
) -> None:
    assert _last_words(f"f() {{ {body}; }}; {call}") == ["$(sed -n 2p sizes)"]


@pytest.mark.parametrize(
    "script",
    [
        'f() { for x in "$@"; do echo "$x"; done; srun $2; }; f $a $b',
        "f() { for x; do echo $x; done; srun $2; }; f $a $b",
        "f() { echo $#; srun $2; }; f $a $b",
        "f() { echo $3; srun $2; }; f $a $b",
        "f() { srun $2 ${3:-4}; }; f $a $b",
        "f() { srun $2; }; f $(cat sizes) $b",
        "f() { srun $2; }; f $a",
    ],
)
def test_what_may_be_several_arguments_is_not_one_where_the_function_may_have_more(script: str) -> None:
    assert _last_words(script)[0].endswith("(word 2)")
