"""The files that a run's output goes to, and what a script does with them: no step is about a file that the
job does not write."""

import subprocess

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_RUN = "srun --mpi=pmix python train.py"
_LOOP = "for i in {}; do " + _RUN + " |& tee {}; done"


def _of(*lines):
    found = convert(classified({"run.sub": _HEAD + "\n".join(lines) + "\n"}), Options({}))
    return script_cases.loaded(found.job), found


def _left(found, what):
    return " ".join(each.why for each in found.findings if each.kind == "left" and each.what == what)


@pytest.mark.parametrize(
    ("run", "after", "log"),
    [
        (f"{_RUN} > train.log 2>&1", "cp train.log /archive/", "train.log"),
        (f"{_RUN} |& tee ./train.log", "python parse.py --log=train.log", "./train.log"),
        (f"{_RUN} &> logs/train.log", "rsync -a logs/ /archive/", "logs/train.log"),
        (f"{_RUN} > train.log", "grep loss train.log", "train.log"),
        (f"{_RUN} > train.log", "./parse.sh < train.log", "train.log"),
        ("mpirun -np 16 python train.py > out.txt", "cp *.txt /archive/", "out.txt"),
        (f"cd /scratch; {_RUN} > train.log", "cp /scratch/train.log /archive/", "/scratch/train.log"),
    ],
)
def test_a_run_whose_file_is_needed_later_writes_it(run, after, log):
    job, _ = _of(run, after)
    assert job["trials"] == {"count": "1", "seed": "null", "log": log}


@pytest.mark.parametrize("after", ["cp other.log /archive/", "touch train.log.done", "rm -rf /scratch/x"])
def test_a_file_that_nobody_needs_is_in_the_record(after):
    job, _ = _of(f"{_RUN} > train.log", after)
    assert "trials" not in job
    assert len(job["after"]) == 1


@pytest.mark.parametrize(
    ("lines", "step"),
    [
        ((f"{_RUN} >> all.log",), "cp all.log /archive/"),
        ((f"{_RUN} > train_$(date +%s).log",), "cp train_*.log /archive/"),
        ((f"{_RUN} 2> err.log",), "cp err.log /archive/"),
        ((f"{_RUN} | grep loss > loss.txt",), "cp loss.txt /archive/"),
        ((_LOOP.format("1 2 3", "-a all.log"),), "cp all.log /archive/"),
        (("#SBATCH -o logs/%x_%j.out", _RUN), "mv logs/train_${SLURM_JOB_ID}.out /archive/"),
        ((_RUN,), "mv slurm-$SLURM_JOB_ID.out /archive/"),
        (("srun --mpi=pmix -o out_%t.log ./train",), "cp out_0.log /archive/"),
        ((_RUN, "grep loss x.txt > loss.txt"), "cp loss.txt /archive/"),
        (("echo $HOSTNAME > where", _RUN), "cp where /archive/"),
    ],
)
def test_a_step_is_left_whose_file_nothing_in_the_job_writes(lines, step):
    job, found = _of(*lines, step)
    assert "after" not in job
    assert "it is about" in _left(found, step)


def test_a_step_that_writes_what_another_needs_is_there_for_it():
    job, _ = _of(
        "mytool > x", "cp /data/x x", _RUN, "cp x /archive/", "./sum.sh > s.txt", "cp s.txt /archive/"
    )
    assert [each["run"] for each in job["after"]] == [
        ["cp", "x", "/archive/"],
        "./sum.sh > s.txt",
        ["cp", "s.txt", "/archive/"],
    ]


def test_the_log_of_a_trial_is_in_the_folder_that_the_script_was_in():
    job, _ = _of("cd /scratch", _LOOP.format("1 2 3", "log_$i.txt"), "cp log_2.txt /archive/")
    assert job["trials"]["log"] == "/scratch/log_{trial}.txt"
    assert [each["run"] for each in job["after"]] == ["cd /scratch || exit; cp log_2.txt /archive/"]


@pytest.mark.parametrize(("over", "first"), [("{0..2}", "0"), ("$(seq 5 7)", "5"), ("10 20 30", "10")])
def test_that_logs_have_other_numbers_is_told(over, first):
    job, found = _of(_LOOP.format(over, "log_$i.txt"), f"cp log_{first}.txt /archive/")
    assert "after" not in job
    told = [
        each for each in found.findings if each.kind == "replaced" and each.became.startswith("trials.log")
    ]
    assert [f"began with {first}" in each.why for each in told] == [True]
    assert "number is that of the trial" in _left(found, f"cp log_{first}.txt /archive/")


def test_a_file_that_all_ranks_of_a_step_write_is_begun_once(tmp_path):
    job, found = _of(
        "srun hostname > nodes.txt",
        "srun -N1 -n1 ./one > one.txt",
        "srun --mpi=pmix ./sim >> sim.txt",
        "srun --mpi=pmix ./a nodes.txt",
    )
    assert [(each["run"], each["per"]) for each in job["setup"]] == [
        (": > nodes.txt", "job"),
        ("hostname >> nodes.txt", "rank"),
        ("./one > one.txt", "job"),
        ("./sim >> sim.txt", "rank"),
    ]
    (tmp_path / "nodes.txt").write_text("of another run\n")
    for text in (job["setup"][0]["run"], *[job["setup"][1]["run"]] * 3):
        subprocess.run(["bash", "-c", text], cwd=tmp_path, check=True, timeout=60)
    assert len(set((tmp_path / "nodes.txt").read_text().splitlines())) == 1
    assert (tmp_path / "nodes.txt").read_text().count("\n") == 3
    assert not [each for each in found.findings if each.kind == "left"]


def test_one_rank_begins_its_file_itself():
    text = "#!/bin/bash\n#SBATCH -N 1 -n 1 -t 5\nsrun --mpi=none ./sim > s.txt\nsrun --mpi=none ./sum s.txt\n"
    job = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)
    assert [each["run"] for each in job["setup"]] == ["./sim > s.txt"]
