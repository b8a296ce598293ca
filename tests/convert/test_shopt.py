"""What `shopt` changes of a script: its conditions come out as bash, run for real, finds them."""

import subprocess
from pathlib import Path

import pytest
import script_cases
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_walk_bash import expected, run, walk

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.shopt import EMPTY_BEHIND_ANY
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell import extglob

_TEXTS = st.text("abAB.x", max_size=6)
_PARTS = st.recursive(
    st.sampled_from(["a", "B", "b", "*", "?", "[ab]", "[!a]", "x", "\\.", ""]),
    lambda inner: st.builds(
        lambda kind, ways: f"{kind}({'|'.join(map(''.join, ways))})",
        st.sampled_from("?*+@!"),
        st.lists(st.lists(inner, max_size=3), min_size=1, max_size=3),
    ),
    max_leaves=8,
)
_PATTERNS = st.lists(_PARTS | st.sampled_from(["'*'", '"+("', "'a'"]), max_size=4).map("".join)
_FORM = "[[ $V == {0} ]] && srun {1} == || srun {1} !="
_CASE = "case $V in {0}) srun {1} in ;; *) srun {1} out ;; esac"
_SEARCH = "[[ $V =~ a ]] && srun {1} =~"


@example([("A", "?([!a])", _FORM), ("A", "[^a]", _CASE), ("a", "!([B])", _FORM)], True)
@example([("", "*+(*)", _FORM), ("", "*@(a|*)", _FORM)], False)  # bash 5.2: they do not match
@given(
    st.lists(st.tuples(_TEXTS, _PATTERNS, st.sampled_from([_FORM, _CASE, _SEARCH])), min_size=1, max_size=30),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_conditions_with_extglob_and_nocasematch(rows: list[tuple[str, str, str]], folds: bool) -> None:
    lines = ["shopt -s extglob", *(["shopt -s nocasematch"] if folds else [])]
    for number, (text, pattern, form) in enumerate(rows):
        lines += [f"V={text}", form.format(pattern or "''", number)]
    script = "\n".join(lines)
    shown = subprocess.run(
        ["bash", "-c", script.replace("srun", "echo srun")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not shown.stderr
    reading = read([Source("run.sub", script)], {})
    found = [" ".join(str(*word) for word in each.words) for each in reading.commands if not each.conditions]
    told = [line for line in found if line.startswith("srun")]
    real = shown.stdout.splitlines()
    # What the walk leaves open it says with a condition; all that it decides is as bash decides it.
    assert [line for line in real if line in told] == told
    if not folds and not any(EMPTY_BEHIND_ANY.search(pattern) for _, pattern, _ in rows):
        assert told == real


@pytest.mark.parametrize("depth", [4, 9])
def test_patterns_within_patterns_come_to_an_end(depth: int) -> None:
    """Each is the contrary of the one within it: looked for from each place anew that takes hours."""
    pattern = "*x" + ")" * depth
    pattern = "!(" + "*!(" * (depth - 1) + pattern
    assert extglob.matches(pattern, "a" * 400) == (depth % 2 == 1)


_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        ("S=Abc\nshopt -s nocasematch\n[[ $S == abc ]] && O=1", ["./t", "1"]),
        ("S=Abc\nshopt -s nocasematch\nshopt -u nocasematch\n[[ $S == abc ]] && O=1", ["./t"]),
        ("S=Abc\n(shopt -s nocasematch)\n[[ $S == abc ]] && O=1", ["./t"]),
        (
            'S=Abc\nif [ -n "$(hostname)" ]; then shopt -s nocasematch; fi\n[[ $S == abc ]] && O=1',
            "exec ./t $O",
        ),
        ("shopt -s lastpipe\necho 1 | read -r O", ["./t", "1"]),
        ("echo 1 | read -r O", ["./t"]),
        ("O=n[1-4]", ["./t", "n[1-4]"]),
        ("shopt -s nullglob\nO=n[1-4]", "ASK"),
    ],
)
def test_what_an_option_of_the_shell_makes_of_the_run(lines: str, command: object) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}O=\n{lines}\nsrun --mpi=none ./t $O\n"}), Options({}))
    job = script_cases.loaded(found.job)
    assert job["command"] == command
    assert job.get("env") == ({"O": script_cases.ASK} if "$O" in str(command) else None)


_ALIASES = """
alias none='srun no'
none 0 || srun 1
shopt -s expand_aliases
alias train='srun --a  b' srun='srun x'
alias both='train; srun'
alias off='srun y'; off 3
train c "d e" | cat
f() { train in function; }
both 2; f
unalias srun; srun 5
unalias -a
train 6 || srun 7
"""


def test_aliases_are_followed_where_bash_expands_them() -> None:
    assert walk(_ALIASES, {}) == run(_ALIASES, {})


@pytest.mark.parametrize("names", [("run.sub", "a.sh"), ("a.sh", "run.sub")])
def test_an_alias_of_a_file_that_is_sourced_is_followed_in_whichever_order_they_are_given(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    alias = "\n\n\nshopt -s expand_aliases\nalias go='srun -a'\n"
    texts = {"run.sub": "source ./a.sh\ngo b\n. ./b.sh\n", "a.sh": alias, "b.sh": "go c\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    done = run(f"cd {tmp_path}; . ./run.sub", {})
    found = read([Source(name, texts[name]) for name in (*names, "b.sh")], {}).commands
    assert [expected(each) for each in found if each.program == "srun"] == done
    assert len(done) == 2


@pytest.mark.parametrize("shopt", ["", "shopt -s expand_aliases\n"])
def test_an_alias_says_nothing_where_it_is_not_expanded(shopt: str) -> None:
    run = "train" if shopt else "srun --mpi=none ./t"
    lines = f"{shopt}alias train='srun --mpi=none ./t'\nalias ll='ls -l'\n{run}\n"
    found = convert(classified({"run.sub": _HEAD + lines}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["./t"]
    assert not [each for each in found.findings if each.kind == "unread"]


@pytest.mark.parametrize("alias", ["alias a='srun '", "[ -f x ] && alias a=srun", 'alias a="$(cat f)"'])
def test_an_alias_that_is_not_known_is_said_not_to_be_followed(alias: str) -> None:
    found = convert(
        classified({"run.sub": f"{_HEAD}shopt -s expand_aliases\n{alias}\nsrun ./t\n"}), Options({})
    )
    assert [each.kind for each in found.findings if each.places[0].line == 4] == ["unread"]


@pytest.mark.parametrize("shell", ["/bin/sh", "/usr/bin/env zsh", "/bin/dash", "/bin/bash"])
def test_only_bash_leaves_an_alias_of_a_script_alone(shell: str) -> None:
    lines = "#SBATCH -N 1 --gpus-per-node=1 -t 5\nalias start='srun --mpi=none -n 1'\nstart ./t\n"
    found = convert(classified({"run.sub": f"#!{shell}\n{lines}"}), Options({}))
    job = script_cases.loaded(found.job)
    assert (job["command"] == ["./t"]) == (shell != "/bin/bash")


@pytest.mark.parametrize(("shell", "kind"), [("sh", "left"), ("zsh", "left"), ("bash", "without effect")])
def test_an_alias_that_a_command_from_outside_may_begin_with_is_said(shell: str, kind: str) -> None:
    lines = "#SBATCH -N 1 --gpus-per-node=1 -t 5\nalias python=python3\neval ${1}\n"
    found = convert(classified({"run.sub": f"#!/bin/{shell}\n{lines}"}), Options({}))
    assert [each.kind for each in found.findings if "alias python=python3" in each.what] == [kind]


@pytest.mark.parametrize(("shell", "last"), [("ksh", "1"), ("zsh", "1"), ("bash", "0"), ("sh", "0")])
def test_what_the_last_command_of_a_pipe_sets_is_known_where_its_shell_is_the_scripts(
    shell: str, last: str
) -> None:
    lines = "#SBATCH -N 1 --gpus-per-node=1 -t 5\nO=0\necho 1 | read -r O\nsrun --mpi=none ./t $O\n"
    found = convert(classified({"run.sub": f"#!/bin/{shell}\n{lines}"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["./t", last]
