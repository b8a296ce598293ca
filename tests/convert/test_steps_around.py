"""What a script does before its run, after it, and where it fails: what of the job each becomes."""

import os
import shlex
import subprocess

import pytest
import script_cases
from step_cases import SRUN, left, of, runs, text_of

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


@pytest.mark.parametrize(
    "lines",
    [
        (f"{SRUN} ./a || {SRUN} ./b",),
        (f"{SRUN} ./a || {{ echo fallback; {SRUN} ./b; }}",),
        (f"{SRUN} ./a", f"if [ $? -ne 0 ]; then {SRUN} ./b; fi"),
        (f"{SRUN} ./a", f"if [[ $? != 0 ]]; then {SRUN} ./b; fi"),
        (f"{SRUN} ./a", "rc=$?", f"if [ $rc -ne 0 ]; then {SRUN} ./b; fi"),
        (f"if ! {SRUN} ./a; then {SRUN} ./b; fi",),
    ],
)
def test_what_runs_where_the_run_failed_is_left(lines):
    job, found = of(*lines)
    assert text_of(job["command"]) == "./a"
    assert not {"setup", "after"} & set(job)
    assert "./b" in left(found, len(lines))


def test_a_run_by_mpirun_has_its_fallback_left():
    job, _ = of("mpirun ./a || mpirun ./b")
    assert text_of(job["command"]) == "./a"
    assert "setup" not in job


@pytest.mark.parametrize(
    "lines",
    [
        (f"if ! {SRUN} ./check; then", "  echo bad; exit 1", "fi", f"{SRUN} ./train"),
        (f"if {SRUN} ./check; then {SRUN} ./train; else {SRUN} ./other; fi",),
        (f"if {SRUN} ./check; then {SRUN} ./train; fi",),
        (f"{SRUN} ./check && {SRUN} ./train",),
    ],
)
def test_a_check_that_the_run_depends_on_is_required(lines):
    job, _ = of(*lines)
    assert text_of(job["command"]) == "./train"
    assert [text_of(each["run"]) for each in job["setup"]] == ["./check"]
    assert "optional" not in job["setup"][0]


def test_a_check_whose_failure_is_only_printed_is_optional():
    job, _ = of(f"if ! {SRUN} ./check; then echo bad; fi", f"{SRUN} ./train")
    assert job["setup"][0]["optional"] == "true"


@pytest.mark.parametrize(("then", "keeps"), [("exit 3", False), ("echo bad", True)])
def test_trials_end_at_a_failure_where_the_script_does(then, keeps):
    job, _ = of("for i in 1 2 3; do", f"  if ! {SRUN} ./train $i; then {then}; fi", "done")
    assert job["trials"]["count"] == "3"
    assert ("keep_going" in job["trials"]) is keeps


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("srun --mpi=pmix --container-image=a/b:prep ./prep", "a/b:prep"),
        (f"{SRUN} --container-mounts=/raw:/raw ./prep", "/raw:/raw"),
        (f"{SRUN} --container-workdir=/p ./prep", "/p"),
        (f"{SRUN} --export=ALL,MODE=prep ./prep", "--export"),
        (f'MODE="$(pick)" {SRUN} ./prep', "MODE is $(pick)"),
        (f"API_TOKEN=x {SRUN} ./prep", "API_TOKEN is another one"),
        (f"{SRUN} -N 1 -n 8 ./prep", "1 of the 2 nodes"),
        (f"{SRUN} -w node01 ./prep", "node01"),
        ("srun --mpi=pmi2 --container-image=a/b:c ./prep", "--mpi is pmi2"),
        (f"{SRUN} --ntasks-per-node=1 ./prep", "--mpi=pmix"),
    ],
)
def test_a_step_with_settings_of_its_own_is_left(step, why):
    for number, lines in ((1, (step, f"{SRUN} ./train.py")), (2, (f"{SRUN} ./train.py", step))):
        job, found = of(*lines)
        assert text_of(job["command"]) == "./train.py"
        assert not {"setup", "after"} & set(job)
        assert why in left(found, number)


def test_a_step_with_the_runs_settings_or_fewer_is_carried():
    for step in ("/opt/prep --to /d", "python /w/prep.py"):
        job, found = of(
            f"{SRUN} {step}", f"{SRUN} --container-mounts=/d:/d --container-workdir=/w ./train.py"
        )
        assert runs(job, "setup") == [step]
        assert not left(found, 1)


@pytest.mark.parametrize(
    "step",
    ["./prep", "python prep.py", "python -m prep", "python -c 'import prep'", "bash -c 'cat data/x > /d/x'"],
)
def test_a_step_that_leaves_its_folder_for_the_runs_is_told(step):
    job, found = of(f"{SRUN} {step}", f"{SRUN} --container-workdir=/w ./train.py")
    assert job["workdir"] == "/w"
    assert "image's own folder" in left(found, 1)


@pytest.mark.parametrize(
    "option", ["--time=5", "--cpu-bind=none", "--container-remap-root", "--output=x.log"]
)
def test_options_that_a_step_loses_are_told(option):
    job, found = of(f"{SRUN} {option} ./prep", f"{SRUN} ./train.py")
    assert runs(job, "setup") == ["./prep"]
    assert option in left(found, 1)
    _, found = of(f"{SRUN} {option} ./prep", f"{SRUN} {option} ./train.py")
    assert option not in left(found, 1)


@pytest.mark.parametrize(("first", "asked"), [("train.py", True), ("eval.py", False), ("/opt/prep", False)])
def test_which_of_two_commands_that_look_alike_is_the_run_is_asked(first, asked):
    job, found = of(f"{SRUN} python {first}", f"{SRUN} python eval.py")
    assert text_of(job["command"]) == "python eval.py"
    said = [each.why for each in found.findings if "is the job's run" in each.why]
    assert len(said) == asked


def test_a_case_that_is_not_told_does_not_choose_the_run():
    lines = ('case "$1" in', f"  train) {SRUN} ./train ;;", f"  eval) {SRUN} ./eval ;;", "esac")
    job, _ = of(*lines)
    assert job["command"] == script_cases.ASK


def test_an_end_of_the_script_before_the_run_is_told():
    job, found = of("if [ -f /data/done ]; then exit 0; fi", f"{SRUN} ./train")
    assert text_of(job["command"]) == "./train"
    assert "/data/done" in left(found, 1)


@pytest.mark.parametrize(("number", "ranks"), [(8, script_cases.ASK), (16, "8")])
def test_ranks_that_a_variable_of_slurms_counts_are_asked_for(number, ranks):
    job, _ = of(f"export SLURM_NTASKS={number}", f"{SRUN} ./train")
    assert job["ranks_per_node"] == ranks


def test_a_variable_that_only_arrays_have_is_not_taken_for_set():
    lines = ("M=/a", 'if [ -n "$SLURM_ARRAY_TASK_ID" ]; then M=/b; fi', f"{SRUN} ./train $M")
    job, _ = of(*lines)
    assert job["env"] == {"M": script_cases.ASK}


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("cd /w && srun --mpi=pmix ./t", "/w"),
        ("W=/w; cd $W; mpirun -np 16 ./t", "/w"),
        ("cd /a; cd /w; mpirun -np 16 ./t", "/w"),
        ("sh -c 'cd /w; mpirun -np 16 ./t'", "/w"),
        ("bash <<'EOF'\ncd /w\nsrun --mpi=pmix ./t\nEOF", "/w"),
        ("cd /a; mpirun -np 16 --wdir /w ./t", "/w"),
        ("mpirun -np 16 ./t; cd /a", None),
        ("cd $SLURM_SUBMIT_DIR && mpirun -np 16 ./t", None),
        ("( cd /w; mpirun -np 16 ./t )", "/w"),
        ("(cd /a; make); mpirun -np 16 ./t", "asked"),
        ("[ -d /w ] && cd /w && mpirun -np 16 ./t", "asked"),
        ('cd "$U/x" && mpirun -np 16 ./t', "asked"),
    ],
)
def test_the_folder_that_a_line_goes_to_before_its_run_is_that_of_the_ranks(line, folder):
    job, found = of(line)
    asked = [each.key for each in found.findings if each.kind == "question"]
    if folder == "asked":
        assert "workdir" in asked
    else:
        assert (asked, job.get("workdir")) == ([], folder)


@pytest.mark.parametrize(
    ("command", "has_none"),
    [
        ("bash -c 'echo on $(hostname) && sync && sudo /sbin/sysctl vm.drop_caches=3'", True),
        ("sh -c 'nvidia-smi -q | grep Fabric'", True),
        ("python -c 'from mllog import log; log.event(key=1)'", True),
        ("python3 -c 'import torch.distributed as d; d.init_process_group()'", False),
        ('python -c "$CODE"', False),
        ("bash -c './check --all'", False),
        ("./alltoall", False),
    ],
)
def test_a_step_on_each_node_that_uses_no_mpi_is_one_whatever_its_option_says(command, has_none):
    """Launchers give --mpi to each srun alike."""
    job, found = of(f"srun --mpi=pmix --ntasks-per-node=1 {command}", f"{SRUN} ./train")
    assert bool(job.get("setup")) == has_none
    assert ("(--mpi=pmix)" in left(found, 1)) == (not has_none)


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("mkdir -p $PWD/out", "mkdir -p ./out"),
        ("mkdir -p $(pwd)/b $SLURM_SUBMIT_DIR/c", "mkdir -p ./b ./c"),
        ("mkdir -p ${PWD}", "mkdir -p ."),
        (
            'srun --ntasks-per-node=1 sh -c "[ -d ${PWD}/x ] || mkdir ${PWD}/x"',
            "sh -c '[ -d ./x ] || mkdir ./x'",
        ),
        ("cd sub; mkdir -p $PWD/out; cd ..", "mkdir -p ./sub/out"),
        ("cd /data; mkdir -p $PWD/out; cd -", "mkdir -p /data/out"),
        ("mkdir -p ${PWD}x", None),
        (f"{SRUN} --ntasks-per-node=1 mkdir -p $PWD/x", None),  # in the image that folder is another one
    ],
)
def test_a_step_of_the_host_has_the_folder_of_submission_where_it_starts(line, run):
    job, found = of(line, f"{SRUN} ./train")
    assert runs(job, "setup") == ([run] if run else [])
    if not run:
        assert "${PWD} is known only where the script runs" in left(found, 1)


@pytest.mark.parametrize("run", [SRUN, "srun --mpi=none"], ids=["image", "host"])
@pytest.mark.parametrize(
    "line",
    [
        "cd sub; touch a",
        "(cd sub; touch a)",
        "touch a; cd sub",
        "cd sub/../other; touch a > b",
        "cd sub; cd - > /dev/null; touch a",
        "pushd sub > /dev/null; touch a; popd > /dev/null",
        "cd sub; touch $PWD/a",
        'cd "$PWD/sub"; cp ../x a',
        "cd sub; srun -n 1 touch a",
        "cd sub; touch a; cd ..",
    ],
)
def test_a_step_runs_where_the_script_has_gone_to(line, run, tmp_path):
    """Both are run: what is there afterwards is compared."""
    starts = 'while [[ $1 == -* ]]; do [[ $1 == -n ]] && shift; shift; done\n"$@"\n'
    (tmp_path / "srun").write_text(f"#!/bin/bash\n{starts}")
    (tmp_path / "srun").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def files(name, text):
        top = tmp_path / name
        for each in ("sub", "other"):
            (top / each).mkdir(parents=True)
        (top / "x").touch()
        subprocess.run(["bash", "-c", text], cwd=top, env=environment, check=True)
        return sorted(str(each.relative_to(top)) for each in top.rglob("*"))

    job, _ = of(line, f"{run} ./train")
    steps = "\n".join(shlex.join(["sh", "-c", text]) for text in runs(job, "setup"))
    assert files("steps", steps) == files("script", line)


def test_a_step_in_a_folder_that_is_not_told_is_left():
    job, found = of("cd $(newest); mkdir -p logs; ./prepare.sh; mkdir -p /data/logs", f"{SRUN} ./train")
    assert runs(job, "setup") == ["mkdir -p /data/logs"]
    assert left(found, 1).count("it runs in a folder that no step is told of ($(newest))") == 2


def test_a_step_in_one_folder_of_the_scripts_or_another_is_left_and_takes_none_of_the_submitters():
    lines = 'TOP=$(newest)\nif [ -d "$SLURM_SUBMIT_DIR/case" ]; then TOP=$SLURM_SUBMIT_DIR; fi\ncd "$TOP"'
    job, found = of(f"{lines}\n./prepare.sh", f"{SRUN} ./train")
    assert not runs(job, "setup")
    assert "TOP" not in job.get("inherit", ())
    assert "it runs in a folder that no step is told of (${TOP})" in left(found, 4)


def test_a_step_behind_a_cd_that_may_not_have_run_is_left():
    job, found = of("cd /data/$USER/run\ncheck && cd case\nsrun --mpi=none ./prepare", f"{SRUN} ./train")
    assert not [text for text in runs(job, "setup") if "prepare" in text]
    said = "it runs in a folder that no step is told of (a cd that may not have run leads there)"
    assert said in left(found, 3)


@pytest.mark.parametrize(
    "command",
    [
        "sudo rm -rf /tmp/x",
        "timeout 60 ./check",
        "env A=1 ./check",
        "nice -n 5 numactl --membind=0 ./check",
        "torchrun --nproc_per_node=8 warm.py",
    ],
)
def test_what_stands_before_the_command_of_a_step_is_kept(command):
    step = f"srun --ntasks-per-node=1 {command}"
    for lines, key in (((step, f"{SRUN} ./train"), "setup"), ((f"{SRUN} ./train", step), "after")):
        job, _ = of(*lines)
        assert text_of(job["command"]) == "./train"
        assert runs(job, key) == [command]


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ('mkdir -p "$OUT"/logs', 'mkdir -p "$OUT"/logs'),
        ("srun --ntasks-per-node=1 ./clean.sh $OUT", "./clean.sh $OUT"),
        ("cd /opt; srun --ntasks-per-node=1 ./clean.sh a", "cd /opt || exit; ./clean.sh a"),
        ("srun --ntasks-per-node=1 echo -e $OUT", "exec echo -e $OUT"),  # dash's own echo has no -e
    ],
)
def test_a_step_needs_no_exec_but_for_what_the_shell_does_otherwise(line, run):
    job, _ = of(f"( {line} )", "srun ./t")
    assert runs(job, "setup") == [run]


@pytest.mark.parametrize("before", ["", "export MASTER_ADDR=$(hostname)"])
@pytest.mark.parametrize(("ends", "said"), [("", 1), (" || true", 0)])
def test_that_caches_which_stay_end_no_job_is_told_where_they_ended_the_script(ends, said, before):
    drop = 'srun -N2 --ntasks-per-node=1 -n2 bash -c "sync && sudo /sbin/sysctl vm.drop_caches=3"'
    job, found = of("set -e", before, f"{drop}{ends}", f"{SRUN} ./train")
    assert job["setup"][0]["optional"] == "true"
    told = [each for each in found.findings if each.kind == "replaced" and "setup.0: optional" in each.became]
    assert len(told) == said


@pytest.mark.parametrize(
    ("lines", "after", "line"),
    [
        (('if [ "$1" != in ]; then', "srun --mpi=none ./t; exit", "fi", "touch /data/a"), [], 6),
        (
            ('case "$1" in t)', "srun --mpi=none ./t; touch /data/a; exit 0;;", "esac", "touch /data/b"),
            ["a"],
            6,
        ),
        (('if [ "$1" = t ]; then', "srun --mpi=none ./t; (exit 3)", "fi", "touch /data/a"), ["a"], 0),
        (('if [ "$1" = t ]; then', "srun --mpi=none ./t || exit 3", "fi", "touch /data/a"), ["a"], 0),
        (("trap 'touch /data/a' EXIT", '[ "$1" = t ] && { srun --mpi=none ./t; exit; }', "true"), ["a"], 0),
    ],
)
def test_what_stands_behind_the_exit_of_the_runs_branch_is_no_step(lines, after, line, tmp_path):
    for program, text in {"srun": f": > {tmp_path}/ran", "touch": f": > {tmp_path}/$1"}.items():
        (tmp_path / program).write_text(f"#!/bin/bash\n{text.replace('$1', '${1#/data/}')}\n")
        (tmp_path / program).chmod(0o700)
    script = "\n".join(lines)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", script, "run.sub", "t"], env=env, check=False, timeout=60)
    assert {each.name for each in tmp_path.iterdir()} == {"srun", "touch", "ran", *after}
    job, found = of(*lines)
    assert runs(job, "after") == [f"touch /data/{each}" for each in after]
    assert ("in line" in left(found, line - 2)) is bool(line)


def test_a_step_on_more_nodes_than_the_run_is_told_with_both_numbers():
    text = "#!/bin/bash\n#SBATCH -N 4 --gpus-per-node=4 -t 60\nsrun -N 4 -n 4 rm -rf /tmp/x\n"
    found = convert(
        classified({"run.sub": f"{text}srun --mpi=none -N 2 --ntasks-per-node=4 ./t\n"}), Options({})
    )
    said = [each.why for each in found.findings if "rm -rf" in each.what]
    assert said == ["it runs on 4 nodes, and a step on those of the run, which are 2"]


def _two_gpus(lines: str) -> Conversion:
    return convert(
        classified({"j.sh": f"#!/bin/bash\n#SBATCH -N 1 --gres=gpu:2 -t 60\n{lines}"}), Options({})
    )


@pytest.mark.parametrize("waits", ["wait", "wait $!", "echo a\nwait"])
def test_steps_that_ran_at_the_same_time_are_said_to_run_one_after_the_other(waits: str) -> None:
    at_once = "CUDA_VISIBLE_DEVICES=0 python a.py &\nCUDA_VISIBLE_DEVICES=1 python b.py &\n"
    found = _two_gpus(f"{at_once}{waits}\npython report.py\n")
    (said,) = [each for each in found.findings if "ran at the same time" in each.what]
    assert (said.became, [each.line for each in said.places]) == ("one after the other", [3, 4])


@pytest.mark.parametrize(
    "lines",
    ["python a.py &\nwait\npython b.py &\nwait\n", "python a.py\npython b.py\n", "python a.py &\nwait\n"],
)
def test_steps_that_ran_one_after_the_other_are_as_they_were(lines: str) -> None:
    found = _two_gpus(f"{lines}python report.py\n")
    assert not [each for each in found.findings if "ran at the same time" in each.what]


@pytest.mark.parametrize(
    "loop", ["for h in $(cat hosts.txt)", "for h in $(seq 1 $((NUM_NODES - 1)))", "for h in $HOSTS"]
)
@pytest.mark.parametrize("command", ["rsync -a /jam/ tub-$h:/jam/", "mkdir -p pots/$h", "cp lid lid.$h"])
def test_what_a_loop_does_for_each_host_by_its_name_is_no_step(loop, command):
    job, found = of(f"{loop}; do", f"  {command}", "  mkdir -p jars", "done", f"{SRUN} ./boil")
    assert runs(job, "setup") == ["mkdir -p jars"]
    assert "inherit" not in job
    assert "another value for each host" in left(found, 2)
