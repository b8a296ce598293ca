"""Scripts of which the text tells everything: bash, run for real, gives the commands the words that the walk
says."""

import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpclaunch.convert.reading import Command, Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known

# Writes its words, what is exported to it of A to E, and what it reads, between bytes that no script has.
_STUB = """#!/bin/bash
{
  printf '\\001'
  for word; do printf '%s\\002' "$word"; done
  printf '\\003'
  for name in A B C D E; do [[ ! -v $name ]] || printf '%s=%s\\002' "$name" "${!name}"; done
  printf '\\003'
  [[ $1 != reads ]] || cat
} >> "$SHOWN"
"""
NAMES = ("A", "B", "C", "D", "E")
_LONGEST = 100_000  # characters: a command is started with words and variables of 131,072 bytes (execve(2))


def run(script: str, given: dict[str, str]) -> list[tuple[list[str], dict[str, str], str]]:
    with tempfile.TemporaryDirectory() as folder:
        stub, shown = Path(folder, "srun"), Path(folder, "shown")
        stub.write_text(_STUB)
        stub.chmod(stat.S_IRWXU)
        shown.touch()
        subprocess.run(
            ["bash", "-c", script, "run.sub"],
            env={"PATH": f"{folder}:{os.environ['PATH']}", "SHOWN": str(shown), "LC_ALL": "C", **given},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        found = []
        for call in shown.read_text(errors="surrogateescape").split("\001")[1:]:
            words, exported, text = call.split("\003")
            pairs = dict(each.split("=", 1) for each in exported.split("\002")[:-1])
            found.append((words.split("\002")[:-1], pairs, text))
        return found


def expected(command: Command) -> tuple[list[str], dict[str, str], str]:
    words = [known(word) for word in command.words[1:]]
    exported = {
        name: known(value) for name, value in (*command.environment, *command.prefix) if name in NAMES
    }
    text = known(command.stdin or ()) if words[:1] == ["reads"] else ""
    assert None not in (*words, *exported.values(), text), command
    return [word or "" for word in words], {name: value or "" for name, value in exported.items()}, text or ""


def walk(script: str, given: dict[str, str]) -> list[tuple[list[str], dict[str, str], str]]:
    reading = read([Source("run.sub", script)], given)
    return [expected(each) for each in reading.commands if each.program == "srun"]


TEXT = st.sampled_from(
    [
        "",
        "a",
        "b c",
        " d ",
        "-e X=1",
        "e/f.sh",
        "g'h",
        'i"j',
        "k\\l",
        "$A",
        "é",
        "1",
        "02",
        "7 8 9",
        "{m,n}",
        "~",
        "#",
    ]
)
NAME = st.sampled_from(NAMES)
NUMBER = st.integers(-3, 20)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


PIECE = st.one_of(
    TEXT.map(quoted),
    NAME.map("${{{}}}".format),
    NAME.map('"${}"'.format),
    NAME.map("${{{}}}x".format),
    st.tuples(NAME, TEXT).map(lambda x: f"${{{x[0]}:-{quoted(x[1])}}}"),
    st.tuples(NAME, NAME).map(lambda x: f'"${{{x[0]}:-${x[1]}}}"'),
    st.tuples(NAME, TEXT).map(lambda x: f"${{{x[0]}:+{quoted(x[1])}}}"),
    st.tuples(
        NAME,
        st.sampled_from(
            ["##*/", "%.sh", "#* ", "%% *", "/e/X", "//-e/-x", ":1", ":0:2", "^^", ",,", "/#a/b"]
        ),
    ).map(lambda x: f'"${{{x[0]}{x[1]}}}"'),
    NAME.map('"${{#{}}}"'.format),
    st.sampled_from(
        [
            '"${L[@]}"',
            "${L[@]}",
            '"${L[*]}"',
            '"${L[1]}"',
            "${#L[@]}",
            '"${L[@]/#/-x}"',
            '"${L[@]//a/b}"',
            '"${L[@]:1}"',
        ]
    ),
    st.tuples(NUMBER, st.sampled_from(["+", "-", "*", "/ 1 +", "% 7 +", "<", "=="]), NUMBER).map(
        lambda x: "$(( {} {} {} ))".format(*x)
    ),
    NUMBER.map("$((N + {}))".format),
    st.sampled_from(
        [
            "$(echo a b)",
            '"$(echo "$A")"',
            "$(printf '%s,' x y)",
            "`echo z`",
            "$(seq 1 3)",
            "$(seq 0.95 0.01 1)",
            "$(seq 5 -1.25 0)",
            "$(seq 1.50 3)",
            "$(seq 2 0.5 1)",
            "$(basename /p/q.sh .sh)",
        ]
    ),
    st.sampled_from(
        [
            "x{1,2}y",
            "{1..3}",
            "pre{a,'b c'}",
            "$(echo 'p q' | tr ' ' ',')",
            "$(dirname /a/b)",
            "$(expr 3 + 4)",
        ]
    ),
    st.just("${N}"),
    st.just("$#"),
)
WORD = st.lists(PIECE, min_size=1, max_size=2).map("".join)
WORDS = st.lists(WORD, max_size=4).map(" ".join)
CONDITION = st.one_of(
    st.tuples(st.sampled_from(["-z", "-n"]), NAME).map(lambda x: '[[ {} "${}" ]]'.format(*x)),
    st.tuples(st.sampled_from(["-z", "-n"]), NAME).map(lambda x: '[ {} "${}" ]'.format(*x)),
    st.tuples(NAME, TEXT).map(lambda x: f'[[ "${x[0]}" == {quoted(x[1])} ]]'),
    st.tuples(NAME, st.sampled_from(["*a*", "b?c", "[a-e]", "-e*"])).map(
        lambda x: '[[ "${}" != {} ]]'.format(*x)
    ),
    st.tuples(NUMBER, st.sampled_from(["-lt", "-ge", "-eq"])).map(lambda x: f"[ $N {x[1]} {x[0]} ]"),
    NUMBER.map("(( N > {} ))".format),
    st.tuples(NAME, NAME).map(lambda x: '[[ -n "${}" && ( -z "${}" || $N -gt 3 ) ]]'.format(*x)),
    st.sampled_from(["true", "false", "! false", ":"]),
)
SIMPLE = st.one_of(
    WORDS.map("srun {}".format),
    st.tuples(NAME, WORD, WORDS).map(lambda x: "{}={} srun {}".format(*x)),
    st.tuples(NAME, WORD).map(lambda x: "{}={}".format(*x)),
    st.tuples(NAME, WORD).map(lambda x: "{}+={}".format(*x)),
    # Of an argument of export bash makes several where there are braces in it.
    st.tuples(NAME, WORD.filter(lambda word: "{1" not in word and "{a" not in word)).map(
        lambda x: "export {}={}".format(*x)
    ),
    st.tuples(st.sampled_from(["export", "unset", "export -n"]), NAME).map(" ".join),
    WORDS.map("L=({})".format),
    WORDS.map("L+=({})".format),
    NUMBER.map("N={}".format),
    NUMBER.map("N=$((N * 2 - {}))".format),
    st.tuples(st.sampled_from(["+=", "-=", "="]), NUMBER).map("((N {0[0]} {0[1]}))".format),
    st.sampled_from(["srun $((N++)) $N $((--N))", "((N++, I = N % 3))", "N+=$((--N))", "srun ${L[I++]} $I"]),
    st.tuples(NAME, WORD).map("give {0[0]} {0[1]}".format),
    st.tuples(NUMBER, NAME).map("for ((I = 0; I < {0[0]}; I++)); do {0[1]}+=$I; done".format),
    st.sampled_from(["unset 'L[0]'", 'srun "${L[*]:1}"', "L[2]=$N", 'r=A; srun "${!r}"', "hide; srun $A$B"]),
    st.tuples(NAME, TEXT).map(lambda x: f": ${{{x[0]}:={quoted(x[1])}}}"),
    WORDS.map("set -- {}".format),
    WORD.map("srun reads <<< {}".format),
    st.tuples(NAME, NAME).map(lambda x: f"srun reads <<EOF\n${x[0]} \\$x\n  ${{{x[1]}:-d}} $((N+1))\nEOF"),
    NAME.map("srun reads <<-'EOF'\n\t${}\n\tq\n\tEOF".format),
    WORDS.map('eval "srun {}"'.format).filter(lambda text: not set(text[6:-1]) & set("\"'`\\$*~")),
    WORDS.map("f {}".format),
    WORDS.map("( A=sub; srun {} )".format),
    WORDS.map("{{ srun {}; }} > /dev/null".format),
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lines = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        st.tuples(CONDITION, lines, lines).map(lambda x: "if {}; then\n{}\nelse\n{}\nfi".format(*x)),
        st.tuples(CONDITION, inner).map(lambda x: "{} && {{\n{}\n}}".format(*x)),
        st.tuples(CONDITION, inner).map(lambda x: "{} || {{\n{}\n}}".format(*x)),
        st.tuples(NAME, lines, lines).map(
            lambda x: 'case "${}" in\na*) {}\n;;\nb | "") {}\n;;\nesac'.format(*x)
        ),
        st.tuples(NAME, WORDS, NAME, WORD).map(lambda x: "for {} in {}; do {}+={}; done".format(*x)),
        st.tuples(CONDITION, CONDITION, lines).map(
            lambda x: "if {}; then :; elif {}; then\n{}\nfi".format(*x)
        ),
    )


def _statement() -> st.SearchStrategy[str]:
    return st.one_of(SIMPLE, SIMPLE, SIMPLE, compound(STATEMENT))


STATEMENT = st.deferred(_statement)
SCRIPTS = st.lists(STATEMENT, min_size=1, max_size=8).map("\n".join)
BEGIN = (
    "give() { local -n _r=$1; _r=$2; }\nhide() { local A=h; reveal; B=$A; }\nreveal() { unset A; A+=r; }\n"
)
BEGIN += 'set --\nN=5\nI=0\nL=()\nf() { local B=$1; srun in "$B" "$#" "${@:2}"; C=changed; }\n'


@settings(max_examples=300, deadline=None)
@given(SCRIPTS, st.dictionaries(NAME, TEXT, max_size=3))
def test_the_walk_says_what_bash_does(script: str, given: dict[str, str]) -> None:
    text = BEGIN + script + '\nsrun "$A" "$B" "$C" "$D" "$E" "${L[@]}" $N\n'
    # A bare mention of what nobody gave is unknown to the walk, and nothing to bash.
    whole = {**dict.fromkeys(NAMES, ""), **given}
    found = walk(text, whole)
    assume(all(len(each) < _LONGEST for words, exported, _ in found for each in (*words, *exported.values())))
    assert found == run(text, whole)


@pytest.mark.parametrize(
    "script",
    [
        "export A=1 B=2; declare +x A; srun x",
        'A=033; srun "${A[@]:1}" "${A[*]:0:2}" ${A[@]: -1}; A=(x y z); srun "${A[@]:1}" "${A:1}" "${A:0:1}"',
        "export A=1; typeset +x A; A=2; srun x; export A; srun y",
        "A= B= C= D=; case ab in a*) A=1 ;;& *c) B=2 ;;& *b) C=3 ;; *) D=4 ;; esac; srun x$A$B$C$D",
        "A= B= C= D=; case ab in a*) A=1 ;& c) B=2 ;;& d) C=3 ;; *b) D=4 ;; esac; srun x$A$B$C$D",
        "A= B= C= D=; case ab in c) A=1 ;;& esac; srun x$A",
        "N=5; let A=($N+2-1)/2; let B=(1 + 2)*3 C=(4) D=7; srun $A $B $C $D",
        "N=5; if (( N )); then let A=($N+$(echo 3))/2; fi; let B=(N+1)%4; srun x$A$B",
    ],
)
def test_the_walk_says_what_bash_does_of(script: str) -> None:
    found = walk(script, {})
    assert found == run(script, {})
    assert found
