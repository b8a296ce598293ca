"""Values that a script computes with programs and tests: the walk gives commands the words that bash, run for
real, gives them."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_walk_bash import run, walk

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.shell.expr import expr

_EXPR = (
    r"match run12 'run\([0-9]*\)'",
    r"run12 : '[a-z]*'",
    r"'a.b.c' : '.*\.\(.*\)'",
    r"aab : 'a*\(a\)b'",
    r"abc : '\([a-b]*\)c$'",
    r"abc : b",
    r"abc : 'b\(c\)'",
    r"xx : 'x\{1,2\}'",
    r"xxx : 'x\{1\}'",
    r"a+b : 'a\+b'",
    r"'*a' : '*\(a\)'",
    r"'a]b' : 'a[]x]b'",
    "length abcd",
    "substr abcdef 2 3",
    "substr abcdef 0 3",
    "index abcdef dc",
    "index abcdef x",
    "$A + 1",
    '"$A" \\* 2 - 3',
    "7 / -2",
    "7 % -2",
    "1 / 0",
    "a + 1",
    "$EMPTY + 1",
    "\\( 1 + 2 \\) \\* 3",
    "3 \\> 2 \\& 0",
    "0 \\| '' \\| -0",
    "abc = abc",
    "10 \\< 9",
    "+ length",
    "length",
    "2 +",
)
_TESTS = (
    "[ $EMPTY -gt 0 ]",
    "[ $GONE -lt 4 ]",
    "test $EMPTY -eq 1",
    '[ "$EMPTY" -eq 0 ]',
    "[[ $EMPTY -eq 0 ]]",
    "[ $EMPTY -gt $EMPTY ]",
    "[ $EMPTY = a ]",
    "[ ! $EMPTY ]",
    "[ $A -gt ]",
    "[ $A -gt 3 ]",
    "(( $EMPTY > 0 ))",
    "(( 0 < $EMPTY ))",
    "(( 3 > $EMPTY && 1 ))",
    "(( $EMPTY + 1 ))",
    "(( EMPTY == 0 ))",
    "(( $EMPTY ))",
    "! (( $EMPTY > 0 ))",
    "expr $A : '[0-9]*$' > /dev/null",
    "expr abc : b > /dev/null",
    "expr 1 / 0 > /dev/null",
)


def test_what_expr_and_tests_say_is_what_bash_has() -> None:
    lines = ["A=4; EMPTY=; GONE=1; unset GONE"]
    lines += [f'V=$(expr {words})\nsrun {number} "$V"' for number, words in enumerate(_EXPR)]
    lines += [f"if {test}; then srun {test!r} yes; else srun {test!r} no; fi" for test in _TESTS]
    script = "\n".join(lines)
    found = walk(script, {})
    assert len(found) == len(_EXPR) + len(_TESTS)
    assert found == run(script, {})


_COUNTED = """
i=0; j=3; k=5; T=; n=2
((i++)); ((j+=2*i)); ((k--)); let m=3
while ((i++ < 4)); do T="$T $i"; done
srun $i $j $k "$T"
until ((--n < 0)); do T="$T,$n"; done; srun "$T" $n
if ((--k > 3)); then srun yes; else srun no; fi
((k = j * 2 + 1)); ((k %= 4)); srun $k
((i++ == 5)) && srun "$i" five; ((i++ == 5)) || srun "$i" not five
"""


def test_what_is_counted_is_what_bash_counts() -> None:
    assert walk(_COUNTED, {}) == run(_COUNTED, {})


_WORD = st.sampled_from(["a", "abc", "12", "0", "", "+", "-", "*", "(", ")", ":", "|", "&", "<", "="]) | (
    st.sampled_from(["substr", "index", "length", "match", r"\(a*\)", "a.*c$", "[^b]*b", "-1", "00"])
)
_PATTERN = st.lists(
    st.sampled_from(["a", "b", ".", "*", r"\+", r"\?", "[ab]", "[^a]", "[a-c]*", r"\(", r"\)", "$", "^"])
    | st.sampled_from([r"\{2\}", r"\{1,\}", r"\{0,2\}", "1", "-", "]", "[:digit:]"]),
    max_size=7,
).map("".join)
_MATCH = st.tuples(st.text("abc1-*]", max_size=6), st.just(":"), _PATTERN).map(list)


@settings(max_examples=150, deadline=None)
@given(st.lists(_WORD, max_size=6) | _MATCH)
def test_whatever_expr_is_given_what_is_told_is_what_it_writes(words: list[str]) -> None:
    told = expr(tuple(words))
    if told is None:
        return
    done = subprocess.run(
        ["expr", *words], capture_output=True, text=True, env={"LC_ALL": "C"}, check=False, timeout=60
    )
    assert told == (done.stdout, done.returncode == 0)


def test_no_pattern_takes_long() -> None:
    assert expr(("a" * 100, ":", "a*" * 60 + "b")) == ("0\n", False)
    assert expr(("a" * 100, ":", r"a\{0,50\}" * 9 + "b")) is None


@pytest.mark.parametrize("condition", ["[ $X -gt 0 ]", "test $X -eq 1", "(( $X > 0 ))", "[[ $X -gt 0 ]]"])
def test_a_value_that_a_test_decides_is_asked_for_with_the_test(condition: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\nif {condition}; then F=a; else F=b; fi\nsrun --mpi=none ./t $F\n"
    job = convert(classified({"run.sub": text}), Options({})).job
    assert f"it depends on `{condition}` (run.sub:3), and nothing gives X: --env X=VALUE" in job
    for value, flag in (("1", "a"), ("0", "b")):
        answered = convert(classified({"run.sub": text}), Options({"X": value})).job
        assert f'command: ["./t", {flag}]' in answered


@pytest.mark.parametrize(
    ("output", "named"),
    [
        ("$(if [ -f /x ]\nthen echo a\nelse echo b; fi)", "$(if [ -f /x ] ...) in run.sub:3-5"),
        ("$(for x in a b; do ls $x; done)", "$(for x in a b ...) in run.sub:3"),
        ("$(while read -r l; do echo $l; done < f | sort)", "$(while read -r l ...) in run.sub:3"),
        ("$(case $(hostname) in a*) ls;; esac)", "$(case $(hostname) ...) in run.sub:3"),
        ("$(ls /x | sort)", "$(ls /x | sort)"),
    ],
)
def test_a_question_names_what_writes_a_value_with_its_lines(output: str, named: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\nIMG={output}\nsrun --mpi=none --container-image=$IMG ./t\n"
    found = convert(classified({"some/run.sub": text}), Options({}))
    (question,) = [each for each in found.findings if each.key == "image"]
    assert question.why == f"the image, which {named} gives: a reference or a .sqsh file"
