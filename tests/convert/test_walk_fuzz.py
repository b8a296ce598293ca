"""Any text at all is walked, or refused with a file and a line; nothing of it runs, and it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_hostile import HOSTILE
from test_walk_bash import SCRIPTS

from hpclaunch.convert.reading import ShellReading, Source
from hpclaunch.convert.shell.walk import inner, read
from hpclaunch.values.errors import InputError

MARKS = [
    *"\"'`$(){}[]<>|&;#\\!*?=~,:%/@^-+ \t\n\r\0é",
    *(
        "$((",
        "))",
        "${",
        "$(",
        "$'",
        '$"',
        "<<E\n",
        "<<-E\n",
        "<<<",
        "[[ ",
        " ]]",
        "((",
        ";;",
        "&&",
        "||",
        "|&",
    ),
    *(">&", "\\\n", "..", "+=", "E\n", "> >(", "< <(", "&>", "if ", "then ", "elif ", "else ", "fi\n"),
    *(
        "for x in ",
        "for ((i=0;i<3;i++)); ",
        "do ",
        "done\n",
        "while ",
        "case x in ",
        "a) ",
        "esac\n",
        "function f ",
    ),
    *("${x//a/b}", "${x:1:2}", "${!x}", "${x@Q}", "${a[@]}", "${#a[*]}", "{1..9}", "{a,b}", "$$", "$1", "$@"),
    *(
        "eval ",
        "local ",
        "declare -A ",
        "export ",
        "unset ",
        "read ",
        "printf ",
        "set -- ",
        "set -euo pipefail\n",
    ),
    *("shift\n", "return\n", "exit 1\n", "exec ", "trap 'x' EXIT\n", "source run.sub\n", ". a\n", "bash -c "),
    *(
        "srun a ",
        "| tee b ",
        "x=1\n",
        "a=(1 2)\n",
        "f() { f; }\nf\n",
        "a=$a$a\n",
        "$(seq 1 9) ",
        "[ -z $x ] ",
        "wait\n",
    ),
]


def outcome(text: str) -> ShellReading | InputError:
    found: ShellReading | InputError
    try:
        found = reading = read([Source("run.sub", text)], {"A": "1"})
    except InputError as error:
        found = error
    if isinstance(found, InputError):
        assert "\n" not in str(found)
        assert found.problems[0].where.startswith("run.sub")
        return found
    for command in reading.commands:
        assert 1 <= command.place.line <= text.count("\n") + 1
        inner(command)
    return reading


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(MARKS), st.text(max_size=4)), max_size=60).map("".join))
def test_any_text(text: str) -> None:
    outcome(text)


@settings(max_examples=200, deadline=None)
@given(SCRIPTS, st.data())
def test_a_script_with_something_wrong_in_it(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.sampled_from([0, 0, 1, 2, 5, 30]))
        text = text[:start] + data.draw(st.sampled_from(MARKS)) + text[start + length :]
    outcome(text)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    outcome(data.decode("utf-8", "surrogateescape"))


# Its own process, so that a time limit holds whatever happens. No file is read there either.
_CHILD = f"""
import json, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from watch import Watch
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.values.errors import InputError
import hpclaunch.convert.programs.plain

name, text = json.load(sys.stdin)
with Watch(is_blind=True) as seen:
    try:
        reading = read([Source(name, text)], {{}})
        found = [len(reading.commands), len(reading.unclear)]
    except InputError as error:
        found = str(error)
print(json.dumps([found, seen]))
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_and_long_texts_end_and_nothing_runs(name: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps(["run.sub", HOSTILE[name]]),
        capture_output=True,
        text=True,
        timeout=120,  # far more than it may take: a bound for a machine that does other things too
        check=False,
    )
    assert said.returncode == 0, said.stderr[-2000:]
    found, caught = json.loads(said.stdout)
    assert caught == []
    assert isinstance(found, list) or found.startswith("run.sub:")


def test_programs_of_a_script_are_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "ran"
    programs = (
        "srun",
        "docker",
        "date",
        "seq",
        "basename",
        "scontrol",
        "tr",
        "cat",
        "hostname",
        "bash",
        "sh",
        "shfmt",
    )
    for program in programs:
        path = tmp_path / program
        path.write_text(f"#!/bin/sh\necho {program} >> {trace}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    text = "".join(
        f"x=$({each} a); y=`{each}`; {each} b | {each} > out; bash -c '{each}'\n" for each in programs
    )
    reading = outcome(text + "exec 3> made; eval 'date > other'; source ./srun; . <(date)\ncoproc date\n")
    assert isinstance(reading, ShellReading)
    assert len(reading.commands) > len(programs) * 4
    assert not trace.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(programs)
