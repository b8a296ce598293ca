"""Scripts that prepare data: where none of several commands is clearly the run, which it is is asked."""

from typing import Any

import pytest
import script_cases
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=4 --gpus-per-node=4\n"
_PYXIS = "srun --container-image=reg.example/a:1"
_BOX = "docker run -d --name=box reg.example/a:1 sleep infinity\n"


def converted(text: str) -> Conversion:
    return convert(classified({"job.sub": _HEAD + text}), Options({}))


@pytest.mark.parametrize(
    ("lines", "candidates"),
    [
        (["srun -n1 python download.py", "srun -n1 python -u tools/preprocess.py --all"], (0, 1)),
        ([f"{_PYXIS} python fetch_data.py", f"{_PYXIS} ./tokenize.sh in out"], (0, 1)),
        (["python download.py", "python -m tools.merge_shards a b"], (0, 1)),
        ([f"{_BOX}docker exec box python get.py", "docker exec box python build_dataset.py"], (0, 1)),
        (["srun python train.py", "srun python convert_checkpoint.py"], (0, 1)),
        (["srun python fetch.py", "srun ./unpack.sh", "srun python split_set.py"], (0, 1, 2)),
    ],
)
def test_each_command_that_may_be_the_run_is_named(lines: list[str], candidates: tuple[int, ...]) -> None:
    found = converted("\n".join(lines))
    (asked,) = [each for each in found.findings if each.key == "command" and each.kind == "question"]
    for each in candidates:
        assert lines[each].split()[-1] in asked.why
    assert not found.is_complete
    assert len(asked.places) == len(candidates)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("srun -n1 python download.py\nsrun python train.py", "python, train.py"),
        ("srun -n1 ./prepare.sh\nsrun ./prepare_and_train.sh", "./prepare_and_train.sh"),
        ("srun python preprocess.py --all", "python, preprocess.py, --all"),
        ("mkdir -p out\npython preprocess.py", "python, preprocess.py"),
        ("srun -n1 python download.py\nsrun python serve.py", "python, serve.py"),
        ("python clean.py\ntorchrun --nproc_per_node=4 convert.py", "python, -u, convert.py"),
    ],
)
def test_nobody_is_asked_where_it_is_clear(text: str, command: str) -> None:
    job = converted(text).job
    assert f"command: [{command}]" in job.replace('"', "")


@pytest.mark.parametrize(
    "program", ["sudo sh -c 'sync; echo 3 > /proc/sys/vm/drop_caches'", "./drop_caches.sh"]
)
def test_an_mpirun_that_drops_caches_is_never_the_run(program: str) -> None:
    before = f"mpirun -np 4 {program}\n"
    found = converted(before + "eval $TRAIN\n")
    assert "command" in [each.key for each in found.findings if each.kind == "question"]
    beside = converted(before + "mpirun -np 4 python train.py\n")
    assert "command: [python, train.py]" in beside.job


def test_a_script_that_starts_preparations_alone_has_their_container() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\n"
    run = "srun --container-image=a/b:1 --container-mounts=/d:/e mkdir -p /e/x\n"
    job = script_cases.loaded(convert(classified({"run.sub": head + run}), Options({})).job)
    assert (job["command"], job["image"], job["mounts"]) == (script_cases.ASK, "a/b:1", ["/d:/e"])


def test_two_programs_in_one_long_folder_are_two() -> None:
    folder = "/project/0123456/group/tools/of/a/long/name/scripts"
    (asked,) = [
        each
        for each in converted(f"python {folder}/train_it.py\npython {folder}/convert_it.py").findings
        if each.key == "command" and each.kind == "question"
    ]
    assert "/train_it.py" in asked.why
    assert "/convert_it.py" in asked.why


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("python train.py\npython evaluate.py", ["python train.py"]),
        ("./first 1\n./second 2\n./third 3", ["./first 1", "./second 2"]),
        ("bash -e solve.sh a\npython plot.py", ["bash -e solve.sh a"]),
        ("python -m venv x\npython -c 'import torch'\npython train.py", []),
        ("./run --version\npython download.py\n./run", []),
        ("mkdir -p out\n./prepare.sh\npython train.py\nrm -rf tmp", []),
    ],
)
def test_where_a_script_starts_several_programs_itself_it_is_said_which_one_is_taken(
    text: str, others: list[str]
) -> None:
    said = [each.why for each in converted(text).findings if "may be the run" in each.what]
    assert len(said) == bool(others)
    assert all(other in said[0] for other in others)


def _of_run(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


@pytest.mark.parametrize("start", ["docker run --rm", "srun -N 2 -n 2 docker run --rm"])
def test_caches_that_a_container_drops_are_dropped_by_a_step_on_the_host(start: str) -> None:
    drop = f'{start} --privileged r.io/x:1 bash -c "sync; echo 3 > /proc/sys/vm/drop_caches"'
    keep = "srun -N 2 -n 2 docker run -d --rm --name c r.io/x:1 sleep infinity"
    run = "docker exec c mpirun -np 16 -H a:8,b:8 ./t"
    job, _ = _of_run(
        f"#!/bin/bash\n#SBATCH -N 2 -t 10\n{keep}\nfor i in 1 2 3; do\n  {drop}\n  {run}\ndone\n"
    )
    (step,) = job["before_each"]
    assert ("drop_caches" in step["run"], step["where"], step["per"]) == (True, "host", "node")


@pytest.mark.parametrize(("ranks", "asked"), [("2", []), ("$1", []), ("1", ["which mpirun starts"])])
def test_what_mpirun_starts_is_the_run_beside_a_program_of_one_process(ranks: str, asked: list[str]) -> None:
    text = f"#!/bin/bash\nmpirun -np {ranks} ./solve a > a.out\n./tools/count.py a.out\n"
    found = convert(classified({"go.sh": text}), Options({}))
    which = [each.why.split(", ")[1] for each in found.findings if "commands may be the run" in each.what]
    assert which == asked


@pytest.mark.parametrize(
    ("words", "is_run"),
    [
        ("score --of=/out/mlperf_log_accuracy.json", True),
        ("score /out/mlperf_log_summary.txt /out/mlperf_log_detail.txt", True),
        ("python -c 'from mlperf_compliance import mlperf_log; mlperf_log.begin()'", False),
        ("python -c 'import mlperf_log as it; it.begin()'", False),
    ],
)
def test_a_program_that_reads_the_log_of_a_run_is_no_preparation(words: str, is_run: bool) -> None:
    found = converted(f"{_PYXIS} {words}\n")
    command = loaded(found.job)["command"]
    assert (command != script_cases.ASK) is is_run


def test_what_may_be_the_run_and_is_no_step_is_said_to_be_started_by_nothing() -> None:
    lines = ["a=$(sed -n 3p list)", './decode -i "$a"', "python prepare.py", "/opt/t/mid x", "./recon out"]
    text = "\n".join(["#!/bin/bash", "#SBATCH -N 1 -n 1 -t 5", *lines]) + "\n"
    found = convert(classified({"job.sub": text}), Options({}))
    lost = [(each.places[0].line, each.todo) for each in found.findings if "nothing in the job" in each.why]
    assert lost == [(line, "where it is not the run add it to setup") for line in (4, 6)]
    assert [each["run"] for each in loaded(found.job)["setup"]] == [["python", "prepare.py"]]


@pytest.mark.parametrize(("behind", "said"), [("tar -xf d.tar\n", True), ("", False)])
def test_where_none_is_clearly_the_run_it_is_said_of_what_stands_behind_them_too(
    behind: str, said: bool
) -> None:
    found = converted(f"python download.py\npython tools/preprocess.py --all\n{behind}")
    told = [each for each in found.findings if each.what == "steps of `after`"]
    assert [each.todo for each in told] == ["where they are write them under setup"] * said
    assert all(each.places[0].line == 5 for each in told)


def test_commands_that_begin_alike_are_told_by_their_ends_and_none_is_said_to_be_taken() -> None:
    what = "python /opt/tools/convert_records.py --source=/data/records/in/of"
    run = "srun --mpi=pmix -n 4 --ntasks-per-node=4 --container-image=reg.example/a:1"
    found = converted(f"{run} {what}/first\n{run} {what}/second\n")
    (asked,) = (each for each in found.findings if each.key == "command" and each.kind == "question")
    assert "/first; ..." in asked.why
    assert asked.why.endswith("/second)")
    assert not any("was taken" in each.why for each in found.findings)


_ELSEWHERE = 'cd "$SLURM_SUBMIT_DIR/deep"\n./sim/bench --n 4\ncd "$SLURM_SUBMIT_DIR"\n'


def test_the_folder_of_each_command_that_may_be_the_run_is_named() -> None:
    found = converted(f"{_ELSEWHERE}python3 tools/merge.py")
    (asked,) = [each for each in found.findings if each.key == "workdir"]
    assert (asked.kind, {each.line for each in asked.places}) == ("question", {4, 6})
    assert "./deep for ./sim/bench --n 4; . for python3 tools/merge.py" in asked.why
    assert "workdir: " in found.job


def test_no_folder_is_asked_for_where_they_have_one() -> None:
    found = converted("cd deep\n./sim/bench --n 4\npython3 tools/merge.py")
    (folder,) = [each for each in found.findings if each.key == "workdir"]
    assert (folder.kind, folder.became) == ("carried", "workdir: ./deep")


def test_the_folder_of_another_command_that_may_be_the_run_is_told() -> None:
    found = converted(f"{_ELSEWHERE}./sim/other --n 8")
    (asked,) = [each for each in found.findings if each.what == "2 commands may be the run"]
    assert "./sim/bench --n 4, in the folder ./deep" in asked.why


def test_only_the_folder_of_the_run_is_said_to_be_that_of_the_job_file() -> None:
    found = converted(f"{_ELSEWHERE}./sim/other --n 8")
    said = [each for each in found.findings if "the job file's folder" in each.why]
    assert [each.line for told in said for each in told.places] == [5]


@pytest.mark.parametrize(
    ("first", "is_rival"),
    [("bands.x < bands.in > bands.out", True), ("wget hub.example/d", False), ("make", False)],
)
def test_programs_that_path_has_may_be_the_run_where_it_is_one_itself(first: str, is_rival: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:1 -t 5\n{first}\nheat.x < heat.in > heat.out\n"
    found = convert(classified({"job.sub": text}), Options({}))
    told = [each.what for each in found.findings if each.kind == "question" and not each.key]
    assert told == ["2 commands may be the run"] * is_rival
