"""A script that ends with 0 whatever became of its run: what is said of that is what bash does. The programs
that scripts name are stubs here: those that start ranks fail, and `check` does as it is told."""

import os
import subprocess
from itertools import count
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hpclaunch.convert import defects
from hpclaunch.convert.conversion import convert
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read

_NUMBERS = count()
_ENDS = "its exit status is that of this command"
_LOOPS = "for h in a b; do\n  ssh $h docker run x & pids+=($!); rets+=($?)\ndone\n"

# The line of the command that gives the 0, None: it ends otherwise, or it depends on more than the run.
ENDINGS: tuple[tuple[str, int | None], ...] = (
    ("srun a\nexit 0\n", 2),
    ("srun a\nexport | W=5\n", 2),
    ("srun a\ncp x y\n", 2),
    ("srun a\n\n<<NOTES\n - cite\nNOTES\n", 3),
    ("main() {\n  srun a\n  echo done\n}\nmain\n", 3),
    ("# no set -e here\nsrun a\necho done\n", 3),
    ("srun a\necho done # set -e\n", 2),
    ("srun a\nrc=$?\necho $rc\n", 3),
    ("srun a; rc=$?; exit $rc\n", None),
    ('srun a\nrc=$?\necho done\nexit "${rc}"\n', None),
    ("srun a\nexit $?\n", None),
    ("srun a\nexit\n", None),
    ("srun a\necho done\nexit $?\n", 3),
    ("srun a || exit 1\necho done\n", None),
    ("srun a || { echo bad; exit 3; }\necho done\n", None),
    ("srun a || rc=1\necho done\nexit ${rc:-0}\n", None),
    ("srun a || rc=1\necho done\nexit $rc\n", None),
    ("set -e\nsrun a\necho done\n", None),
    ("set -euo pipefail\nsrun a | tee x\necho done\n", None),
    ("set -o errexit\nsrun a\necho done\n", None),
    ("#!/bin/bash -e\nsrun a\necho done\n", None),
    ("set -e\nset +e\nsrun a\necho done\n", 4),
    ("srun a\nset -e\ncheck\necho done\n", None),
    ("srun a\nfor i in 1 2; do\nset -e\ncheck\necho x\ndone\n", None),
    ("set -e\nmain() {\n  srun a\n  echo done\n}\nmain || echo bad\n", 4),
    ("set -e\nif ! srun a; then\n  echo bad\nfi\n", 3),
    ("if srun a; then\n  echo good\nelse\n  exit 1\nfi\n", None),
    ("if srun a; then\n  echo good\nelse\n  echo bad\nfi\n", 4),
    ("srun a\nif [ $? -ne 0 ]; then\n  exit 1\nfi\necho done\n", None),
    ("srun a\nif [ $? -eq 0 ]; then\n  echo good\nelse\n  echo bad\nfi\n", 5),
    ("srun a\nif [[ $? != 0 ]]; then exit 1; fi\necho done\n", None),
    ("srun a\n[ $? -ne 0 ] && exit 1\necho done\n", None),
    ("srun a\n(( $? )) && exit 1\necho done\n", None),
    ("trap 'exit 1' ERR\nsrun a\necho done\n", None),
    ("trap 'rc=$?; rm -f x; exit $rc' EXIT\nsrun a\n", None),
    ("end() { exit 4; }\ntrap end EXIT\nsrun a\necho done\n", None),
    ("trap 'rm -f x' EXIT\nsrun a\necho done\n", 3),
    ("trap 'rm -f x' EXIT\nsrun a\n", None),
    ("trap 'exit 1' TERM\nsrun a\necho done\n", 3),
    ("go() { srun a; }\ngo\necho done\n", 3),
    ("go() { srun a; }\ngo\n", None),
    ("go() { srun a || return 2; echo good; }\ngo\n", None),
    ("go() { srun a; return 0; }\ngo\n", 1),
    ('go() { "$@"; }\ngo srun a\necho done\n', 3),
    ('R="srun -N 2"\n$R a\necho done\n', 3),
    ('C=(srun -N 2)\n"${C[@]}" a\nexit 0\n', 3),
    ("for i in 1 2; do\n  srun a\n  echo round\ndone\n", 3),
    ("for i in 1 2; do\n  srun a\ndone\n", None),
    ("for i in 1 2; do\n  srun a || break\ndone\n", 2),
    ("for i in 1 2; do\n  srun a || exit 1\ndone\necho done\n", None),
    ("( srun a )\necho done\n", 2),
    ("( srun a; exit 0 )\n", 1),
    ("timeout 60 srun a\necho done\n", 2),
    ("time srun a\ndate\n", 2),
    ("exec srun a\necho never\n", None),
    ("srun a &\nwait $!\necho done\n", 3),
    ("srun a &\nwait $!\n", None),
    ("srun a &\npid=$!\nwait $pid || exit 1\necho done\n", None),
    ("x=$(srun a)\necho $x\n", 2),
    ("x=$(srun a)\n", None),
    ("! srun a\n", 1),
    # Who looks at the log, or at anything else, may know better.
    ("srun a > x\ncheck x && exit 1\necho done\n", None),
    ("srun a > x\ncheck x || exit 1\necho done\n", None),
    ("srun a > x\nif check x; then exit 0; else exit 1; fi\n", None),
    ("srun a > x\ncheck x\n", None),
    ("srun a > x\ncheck x\nexit $?\n", None),
    ("if check x; then exit 1; fi\nsrun a\necho done\n", 3),
    ("srun a\nif check x; then echo one; else echo two; fi\n", 2),
    ("case $(date +%u) in 1) echo mon;; *) echo other;; esac\nsrun a\necho done\n", 3),
)


def _claims(text: str) -> list[int]:
    reading = read([Source("run.sub", text)], {})
    return [each.places[0].line for each in defects.find(reading, Options({}), Draft()) if _ENDS in each.why]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with stubs for all that a script may name here."""
    folder = tmp_path_factory.mktemp("programs")
    stubs = {"srun": ': > "$RAN"; exit 1', "check": "exit ${CHECK:-0}", "cp": "exit 0"}
    for name, body in stubs.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
    return str(folder)


def _statuses(text: str, programs: str) -> set[int]:
    """The statuses that bash ends the script with where it has come to the run, whatever `check` says."""
    found = set()
    shell = ["bash", "-e"] if text.startswith("#!/bin/bash -e") else ["bash"]
    for said in ("0", "1") if "check" in text else ("0",):
        ran = Path(programs, f"ran-{next(_NUMBERS)}")  # what goes on in the background writes it later
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "CHECK": said, "RAN": str(ran)}
        done = subprocess.run(
            [*shell, "-c", text], env=environment, cwd=programs, capture_output=True, check=False, timeout=60
        )
        if ran.exists():
            found.add(done.returncode)
    return found


@pytest.mark.parametrize(("script", "line"), ENDINGS)
def test_an_end_that_hides_the_run_is_found_and_no_other(
    script: str, line: int | None, programs: str
) -> None:
    assert _claims(script) == ([line] if line else [])
    is_always_0 = _statuses(script, programs) == {0}
    assert is_always_0 == bool(line)


_PIECES = st.sampled_from(
    (
        *("srun a", "echo x", "rc=$?", "exit $rc", "[ $rc -ne 0 ] && exit 1", "exit 0", "srun a || true"),
        *(
            "srun a || exit 2",
            "set -e",
            "set +e",
            "set -o pipefail",
            "srun a | tee x",
            "check",
            "check || exit 3",
        ),
        *(
            "srun a &",
            "wait $!",
            "false",
            "rc=0",
            "srun a || rc=1",
            "[ $? -eq 0 ] || exit 1",
            "true && srun a",
        ),
        *("srun a && echo good", "x=$(srun a)", "local_rc=$?", "return 1 2>/dev/null", "test $rc = 0"),
        *("trap 'rm -f y' EXIT", "trap 'exit 5' ERR", "exit", "exec srun a", "rc=${PIPESTATUS[0]}", "break"),
    )
)


def _around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        lists.map(lambda body: f"for i in 1 2; do\n{body}\ndone"),
        lists.map(lambda body: f"(\n{body}\n)"),
        lists.map(lambda body: f"{{\n{body}\n}}"),
        lists.map(lambda body: f"go() {{\n{body}\n}}\ngo"),
        st.tuples(inner, lists, lists).map(lambda of: f"if {of[0]}\nthen\n{of[1]}\nelse\n{of[2]}\nfi"),
        st.tuples(inner, lists).map(lambda of: f"if ! {of[0]}\nthen\n{of[1]}\nfi"),
        lists.map(lambda body: f"{{\n{body}\n}} | tee x"),
    )


_SCRIPTS = st.lists(st.recursive(_PIECES, _around, max_leaves=4), min_size=1, max_size=5)


@example(["for i in 1 2; do\n(\nsrun a\nbreak\nsrun a\n)\ndone"])
@example(["set -e", "srun a &", "check", "srun a || rc=1"])
@settings(max_examples=60, deadline=None)
@given(_SCRIPTS)
def test_what_is_said_to_end_with_0_does(programs: str, pieces: list[str]) -> None:
    script = "\n".join(pieces) + "\n"
    if _claims(script):
        assert _statuses(script, programs) <= {0}


@pytest.mark.parametrize(
    ("script", "lines", "line"),
    [
        (_LOOPS, [2], 2),
        ("srun a & rv=$?\nwait $!\n", [1], 1),
        ("srun a & p=$!; q=1; [ $? -eq 0 ] || exit 1\nwait $!\n", [1], 1),
        ("srun a &\nwait $! || rc=$?\nexit $rc\n", [], 0),
        ("srun a & for p in $!; do wait $p || rc=$?; done\nexit $rc\n", [], 0),
        ("srun a & x=$(false); rc=$?\nwait $!\n", [], 0),
    ],
)
def test_a_status_behind_the_background_is_that_of_the_shell(
    script: str, lines: list[int], line: int
) -> None:
    reading = read([Source("run.sub", script)], {})
    found = defects.find(reading, Options({}), Draft())
    assert [each.places[0].line for each in found if "with & is always 0" in each.why] == lines


def test_only_the_jobs_own_run_counts_where_others_come_after_it() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\n"
    run = "srun --mpi=none --ntasks-per-node=8 --container-image=a.io/b:1 ./train\n"
    clean = "srun --ntasks-per-node=1 rm -rf /raid/x\n"
    found = convert(classified({"run.sub": head + run + clean}), Options({})).findings
    assert [each.places[0].line for each in found if _ENDS in each.why] == [4]
    found = convert(classified({"run.sub": head + clean + run}), Options({})).findings
    assert not [each for each in found if _ENDS in each.why]


@pytest.mark.parametrize("last", ["sleep infinity", "sleep inf", "tail -f /dev/null"])
def test_a_script_that_stays_gives_no_status(last: str) -> None:
    runs = "srun --mpi=none ./clean\nsrun --mpi=none ./serve &"
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:1 -t 5\n{runs}\n{last}\n"
    assert not any(_ENDS in each.why for each in convert(classified({"a.sub": text}), Options({})).findings)
    other = text.replace(last, "sleep 60")
    (said,) = (
        each for each in convert(classified({"a.sub": other}), Options({})).findings if _ENDS in each.why
    )
    assert said.why.endswith("when the run failed")  # it may train nothing


@pytest.mark.parametrize(("what", "said"), [("nvidia-smi", False), ("docker run lab/t:1 ./t", True)])
def test_the_end_of_a_script_that_launches_nothing_hides_no_run(what: str, said: bool) -> None:
    text = f"#!/bin/bash\nfor h in a b; do\n  ssh -T $h {what}\ndone\necho done\n"
    found = convert(classified({"look.sh": text}), Options({})).findings
    assert any(_ENDS in each.why for each in found if each.kind == "defect") == said
