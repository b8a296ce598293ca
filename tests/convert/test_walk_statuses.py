"""What a function, a subshell, `return` and `exit` leave as a status: bash, run for real, starts what the
walk says that it starts; what the walk does not know it starts on a condition."""

import pytest
from test_walk_bash import run, walk

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known

_KNOWN = (
    "f() { return 3; }; f && srun a; f || srun b; srun c",
    "f() { return 0; }; if f; then srun a; else srun b; fi; srun c",
    "f() { false; }; if f; then srun a; else srun b; fi; f || srun d",
    'f() { [ "$1" = x ]; }; f x && srun a; f y && srun b; f z || srun c',
    'f() { if [ "$1" = x ]; then return; fi; return 1; }; f x && srun a; f y || srun b',
    "(exit 3) && srun a; (exit 0) && srun b; (exit 3) || srun c",
    "f() { exit 4; }; ( f ) || srun a; srun b",
    "f() { return 1; srun never; }; f; srun x",
    "f() { case $1 in a) return 0;; *) return 1;; esac; }; f a && srun a; f b && srun b",
    "f() { return $(( $1 + 1 )); }; f -1 && srun a; f 0 || srun b",
    "f() { return; }; false; f && srun a; true; f && srun b",
    "f() { false; return $?; }; f && srun a; g() { true; return $?; }; g && srun b",
    "f() { return 256; }; f && srun a",
    "declare -f g >/dev/null || g() { srun in; }; g; declare -F g && srun a; declare -F h || srun b",
    "g() { (exit 3); return $?; }; g || srun c",
    "return 3 2>/dev/null; srun a",
    "f() ( return 3 ); f || srun a; g() ( exit 2 ); g || srun b; srun c",
    "f() { for i in 1 2; do [ $i = 2 ] && return 0; done; return 1; }; f && srun a",
    "f() { true; }; f && g() { srun in; return 2; }; g || srun out",
    "exit_if() { [ \"$1\" = 0 ] || exit 1; }; exit_if 0; srun a; exit_if 1; srun b",
    'is_set() { [[ -n "${!1:-}" ]]; }; X=1; is_set X && srun a; is_set Y || srun b',
    "set -e; f() { false; srun inside; }; if f; then srun a; fi; f || true; srun b",
    "set -e; if [ 1 = 2 ] || [ 2 = 3 ]; then srun no; fi; [ 1 = 2 ] || [ 2 = 2 ] && srun b; ! true; srun c",
    "set -e; x=1; f() { [ $x = 2 ]; }; while f; do :; done; until ! f; do :; done; f && srun no; srun a",
)  # fmt: skip


@pytest.mark.parametrize("script", _KNOWN)
def test_what_is_started_is_what_bash_starts(script: str) -> None:
    assert walk(script, {}) == run(script, {})
    assert not read([Source("run.sub", script)], {}).unclear


# With a folder `there` or without it bash starts other commands.
_UNKNOWN = (
    "f() { if [ -d there ]; then return 0; fi; return 1; }; f && srun a; f || srun b",
    "f() { [ -d there ] && return 1; return 0; }; if f; then srun a; else srun b; fi",
    "f() { if [ -d there ]; then return 2; else return 0; fi; }; f || srun a",
    "f() { while read -r x; do [ $x = y ] && return 1; done < <(ls); }; f && srun a",
    "(if [ -d there ]; then exit 1; fi; exit 0) && srun a",
    "f() { g; return $?; }; g() { [ -d there ]; }; f && srun a",
    "f() { [ -d there ]; x=$?; true; return $x; }; f || srun a",
)


@pytest.mark.parametrize("script", _UNKNOWN)
def test_what_depends_on_something_unknown_is_started_on_a_condition(script: str) -> None:
    found = [each for each in read([Source("run.sub", script)], {}).commands if each.program == "srun"]
    assert all(each.conditions for each in found)
    for before in ("", "mkdir there; "):
        for words, _, _ in run(before + script, {}):
            assert words in [[known(word) for word in each.words[1:]] for each in found]


_HEAD = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=8 --gpus-per-node=8 -t 9\n"
# Whether bash comes to the run, with what the operator gives.
_ENDS = (
    ("set -e\ni=0\n((i++))", True),
    ("set -euo pipefail\nn=0\nlet n=n", True),
    ("set -o errexit\n[[ a == b ]]", True),
    ("set -e\ncheck() { return 3; }\ncheck", True),
    ("set -e\nf() { [ a = b ] && echo a; }\nf", True),
    ("i=0\n((i++))", False),
    ("set -e\ni=1\n((i++))\nfalse || true\nfalse | true\nif false; then :; fi", False),
    ("set -e\nset +e\nfalse", False),
    ('set -e\n[ -n "$GIVEN" ]\n[[ $GIVEN == a ]]', False),
    ("set -e\n[ a = b ] && true\n! true", False),
    ("set -e\ntrap 'state=stopped; exit 9' TERM INT", False),
    ("set -e\ntrap false USR1", False),
    ("set -e\ntrap 'exit 9' HUP\nfalse", True),
)


@pytest.mark.parametrize(("lines", "ends"), _ENDS)
def test_a_script_that_set_e_ends_before_its_run_is_told(lines: str, ends: bool) -> None:
    assert (run(f"{lines}\nsrun", {"GIVEN": "a"}) == []) == ends
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\nsrun --mpi=none ./t\n"}), Options({}))
    told = [each for each in found.findings if "`set -e` ends the script here" in each.why]
    assert [(each.kind, each.places[0].line) for each in told] == (
        [("unread", len(lines.split("\n")) + 2)] * ends
    )
