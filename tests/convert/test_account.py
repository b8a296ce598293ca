"""Every statement of a launcher is named by a finding, and each file."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpclaunch.convert import conversion, sources
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell import walk
from hpclaunch.values.conversion import Place
from hpclaunch.values.errors import InputError

SCRIPTS = Path(__file__).parent / "scripts"
FILES = sorted(each for each in SCRIPTS.rglob("*") if each.suffix in (".sub", ".sh", ".slurm", ".sbatch"))
LAUNCHERS = [each for each in FILES if "bind_cpu_cores" not in each.read_text(encoding="utf-8")]
# A text of nothing but lists of cores is no launcher.
LINES = [
    line
    for each in FILES
    for line in each.read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.strip().startswith("bind_")
]


def missing(texts: dict[str, str]) -> list[str]:
    """Statements of which no finding has a line."""
    found = conversion.convert(classified(texts), Options({}))
    named = {
        (place.file, line)
        for each in found.findings
        for place in each.places
        for line in range(place.line, max(place.last, place.line) + 1)
    }
    reading = sources.read(classified(texts), {}, Draft())
    return [
        f"{each.place}: {each.written}"
        for each in reading.statements
        if not any(
            (each.place.file, line) in named
            for line in range(each.place.line, max(each.place.last, each.place.line) + 1)
        )
    ]


@pytest.mark.parametrize("file", LAUNCHERS, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_nothing_of_a_launcher_vanishes(file: Path) -> None:
    assert missing({file.name: file.read_text(encoding="utf-8")}) == []


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=30))
def test_nothing_of_any_lines_vanishes(lines: list[str]) -> None:
    text = "#!/bin/bash\n" + "\n".join(lines) + "\n"
    found = None
    with contextlib.suppress(InputError):
        found = missing({"run.sub": text})
    if found is None:
        # Refused as a whole, and not for nothing: bash takes it no more than this command does.
        assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).returncode
    else:
        assert found == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('eval "$(make_settings)"', "unread"),
        ("eval $SETUP", "unread"),
        ("umask 002", "left"),
        ('eval "export A=1"', "carried"),
        ("sleep 5", "without effect"),
        ("cat > run.sh <<< 'python t.py'", "left"),
        ('echo "export A=1" >> env.sh', "left"),
        ("echo starting >&2", "without effect"),
        ("echo a > /dev/null", "without effect"),
        ('echo a > "/dev/null"', "without effect"),
        ("echo a 2> errors.txt", "without effect"),
        ('echo "a > b"', "without effect"),
        ("echo a &>> env.sh", "left"),
        (": > hostfile", "left"),
        ("> hostfile", "left"),
        ("[ -f hosts ]", "carried"),
        ("STAMP=`date +'%y %m'`", "without effect"),
        ("export $(cat settings)", "left"),
        ("declare -x A", "without effect"),
        ("umask -S", "without effect"),
        ("exec > log.txt", "without effect"),
        ("lscpu", "without effect"),
        ("lscpu > cores.txt", "left"),
        ("grep cores limits.txt", "left"),
        ("rmdir /scratch/old || true", "carried"),
        ("command umask 002", "left"),
        ("env", "without effect"),
        ("env A=1 date", "without effect"),
        ("env A=1 frobnicate", "left"),
        ("nohup frobnicate &", "left"),
        ("/opt/bin/frobnicate", "left"),
        ("trap 'echo ended' EXIT", "without effect"),
    ],
)
def test_what_changes_the_ranks_surroundings_is_not_called_plumbing(line: str, kind: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N2\n{line}\nsrun --container-image=a/b:1 python t.py\n"
    found = conversion.convert(classified({"run.sub": text}), Options({})).findings
    assert {each.kind for each in found if Place("run.sub", 3) in each.places} == {kind}


@pytest.mark.parametrize(("body", "does"), [("frobnicate $i", True), ("echo $i", False)])
def test_a_loop_whose_rounds_do_something_is_not_called_plumbing(body: str, does: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N2\nfor i in 1 2; do\n{body}\ndone\nsrun python t.py\n"
    found = conversion.convert(classified({"run.sub": text}), Options({})).findings
    (loop,) = (each for each in found if "for i" in each.what)
    assert (loop.kind == "carried", loop.kind == "without effect") == (does, not does)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("sbatch next.sub", "it submits another job"),
        ("env A=1 sbatch next.sub", "it submits another job"),
        ("SB=sbatch; $SB next.sub", "it submits another job"),
        ("command scontrol requeue 1", "puts the job itself back"),
        ("trap 'scontrol requeue $SLURM_JOB_ID' USR1", "puts the job itself back"),
        ("trap 'echo ended\nkill 0' USR1", ""),
        ("scontrol show job 1", "not part of what is launched"),
    ],
)
def test_what_starts_or_ends_jobs_is_told_whatever_stands_in_front_of_it(line: str, why: str) -> None:
    lefts = [each for kind, each in _told(f"{line}\n{_RUN} python t.py", 3) if kind == "left"]
    assert len(lefts) == bool(why)
    assert all(why in each for each in lefts)


def _told(text: str, line: int, env: dict[str, str] | None = None, **more: str) -> list[tuple[str, str]]:
    """Kind and text of each finding of a line, defects apart."""
    files = {"run.sub": f"#!/bin/bash\n#SBATCH -N2 --gpus-per-node=8 -t 5\n{text}\n", **more}
    found = conversion.convert(classified(files), Options(env or {})).findings
    assert "hunter2" not in repr(found)
    rows = [each for each in found if Place("run.sub", line) in each.places and each.kind != "defect"]
    return [(each.kind, each.why) for each in rows]


_RUN = "srun --mpi=none --ntasks-per-node=8 --container-image=a/b:1"


@pytest.mark.parametrize(
    "line",
    [
        "mysql -phunter2 -e 'select 1'",
        "mysql --password=hunter2 db",
        "ssh h docker login -u me -p hunter2 reg",
        "echo hunter2 | sudo -S sysctl -w vm.x=3",
        "srun docker login -u me -p hunter2 reg",
    ],
)
def test_a_line_with_a_defect_is_not_carried_by_that(line: str) -> None:
    assert {kind for kind, _ in _told(f"{line}\n{_RUN} python t.py", 3)} == {"left"}


@pytest.mark.parametrize(
    ("text", "line", "kind", "why"),
    [
        (
            'if [ "${T:-0}" = 1 ]; then\nsrun ./all_reduce_perf\nfi',
            4,
            "without effect",
            "does not come to it",
        ),
        ("if [ 4 -lt 2 ]; then\nA=1\nfi\nsrun ./prepare $A", 4, "without effect", "does not come to it"),
        ("if [ 4 -gt 2 ]; then\nA=1\nfi\nsrun ./prepare $A", 4, "carried", ""),
        ("if [ 4 -lt 2 ]; then\nexport A=1\nfi", 4, "without effect", "does not come to it"),
        ("f() {\nA=1\n}\nsrun ./prepare $A", 4, "carried", "have their values"),
        ("check() {\nsrun ./all_reduce_perf\n}", 4, "left", "not part of what is launched"),
        ("OS=$(srun -N1 -n1 cat /etc/os-release)\nexport OS", 4, "left", "hands the variable on"),
        ("scontrol show hostnames > hosts.txt", 3, "replaced", "knows the hosts"),
        ("scontrol show job", 3, "left", "not part of what is launched"),
    ],
)
def test_what_a_line_does_to_the_launch_is_told_as_it_is(text: str, line: int, kind: str, why: str) -> None:
    assert any(kind == each[0] and why in each[1] for each in _told(f"{text}\n{_RUN} python t.py", line))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("sort logs/*.log | tee all.log", "left"),
        ("cat logs/* | sort -u | tee all.log", "left"),
        ("srun -N1 -n1 ./report | sort | tee report.log", "replaced"),
    ],
)
def test_tee_keeps_the_output_of_a_step_or_makes_a_file_of_others(line: str, kind: str) -> None:
    assert kind in {each for each, _ in _told(f"{_RUN} python t.py\n{line}", 4)}


@pytest.mark.parametrize("log", ["meshcut.log", "logs/cut.txt"])
def test_a_command_whose_log_has_its_name_is_told_itself(log: str) -> None:
    told = _told(f"meshcut --parts 8 | tee {log}\n{_RUN} ./t", 3)
    assert [kind for kind, _ in told] == ["replaced", "left"]


def test_a_limit_that_mpirun_has_is_none_of_its_daemons() -> None:
    told = _told("mpirun --timeout 100 -np 16 ./t", 3)
    assert [kind for kind, why in told if "ends the ranks after so many seconds" in why] == ["left"]


def test_an_export_by_itself_is_used_where_the_variable_is() -> None:
    lines = 'A="x y"\nexport A B\nB=$(make_it)\nexport C\n'
    text = f"{lines}{_RUN} sh -c './t $A $B'"
    assert [kind for kind, _ in _told(text, 4)] == ["carried"]
    assert [kind for kind, _ in _told(f"{lines}{_RUN} --export=NONE sh -c ./t", 4)] == ["without effect"]
    lines = "MASTER_ADDR=$(scontrol show hostnames | head -n 1)\nexport MASTER_ADDR\n"
    assert [kind for kind, _ in _told(f"{lines}{_RUN} ./t", 4)] == ["carried"]


def test_what_mpirun_hands_on_is_not_kept_from_the_ranks() -> None:
    text = "export A=1 B=2\nmpirun -np 16 -x A ./t"
    found = conversion.convert(
        classified({"run.sub": f"#!/bin/bash\n#SBATCH -N2 --gpus-per-node=8 -t 5 --export=NONE\n{text}\n"}),
        Options({}),
    ).findings
    assert [each.what for each in found if "keeps it from the ranks" in each.why] == ["B"]


@pytest.mark.parametrize(("line", "kind"), [("source config_$S.sh", "carried"), ("# $S", "without effect")])
def test_a_variable_of_the_operator_is_used_where_a_line_names_it(line: str, kind: str) -> None:
    run = "srun docker run --gpus 8 a/b:1 ./t"
    files = {"run.sub": f"#!/bin/bash\n#SBATCH -N2 --gpus-per-node=8 -t 5\n{line}\n{run}\n"}
    files["config_X.sh"] = "A=1\n"
    found = conversion.convert(classified(files), Options({"S": "X"})).findings
    assert {each.kind for each in found if Place("--env S") in each.places} == {kind}


def test_what_stands_on_a_line_with_others_is_told_too() -> None:
    run = "srun --mpi=none --container-image=a/b:1 python t.py"
    text = f"#!/bin/bash\n#SBATCH -N2\nfrobnicate now; {run}; sbatch next.sub\n"
    found = conversion.convert(classified({"run.sub": text}), Options({})).findings
    left = " ".join(each.what for each in found if each.kind == "left")
    assert "frobnicate now" in left
    assert "sbatch next.sub" in left
    assert "srun" not in left


@pytest.mark.parametrize(
    "call",
    [
        "f python t.py",
        "A=1 f python t.py",
        "A='x y' B=\"$Z\" f python t.py",
        '"f" python t.py',
        "f python t.py || exit 1",
        "if ! f python t.py; then exit 1; fi",
        "time f python t.py",
        "{ f python t.py; } 2>&1 | tee log",
    ],
)
@pytest.mark.parametrize("head", ["f() {", "function f {", "function f()\n{"])
def test_the_call_of_a_function_that_launches_is_not_left(call: str, head: str) -> None:
    run = 'srun --mpi=none --container-image=a/b:1 "$@"'
    text = f"#!/bin/bash\n#SBATCH -N2\n{head}\n  {run}\n}}\n{call}\n"
    conversion_ = conversion.convert(classified({"run.sub": text}), Options({}))
    # Ranks have the variables in front of the call: one that nobody gave is set where they start.
    command = "'export B=\"$Z\"; exec python t.py'" if "$Z" in call else "[python, t.py]"
    assert f"command: {command}" in conversion_.job
    line = text.count("\n")
    told = [each for each in conversion_.findings if Place("run.sub", line) in each.places]
    assert {"left", "unread"}.isdisjoint(each.kind for each in told)
    assert any(each.kind == "carried" and (each.what.startswith("a call: ") or each.key) for each in told)
    unused = [each for each in told if each.kind == "without effect" and "python t.py" in each.what]
    assert unused == []


@pytest.mark.parametrize("line", ["A=1 frobnicate now", "frobnicate now"])
def test_a_command_with_variables_of_its_own_is_left_as_any_other(line: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N2\n{line}\nsrun --container-image=a/b:1 python t.py\n"
    found = conversion.convert(classified({"run.sub": text}), Options({})).findings
    assert {each.kind for each in found if Place("run.sub", 3) in each.places} == {"left"}


def test_what_is_known_by_no_statement_list_is_a_statement_all_the_same() -> None:
    """The account is as good as the list of statements: each line that does something is in it."""
    text = "#!/bin/bash\nset -e\nexport A=1\nif x; then\n  y | z\nfi\nf() {\n  g\n}\nf\nh <<E\nt\nE\n"
    reading = walk.read([Source("run.sub", text)], {})
    starts = {each.place.line for each in reading.statements}
    assert {2, 3, 4, 5, 8, 10, 11} <= starts
    assert not starts & {1, 6, 9}


def test_a_file_that_is_missing_is_named_by_its_name() -> None:
    script = (
        "#!/bin/bash\n#SBATCH -N 1 --gres=gpu:2 -t 5\n"
        'GLOBAL=$((4 * 8))\nof() { echo "$(dirname "$0")/rates_${1}.sh"; }\n'
        "if [ -f $(of $GLOBAL) ]; then\n  source $(of $GLOBAL)\nfi\n. ./all.sh\nsrun --mpi=none ./x\n"
    )
    found = conversion.convert(classified({"run.sub": script}), Options({}))
    said = {place.line: each.why for each in found.findings for place in each.places if each.kind == "left"}
    assert (said[6], said[8]) == ("rates_32.sh was not given", "this file was not given")


def test_what_decides_a_value_that_is_used_is_used() -> None:
    lines = (
        'CKPT="$5"\nONE=1\nif [[ $CKPT == *llama* ]]; then KIND=a; else KIND=b; fi\n'
        "LIST=1,2\nUNUSED=3\nfor e in ${LIST//,/ }; do\nsrun --mpi=none ./t $KIND $e\ndone\n"
    )
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n{lines}"
    found = conversion.convert(classified({"run.sub": text}), Options({}))
    unused = [each for each in found.findings if each.why == "nothing that is launched uses it"]
    assert [place.line for each in unused for place in each.places] == [4, 7]


def test_what_a_loop_gives_to_the_run_round_by_round_is_used() -> None:
    text = 'WAYS=(red blue)\nfor way in "${WAYS[@]}"; do\nALL+=(--$way)\ndone\n' + f'{_RUN} ./t "${{ALL[@]}}"'
    assert [kind for line in (3, 4) for kind, _ in _told(text, line)] == ["carried", "carried"]


@pytest.mark.parametrize("begin", ["sbatch <<EOF", "cat > job.sh <<EOF"])
def test_lines_of_a_script_that_is_submitted_in_this_one_are_told(begin):
    inner = "#!/bin/bash\n#SBATCH -N 2 -n 16\nA=1\nsrun --mpi=none ./a\nfrobnicate --all\necho 1 > code\nB=2"
    end = "" if begin.startswith("sbatch") else "sbatch job.sh\n"
    text = f"#!/bin/bash\nwget x\n{begin}\n{inner}\nEOF\n{end}"
    found = conversion.convert(classified({"run.sh": text}), Options({}))
    told = {place.line: each.kind for each in found.findings for place in each.places}
    numbers = {line: number for number, line in enumerate(text.splitlines(), 1)}
    kinds = {line: told.get(numbers[line]) for line in ("A=1", "frobnicate --all", "echo 1 > code", "B=2")}
    assert kinds == {
        "A=1": "without effect",
        "frobnicate --all": "left",
        "echo 1 > code": "left",
        "B=2": "without effect",
    }


@pytest.mark.parametrize("program", ["quick-activate", "./prep-it.sh", "/opt/x/y-z", "frobnicate"])
@pytest.mark.parametrize("before", ["source /opt/start.sh && ", "module load a; ", "export A=1; "])
def test_a_command_beside_one_that_is_told_is_told_too(before: str, program: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 -n 16 -t 60\n{before}{program} /opt/envs/wind\nsrun --mpi=none ./t\n"
    found = conversion.convert(classified({"run.sub": text}), Options({}))
    assert [each.kind for each in found.findings if program in each.what] in (["left"], ["carried"])


@pytest.mark.parametrize(("run", "kind"), [("ch-run ./box -- python t.py", "unread"), ("./t", "carried")])
def test_what_is_exported_has_an_effect_on_a_run_that_is_not_read(run: str, kind: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 -t 60 --gpus-per-node=1\nexport FAST=1\nB=2\nsrun {run}\n"
    found = conversion.convert(classified({"run.sub": text}), Options({}))
    assert [each.kind for each in found.findings if "FAST" in each.what] == [kind]
    assert [each.kind for each in found.findings if each.what == "B=2"] == ["without effect"]


def test_a_launcher_of_another_branch_is_said_to_start_ranks() -> None:
    either = (
        "if [[ $MODE == one ]]; then\ntorchrun --nproc_per_node 8 one.py\nelse\n{}fi\ntorchrun --version\n"
    )
    run = "srun --mpi=none --ntasks-per-node=8 --container-image=a/b:1 python two.py\n"
    text = f"#!/bin/bash\n#SBATCH -N 2 -t 60 --gpus-per-node=8\n{either.format(run)}"
    found = conversion.convert(classified({"run.sub": text}), Options({}))
    (its,) = [each for each in found.findings if "one.py" in each.what and each.kind == "left"]
    assert "starts ranks of its own" in its.why
    assert "--version" not in its.what


@pytest.mark.parametrize(
    ("line", "feeds"),
    [
        ("cat part* | gunzip -c > whole", True),
        ("cat part* |\n  gunzip -c > whole", True),
        ('echo -e "$JOBS" | xargs -P 4 -n 1 ./prepare', True),
        ("date | sed s/a/b/ > when", True),
        ("squeue | tail -n 2", False),
        ("cat list | grep x", False),
        ("A=$(echo x y | awk '{print $1}')", False),
        ("cat list | while read each; do echo $each; done", False),
    ],
)
def test_what_says_something_to_a_command_that_is_not_carried_over_is_told_with_it(line, feeds):
    text = f"#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=1 -t 5\n{line}\npython t.py\n"
    found = conversion.convert(classified({"run.sub": text}), Options({})).findings
    said = [each for each in found if each.kind == "without effect" and line.split()[0] in each.what]
    left = [each for each in found if each.kind == "left" and line.split()[0] in each.what]
    assert (bool(left), bool(said)) == (feeds, not feeds)


@pytest.mark.parametrize(("used", "is_without"), [("$bowls", False), ("7", True)])
def test_a_read_that_the_run_depends_on_is_not_said_to_be_without_effect(used: str, is_without: bool) -> None:
    text = f"#!/bin/bash\nread -r trays bowls < list.txt\nmpirun -np 2 ./knead {used}\n"
    found = conversion.convert(classified({"go.sh": text}), Options({}))
    of_read = [each.kind for each in found.findings if 2 in [place.line for place in each.places]]
    assert (of_read == ["without effect"]) == is_without


def test_a_list_that_becomes_the_arguments_is_used_where_they_are() -> None:
    lines = 'KEPT=()\nfor each in "$@"; do\n  KEPT+=("$each")\ndone\nset -- "${KEPT[@]}"\n'
    for line in (3, 5):
        assert [kind for kind, _ in _told(f"{lines}{_RUN} $@", line)] == ["carried"]
        assert [kind for kind, _ in _told(f"{lines}{_RUN} ./t", line)] == ["without effect"]
