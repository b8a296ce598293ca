"""Which value of a variable a command has: that of the moment at which the script came to it."""

from pathlib import Path

import both_ways
import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_SHOWN = "$MODE $OUT $D"


def _of(lines: str, options: str = "--mpi=none") -> tuple[dict[str, object], str]:
    found = convert(
        classified({"run.sub": both_ways.HEAD + lines.replace("srun", f"srun {options}")}), Options({})
    )
    return script_cases.loaded(found.job), "\n".join(
        f"{each.kind} {each.what}: {each.why}" for each in found.findings
    )


@pytest.mark.parametrize(
    "lines",
    [
        "OUT=a\ntrap './note.sh \"$OUT\"' EXIT\nOUT=b\nsrun ./note",
        "export OUT=a\ntrap './note.sh $OUT' EXIT\nexport OUT=b\nsrun ./note",
        'finish() {{ ./note.sh "$1" $LR; }}\ntrap "finish done" EXIT\nLR=3\nsrun ./note\nLR=4',
        "trap './note.sh x' EXIT\ncd run\nsrun ./note",
        "export MODE=$OUT\nexport OUT=q\nsrun ./note\n./note.sh end",
        "export N=$HOME\nexport MODE=$N\n./note.sh begin\nsrun ./note\n./note.sh end",
        'go() {{ srun ./note "$1" $2 "$#"; }}\ngo a "b c"',
        "mkdir run\nsrun ./note",
        "mkdir run/new\n./note.sh\nsrun ./note",
    ],
)
def test_the_job_has_the_values_that_the_script_had(lines: str, tmp_path: Path) -> None:
    here, of_script = both_ways.run(lines, tmp_path, _SHOWN)
    assert here == of_script
    assert len(here) == lines.count("./note")


@pytest.mark.parametrize(
    "lines",
    [
        "LR=5 srun ./app --lr $LR",
        'f() { LR=5 srun ./app --lr "$1"; }\nf "$LR"',
        "env LR=5 srun ./app --lr $LR",
        "srun --export=ALL,LR=5 ./app --lr $LR",
        "mpirun -x LR=5 ./app --lr $LR",
        "A=$LR\nexport LR=5\nsrun ./app --lr $A",
        "srun --export=ALL,LR=5 ./app --lr $((LR+1))",
    ],
)
def test_a_word_of_a_value_that_ranks_no_longer_have_is_asked_for(lines: str) -> None:
    job, said = _of(lines)
    assert job["command"] == script_cases.ASK
    assert "LR is read there before the script gives it a value" in said


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ("./prep.sh $NAME\nNAME=x\nsrun ./app", ["./prep.sh $NAME"]),
        ("O=/data/$NAME\nexport NAME=x\nmkdir -p $O\nsrun ./app\ncp a $O/", ["mkdir -p $O", "cp a $O/"]),
        ("O=/data/$NAME\nexport NAME\nmkdir -p $O\nsrun ./app\ncp a $O/", []),
        ("export NAME=$NAME/x\n./prep.sh $NAME\nsrun ./app", []),
    ],
)
def test_a_step_of_a_value_that_the_job_no_longer_has_is_left(lines: str, left: list[str]) -> None:
    job, said = _of(lines)
    assert [each for each in left if f"left {each}: NAME is read there before" in said] == left
    assert len(job.get("setup", ())) + len(job.get("after", ())) + len(left) == lines.count("\n") - 1 - (
        "O=" in lines
    )


@pytest.mark.parametrize(
    ("lines", "perhaps"),
    [
        ("[ -f x ] && export DATA=a\nDATA=b\nsrun ./app", True),
        ("case $NAME in a*) export DATA=a;; esac\nDATA=b\nsrun ./app", True),
        ("if [ -f x ]; then export DATA=a; else export DATA=c; fi\nDATA=b\nsrun ./app", False),
        ("[ -f x ] && export DATA=a\nexport DATA=b\nsrun ./app", False),
        ("./prep.sh $DATA\nDATA=b\nsrun ./app", True),
        ('DATA="$DATA x"\nsrun ./app', True),
        ('export DATA="$DATA x"\nsrun ./app', False),
        ('DATA="$DATA x"\nexport DATA\nsrun ./app', False),
        ("DATA=${DATA:-b}\nexport DATA\nsrun ./app", False),
        ('DATA=$(echo "$DATA" | ./cut)\nsrun ./app', False),  # no line tells it, and the job has none
    ],
)
def test_what_is_perhaps_exported_is_said(lines: str, perhaps: bool) -> None:
    _, said = _of(lines)
    assert ("assumed DATA: it is exported" in said) is perhaps


def test_mpiruns_own_value_counts_more_than_what_is_exported() -> None:
    job, _ = _of("export N=$OTHER\nmpirun -x N=mx ./app")
    assert job["env"] == {"N": "mx"}
    assert job["command"] == ["./app"]


@pytest.mark.parametrize(
    ("option", "loads"), [("NONE", False), ("A=1", False), ("PATH", True), ("ALL", True), ("ALL,A=1", True)]
)
def test_a_module_counts_where_srun_hands_on_what_it_exports(option: str, loads: bool) -> None:
    job, _ = _of("module load gcc/11\nulimit -s unlimited\nsrun /opt/app", f"--mpi=none --export={option}")
    assert ("module load gcc/11" in str(job["command"])) is loads
    assert "ulimit -s unlimited" in str(job["command"])


def test_a_step_is_said_to_lack_what_ranks_alone_have() -> None:
    _, said = _of("export MASTER_ADDR=$(hostname)\nmkdir a\nsrun ./app\n./note.sh end")
    assert "left MASTER_ADDR of ./note.sh end:" in said
    assert "MASTER_ADDR of mkdir" not in said


@pytest.mark.parametrize(
    ("lines", "is_said"),
    [
        ("./prep.sh\nsrun ./app", True),
        ("set -e\n./prep.sh\nsrun ./app", False),
        ("set -eux\n./prep.sh\nsrun ./app | tee log", False),
        ("./prep.sh\nsrun ./app | tee log", True),
        ("set -e\n./prep.sh || ./other.sh\nsrun ./app", True),
        ("set -e\n./prep.sh && ./other.sh\nsrun ./app", True),
        ("set +e\n./prep.sh\nset -e\nsrun ./app", True),
        ("set -e\n./prep.sh\nset +e\nsrun ./app", False),
        ("./prep.sh || exit 1\nsrun ./app", False),
        ("./prep.sh || true\nsrun ./app", False),
        ("srun ./app\n./clean.sh", False),
    ],
)
def test_steps_that_fail_are_said_to_end_the_job(lines: str, is_said: bool) -> None:
    _, said = _of(lines)
    assert ("the script went on where one of them failed" in said) is is_said


@pytest.mark.parametrize(
    ("lines", "is_said"),
    [
        ("srun ./app || exit 5\n./note.sh", True),
        ("srun ./app\nrc=$?\nif [ $rc -ne 0 ]; then exit $rc; fi\n./note.sh", True),
        ("set -e\nsrun ./app\n./note.sh", True),
        ("srun ./app\n./note.sh", False),
    ],
)
def test_what_follows_a_run_that_did_well_is_said_to_be_done_in_any_case(lines: str, is_said: bool) -> None:
    job, said = _of(lines)
    assert len(job["after"]) == 1
    assert ("replaced steps behind a run that failed: the script came there only" in said) is is_said


@pytest.mark.parametrize("test", ["[ $D = 1 ] && set -- c", "if [ -f x ]; then shift; fi"])
def test_arguments_that_are_perhaps_others_are_asked_for(test: str) -> None:
    job, said = _of(f'set -- a b\n{test}\nsrun ./app "$@"')
    assert job["command"] == script_cases.ASK
    assert "nobody gave it any" not in said


@pytest.mark.parametrize("front", ["A=8", "env A=8", "env B=1 env A=8", "env -u A A=8"])
def test_what_stands_in_front_of_a_step_alone_is_its_own(front: str) -> None:
    job, _ = _of(f"{front} srun -n1 ./prep a\nsrun ./app\n")
    assert "export A=8" in str(job["setup"])
