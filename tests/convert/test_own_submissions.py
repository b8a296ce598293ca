"""A script that submits itself: its own sbatch line tells what its job has."""

import subprocess
from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH --gpus-per-node=8 --ntasks-per-node=8\n"
_RUN = "srun --mpi=pmix ./x"
_GUARD = 'if [ -z "$SLURM_JOB_ID" ]; then\n  {}\n  exit\nfi'


def _converted(*lines: str, arguments: tuple[str, ...] | None = None) -> Conversion:
    text = _HEAD + "\n".join(lines) + "\n"
    return convert(classified({"run.sh": text}), Options({}, arguments=arguments))


def _job(*lines: str, arguments: tuple[str, ...] | None = None) -> dict[str, Any]:
    job: dict[str, Any] = loaded(_converted(*lines, arguments=arguments).job)
    return job


@pytest.mark.parametrize(
    "submits",
    [
        _GUARD.format('sbatch -N 4 -t 60 "$0" "$@"'),
        _GUARD.format("sbatch -N 4 -t 60 ./run.sh"),
        _GUARD.format('sbatch -N 4 \\\n    -t 60 "$(readlink -f "$0")"'),
        _GUARD.format("N=4; sbatch -N $N -t 60 ${BASH_SOURCE[0]}"),
        '[[ -v SLURM_JOB_ID ]] || exec sbatch -N 4 -t 60 "$0" "$@"',
        '[ "$SLURM_JOBID" ] || { sbatch -N 4 -t 60 $0; exit 0; }',
    ],
)
def test_the_line_that_submits_the_script_tells_its_job(submits: str) -> None:
    found = _converted(submits, _RUN)
    job = loaded(found.job)
    assert (job["nodes"], job["time"], job["command"]) == ("4", "01:00:00", ["./x"])
    assert all("submits another job" not in each.why for each in found.findings)
    assert all("sbatch" not in each.what for each in found.findings if each.kind in ("left", "unread"))


def test_the_job_has_what_its_submission_gives_it() -> None:
    lines = ('[ -n "$SLURM_JOB_ID" ] || { export A=1; B=2 sbatch -N 4 "$0" fast; exit; }', f"{_RUN} $1")
    for arguments in (None, ("slow",)):
        job = _job(*lines, arguments=arguments)
        assert job["env"] == {"A": "1", "B": "2"}
        assert job["command"] == ["./x", "fast"]


def test_what_the_operator_gave_goes_through_the_submission() -> None:
    lines = ('[ -n "$SLURM_JOB_ID" ] || exec sbatch -N 4 "$0" "$@"', f"{_RUN} $1")
    assert _job(*lines, arguments=("slow",))["command"] == ["./x", "slow"]
    assert _job(*lines)["command"] == ASK


@pytest.mark.parametrize(
    "again",
    [
        "sbatch --dependency=afterany:$SLURM_JOB_ID -N 8 $0",
        "[ -f done ] || sbatch -N 8 $0",
        "if [ -z $SLURM_JOB_ID ]; then sbatch -N 8 other.sh; fi",
    ],
)
def test_another_job_that_a_job_submits_tells_nothing_of_it(again: str) -> None:
    assert "nodes" not in _job(_RUN, again)


def test_a_script_that_another_one_writes_and_submits_has_what_that_exports() -> None:
    """Also what nobody knows before it runs, and what stands in front of sbatch; of the job's own variables
    the shell that submits has none."""
    exports = "export LOGS=/scratch/l_$USER CACHE=/scratch/c_$SLURM_NODEID GONE=/scratch/g_$USER"
    text = (
        f"#!/bin/bash\n{exports}\nA=1 B=/b/$USER sbatch <<EOF\n{_HEAD}#SBATCH -N 2\nunset GONE\n{_RUN}\nEOF\n"
    )
    job = loaded(convert(classified({"run.sh": text}), Options({})).job)
    assert job["env"] == {"A": "1", "CACHE": "/scratch/c_"}
    assert [part for part in job["command"].split("; ") if "export" in part] == [
        'export LOGS=/scratch/l_"$USER"',
        'export B=/b/"$USER"',
    ]


def test_what_the_submitting_shell_puts_into_a_script_is_not_the_ranks_own_variable() -> None:
    text = (
        f"#!/bin/bash\nROOT=$(git rev-parse --show-toplevel)\nsbatch <<EOF\n{_HEAD}#SBATCH -N 2\n"
        "srun --mpi=none bash -c 'cd $ROOT && ./t --data $DATA --rank \\$SLURM_PROCID'\nEOF\n"
    )
    found = convert(classified({"run.sh": text}), Options({}))
    job = loaded(found.job)
    assert list(job["env"].values()) == [ASK]
    (name,) = job["env"]
    assert job["inherit"] == ["DATA"]
    environment = {name: "/r", "DATA": "/d", "SLURM_PROCID": "3"}
    text = job["command"].replace("exec bash", "printf %s")
    words = subprocess.run(["sh", "-c", text], env=environment, capture_output=True, text=True, check=True)
    assert words.stdout.endswith("cd /r && ./t --data /d --rank $SLURM_PROCID")
    assert not [each for each in found.findings if each.kind == "defect"]


def test_each_job_that_a_script_submits_is_told() -> None:
    text = (
        f"#!/bin/bash\nFIRST=$(sbatch --parsable <<EOF\n{_HEAD}#SBATCH -N 2\nsrun ./prepare\nEOF\n)\n"
        f"LAST=$(sbatch -d afterok:$FIRST <<EOF\n{_HEAD}#SBATCH -N 4\n{_RUN}\nEOF\n)\necho $LAST\n"
    )
    found = convert(classified({"run.sh": text}), Options({}))
    assert loaded(found.job)["nodes"] == "4"
    (left,) = [each for each in found.findings if "submits another job" in each.why]
    assert left.places[0].line == 2


def test_what_a_script_submits_behind_its_run_is_no_line_of_its_own_job() -> None:
    lines = [
        "R=$(( $(date +%s) - 180 ))",
        f"timeout $R {_RUN}",
        "if [ $? == 124 ]; then sbatch -N 9 -J next run.sh; fi",
    ]
    job = _job("#SBATCH -N 2 -J this", *lines)
    assert (job["name"], job["nodes"], job["command"]) == ("this", "2", ["./x"])


def test_a_script_that_submits_itself_once_more_has_what_its_own_lines_say() -> None:
    """Also where no srun is its run: what it gives the next job is not its own."""
    lines = (
        "#SBATCH -N 1 -t 120",
        "N=${N:-0}",
        "python train.py --round $N",
        "[ $? -eq 0 ] || sbatch --export=ALL,N=$((N + 1)) -t 10 $0",
    )
    found = _converted(*lines)
    job = loaded(found.job)
    assert (job["time"], job["command"]) == ("02:00:00", ["python", "train.py", "--round", "0"])
    assert "env" not in job
    assert [each for each in found.findings if "submits another job" in each.why]


_WRITTEN = f"cat > one.slurm <<'EOS'\n{_HEAD}#SBATCH -N 1 -t 60\npython sim.py --size $SIZE --dt $DT\n"
_LOOP = "for DT in 60 10 1; do\n  {}\ndone\n"
_SUBMIT = "sbatch --export=ALL,DT=$DT,SIZE=10 one.slurm"


@pytest.mark.parametrize("line", [_SUBMIT, f"ID=$({_SUBMIT} | awk '{{print $NF}}')", f"ID=`{_SUBMIT}`"])
@pytest.mark.parametrize("again", ["", "sbatch --export=ALL,SIZE=20,TRY=1 $0\n"])
def test_a_written_script_has_what_the_line_that_submits_it_exports(line: str, again: str) -> None:
    """A value of a loop around that line is another one in each of the jobs."""
    text = f"#!/bin/bash\n{_WRITTEN}{again}EOS\n{_LOOP.format(line)}"
    found = convert(classified({"run.sh": text}), Options({}))
    job = loaded(found.job)
    assert job["command"] == "exec python sim.py --size 10 --dt $DT"
    assert job["env"] == {"SIZE": "10", "DT": ASK}
    assert [each for each in found.findings if each.what == "a loop of sbatch over 60 10 1"]


def test_every_loop_around_a_submission_is_told() -> None:
    text = (
        "#!/bin/bash\nfor net in wide deep; do\n  for seed in 1 2 3; do\n"
        '    sbatch -N 1 -t 5 --wrap "python fit.py --net $net"\n  done\ndone\n'
    )
    findings = convert(classified({"all.sh": text}), Options({})).findings
    (said,) = (each for each in findings if "of sbatch over" in each.what)
    assert said.what == "loops of sbatch over wide deep, and 1 2 3"
    assert said.todo == "submit it once for each combination of their values, with --set"
    assert [place.line for place in said.places] == [2, 3, 4]
    assert not [each for each in findings if each.what.startswith("a loop: ")]


def test_a_given_script_has_what_another_file_exports_to_it() -> None:
    submits = "#!/bin/bash\nsbatch --export=ALL,SIZE=10 one.slurm\n"
    files = {"submit.sh": submits, "one.slurm": f"{_HEAD}#SBATCH -N 1 -t 60\npython sim.py --size $SIZE\n"}
    job = loaded(convert(classified(files), Options({})).job)
    assert (job["command"], job["env"]) == (["python", "sim.py", "--size", "10"], {"SIZE": "10"})


def test_a_value_that_the_submission_chose_is_not_said_to_be_made_in_the_job() -> None:
    chooses = 'T=60; if [ "$1" = long ]; then T=600; shift; fi; sbatch -N 4 -t $T "$0" "$@"'
    found = _converted(_GUARD.format(chooses), _RUN)
    (asked,) = [each.why for each in found.findings if each.key == "time"]
    assert asked.endswith("which value T has is not told")
    assert _job(_GUARD.format(chooses), _RUN, arguments=("long",))["time"] == "10:00:00"


_INNER = "#!/bin/bash\n#SBATCH -N 2 -t 10\nsrun --mpi=none --ntasks-per-node=8 ./x\n"


def _of_two(text: str, inner: str = _INNER) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"go.sh": f"#!/bin/bash\n{text}\n", "inner.sh": inner}), Options({}))
    return loaded(found.job), found


@pytest.mark.parametrize("starts", ["./inner.sh", "bash inner.sh", "exec ./inner.sh"])
def test_a_script_that_submits_itself_is_the_jobs_and_not_the_one_that_it_starts_there(starts: str) -> None:
    job, found = _of_two(f"{_GUARD.format('sbatch -N 3 -t 60 $0')}\n{starts}")
    assert (job["nodes"], job["time"], job["command"]) == ("3", "01:00:00", ["./x"])
    assert "setup" not in job
    assert all("submits another job" not in each.why for each in found.findings)


@pytest.mark.parametrize("starts", ["./inner.sh", "bash inner.sh", "sh ./inner.sh 1"])
def test_what_starts_the_script_is_no_step_of_its_job(starts: str) -> None:
    job, found = _of_two(f"export A=1\n{starts}\n./after.sh")
    assert (job["nodes"], job["env"], job["command"]) == ("2", {"A": "1"}, ["./x"])
    assert "setup" not in job
    assert [each["run"] for each in job["after"]] == [["./after.sh"]]
    (told,) = [each for each in found.findings if "inner.sh" in each.what and each.places[0].line == 3]
    assert told.why == "it starts the script that the job is made of"
