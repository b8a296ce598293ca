"""A variable that the script sets, in whatever way bash has for it, is never the submitter's: the job has the
value that bash gives it, or asks for it."""

import subprocess
from pathlib import Path

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\n"
_RUN = '\nsrun --mpi=none --ntasks-per-node=8 --container-image=a/b:1 ./t "$X"\n'
_WAYS = {
    "lines of a process": "while read -r k v; do [[ $k == b ]] && X=$v; done < <(printf 'a 1\\nb 2\\n')",
    "the last line of a process": "while read -r k; do X=$k; done < <(printf 'a\\nb\\n')",
    "an array of a process": "mapfile -t A < <(printf 'a\\nb\\n'); X=${#A[@]}${A[1]}",
    "where hash does not find it": "hash no-such-program-here 2>/dev/null || X=other",
    "where hash decides": "if hash no-such-program-here 2>/dev/null; then X=a; else X=b; fi",
    "where compgen decides": "if compgen -G '/no/such/*' >/dev/null; then X=a; else X=b; fi",
    "where type decides": "type -t no_such >/dev/null && X=a || X=b",
    "a sum with an output": "((X = 20000 + $(id -u) % 1000))",
    "a sum that adds an output": "X=3; ((X += $(id -u) + 1))",
    "let with an output": "let X=$(id -u)+7",
    "a sum within a word": 'echo $((X = $(id -u) + 1)) >/dev/null; : "$X"',
    "a loop over files": "for X in /et*; do break; done",
    "a pattern of extglob": "shopt -s extglob\nA=foo.tar.gz\nX=${A%.@(tar.gz|zip)}",
    "the first of several words": 'IFS=, read -ra X <<< "$(id -u),b"',
    "a descriptor": "exec 3< <(echo a); read -u 3 X",
    "an export of an output": "export $(echo X=5)",
    "eval of an output": "eval $(echo X=5)",
    "eval of a text with an output": 'eval "X=$(id -u)"',
    "declare": "declare X=$(id -u)",
    "printf": "printf -v X %s $(id -u)",
    "the status of a pipe's part": "false | true; X=${PIPESTATUS[0]}",
    "a loop that is left for the next round": "for i in 1 2; do for X in a b; do continue 2; done; done",
    "a loop that is left with another": "for i in 1 2; do for X in a b; do break 2; done; done",
    "a line that is left out": "V=abc; X=${V^}${V~}",
    "a line that goes on": "X2=a; A=1\nX=$X\\\n2",
}


@pytest.mark.parametrize("way", _WAYS)
def test_what_the_script_sets_is_not_taken_from_the_submitter(way: str, tmp_path: Path) -> None:
    before = _HEAD + _WAYS[way]
    shown = before + '\nprintf %s "${X?}"'
    of_bash = subprocess.run(
        ["bash", "-c", shown],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = convert(classified({"run.sub": before + _RUN}), Options({}))
    job = loaded(found.job)
    assert "inherit" not in job
    if found.is_complete:
        assert job["command"] == ["./t", of_bash.stdout]
    else:
        assert ASK in (job["command"], job.get("env", {}).get("X"), *job.get("env", {}).values())
