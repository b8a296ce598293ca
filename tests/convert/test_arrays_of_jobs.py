"""An array of jobs becomes a sweep: each point starts what the task of its index started."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.mapping.slurm.batch.array_indices import indices_of
from hpclaunch.convert.options import Options
from hpclaunch.spec.read import parse_job
from hpclaunch.spec.variants import keys_of, variants
from hpclaunch.values.conversion import Conversion

HEAD = "#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4 --ntasks-per-node=4 -t 1:00\n#SBATCH --array={array}\n"
RUN = "srun --mpi=pmix python train.py"
# srun without its options, and a program that says what it is given.
SRUN = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n'
PYTHON = '#!/bin/bash\nprintf \'%s|\' "$@" "LR=${LR-}" "B=${B-}" "$SLURM_ARRAY_TASK_ID" >> "$SHOWN"\n'
PYTHON += 'echo >> "$SHOWN"\n'
ARRAYS = (
    (
        "0-4%2",
        [0, 1, 2, 3, 4],
        f"SEEDS=(1 2 3 5 8)\n{RUN} --seed ${{SEEDS[$SLURM_ARRAY_TASK_ID]}} --devices 8",
    ),
    ("1,3,7", [1, 3, 7], f"{RUN} --fold $SLURM_ARRAY_TASK_ID"),
    (
        "0-20:4",
        [0, 4, 8, 12, 16, 20],
        f"{RUN} --from $((SLURM_ARRAY_TASK_ID * 10)) --of $SLURM_ARRAY_TASK_MAX",
    ),
    ("1-3", [1, 2, 3], f"RATES=(0.1 0.2 0.3)\nexport LR=${{RATES[$((SLURM_ARRAY_TASK_ID - 1))]}}\n{RUN}"),
    (
        "0-2",
        [0, 1, 2],
        "case $SLURM_ARRAY_TASK_ID in\n  0) LR=0.1 ;;\n  1) LR=0.2 B=64 ;;\n  *) LR=0.3 ;;\nesac\n"
        f"export LR B\n{RUN}",
    ),
    (
        "0-1",
        [0, 1],
        f'EXTRA=\nif [ "$SLURM_ARRAY_TASK_ID" -eq 0 ]; then\n  EXTRA="--base one"\nfi\n{RUN} $EXTRA --y',
    ),
    ("5", [5], RUN),
    ("2-3", [2, 3], f"{RUN} --all"),
    ("1-2", [1, 2], "srun --mpi=pmix bash -c 'python train.py --fold $SLURM_ARRAY_TASK_ID'"),
    (
        "0-3%1",
        [0, 1, 2, 3],
        f"LINE=$(echo 'a b c d' | cut -d' ' -f$((SLURM_ARRAY_TASK_ID + 1)))\n{RUN} --x 1",
    ),
    ("1-300", list(range(1, 301)), f"{RUN} --fold $SLURM_ARRAY_TASK_ID"),
)


def converted(array: str, text: str) -> Conversion:
    return convert(classified({"run.sub": f"{HEAD.format(array=array)}{text}\n"}), Options({}))


def shown(folder: Path, argv: list[str], environment: dict[str, str]) -> None:
    path = f"{folder}:{os.environ['PATH']}"
    whole = {"PATH": path, "SHOWN": str(folder / "shown"), **environment}
    subprocess.run(argv, env=whole, cwd=folder, check=True, timeout=60, capture_output=True)


@pytest.mark.parametrize(("array", "indices", "text"), ARRAYS)
def test_each_point_is_a_task(array: str, indices: list[int], text: str, tmp_path: Path) -> None:
    for name, script in (("srun", SRUN), ("python", PYTHON)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o700)
    of_array = {"SLURM_ARRAY_TASK_MAX": str(max(indices)), "SLURM_ARRAY_TASK_MIN": str(min(indices))}
    some = indices if len(indices) < 10 else indices[:4]
    for index in some:
        shown(tmp_path, ["bash", "-c", text], {"SLURM_ARRAY_TASK_ID": str(index), **of_array})
    tasks = (tmp_path / "shown").read_text()
    assert tasks.count("\n") == len(some)
    (tmp_path / "shown").unlink()
    found = converted(array, text)
    assert found.is_complete
    assert not [each for each in found.findings if each.kind == "left"]
    document = parse_job(found.job, "job.yaml", str(tmp_path))
    job = document.value
    assert job.sweep is not None
    assert job.sweep.max_running == (int(array.partition("%")[2]) if "%" in array else None)
    (variant,) = variants(document)  # one array of Slurm's
    points = variant.words(keys_of(job))
    assert len(points) == len(indices)
    for point in points[: len(some)]:
        own = dict(word.split("=", 1) for word in point.environment)
        # Slurm tells the task of a point its number: the ranks have what the job sets.
        assert own["SLURM_ARRAY_TASK_ID"] == str(indices[point.number])
        shown(tmp_path, [*variant.base, *point.arguments], {**job.env, **own})
    assert (tmp_path / "shown").read_text() == tasks


def test_what_no_line_tells_is_asked() -> None:
    text = f'PARAMS=$(sed -n "${{SLURM_ARRAY_TASK_ID}}p" params.txt)\n{RUN} $PARAMS'
    found = converted("1-8%4", text)
    (question,) = [each for each in found.findings if each.kind == "question"]
    assert question.key == "command"
    assert "sweep" in question.todo
    job = parse_job(found.job.replace(_asked(found.job), "command: [a]"), "job.yaml", "/").value
    assert job.sweep is not None
    assert job.sweep.max_running == 4
    assert job.sweep.grid == {"env.SLURM_ARRAY_TASK_ID": tuple(map(str, range(1, 9)))}


def test_a_script_that_does_without_an_array_has_its_own_value_then() -> None:
    text = f"{HEAD.format(array='')}{RUN} --fold ${{SLURM_ARRAY_TASK_ID:-all}}\n".replace(
        "#SBATCH --array=\n", ""
    )
    found = convert(classified({"run.sub": text}), Options({}))
    assert found.is_complete
    assert parse_job(found.job, "job.yaml", "/").value.command == ("python", "train.py", "--fold", "all")
    (assumed,) = [each for each in found.findings if each.what == "SLURM_ARRAY_TASK_ID"]
    assert assumed.todo == "where the job was an array convert again with --env SBATCH_ARRAY_INX=1-8"
    again = convert(classified({"run.sub": text}), Options({"SBATCH_ARRAY_INX": "1-2"}))
    commands = [each.base for each in variants(parse_job(again.job, "job.yaml", "/"))]
    assert not [words for words in commands if "all" in words]


@pytest.mark.parametrize(
    ("guard", "uses"),
    [
        ("${SLURM_ARRAY_TASK_ID:-}", "--fold $SLURM_ARRAY_TASK_ID"),
        ("${SLURM_ARRAY_TASK_ID:-}", "--net ${NETS[$SLURM_ARRAY_TASK_ID]}"),
        ("${SLURM_ARRAY_TASK_ID:-}", "--net all"),
        ("$SLURM_ARRAY_TASK_ID", "--fold $SLURM_ARRAY_TASK_ID"),
    ],
)
def test_a_script_that_ends_without_an_array_is_read_as_one(guard: str, uses: str) -> None:
    lines = f'if [[ -z "{guard}" ]]; then\n  echo "give --array" >&2\n  exit 1\nfi\n{RUN} {uses}\n'
    text = (f"{HEAD.format(array='')}NETS=(x y)\n{lines}").replace("#SBATCH --array=\n", "")
    found = convert(classified({"run.sub": text}), Options({}))
    (asked,) = [each for each in found.findings if each.kind == "question"]
    assert asked.key == ("command" if "$" in uses else "")
    assert "SBATCH_ARRAY_INX" in f"{asked.why}{asked.todo}"
    again = convert(classified({"run.sub": text}), Options({"SBATCH_ARRAY_INX": "0-1"}))
    assert again.is_complete
    assert [len(each.points) for each in variants(parse_job(again.job, "job.yaml", "/"))] == [2]


def _asked(job: str) -> str:
    return next(line for line in job.splitlines() if line.startswith("command:"))


def test_points_of_other_sizes_are_jobs_without_a_limit() -> None:
    sizes = "-N $SLURM_ARRAY_TASK_ID -n $((SLURM_ARRAY_TASK_ID * 4))"
    found = converted("1-2%1", f"srun --mpi=none {sizes} python train.py")
    job = parse_job(found.job, "job.yaml", "/").value
    assert job.sweep is not None
    assert [entry["nodes"] for entry in job.sweep.list] == ["1", "2"]
    assert job.sweep.max_running is None
    assert any("%1" in each.what for each in found.findings if each.kind == "left")


@pytest.mark.parametrize("array", ["$N", "0-99999999", "a-b", "1,", "%3", "1--2", "3-1"])
def test_what_is_no_list_of_indices_is_left(array: str) -> None:
    found = converted(array, RUN)
    assert "\nsweep:" not in found.job
    assert any("`sweep`" in each.todo for each in found.findings if each.kind == "left")


@pytest.mark.parametrize(
    ("text", "numbers", "running"),
    [("0-4%2", (0, 1, 2, 3, 4), 2), ("7,1,3-5,4", (1, 3, 4, 5, 7), None), ("0-20:8", (0, 8, 16), None)],
)
def test_indices(text: str, numbers: tuple[int, ...], running: int | None) -> None:
    found = indices_of(text)
    assert found is not None
    assert (found.numbers, found.running) == (numbers, running)


def test_an_array_of_a_script_that_sbatch_is_given_by_a_here_document() -> None:
    text = (
        "#!/bin/bash\nsbatch --array=1-2 <<'EOF'\n#!/bin/bash\n"
        "#SBATCH -N 1 --ntasks-per-node=2 --gres=gpu:2\n"
        "srun --mpi=none python train.py --fold $SLURM_ARRAY_TASK_ID\nEOF\n"
    )
    found = convert(classified({"go.sh": text}), Options({}))
    document = parse_job(found.job, "job.yaml", "/")
    (variant,) = variants(document)
    points = variant.words(keys_of(document.value))
    assert [(*variant.base, *each.arguments)[-2:] for each in points] == [("--fold", "1"), ("--fold", "2")]


@pytest.mark.parametrize("family", ["plain_slurm", "pyxis"])
def test_any_launcher_may_be_one_of_an_array(family: str) -> None:
    """What it launches is the same for each index, but for one variable: no other key is in the points."""
    swept = 0
    for case in script_cases.cases(family):
        told = script_cases.expected(family, case)
        names = [Path(script_cases.folder(family, case)) / name for name in told["inputs"]]
        files = {path.name: path.read_text() for path in names}
        launchers = [name for name, text in files.items() if re.search(r"(?m)^ *srun ", text)]
        for name in launchers:
            text = re.sub(r"\A(#!.*\n)?", r"\1#SBATCH --array=1-7:2%2\n", files[name], count=1)
            files[name] = re.sub(r"(?m)^( *)srun ", r"\1export AT=$SLURM_ARRAY_TASK_ID; srun ", text)
        found = convert(classified(files), Options(told.get("env", {})))
        if not launchers or not found.is_complete or "\nsweep:" not in found.job:
            continue
        document = parse_job(found.job, "job.yaml", "/")
        (variant,) = variants(document)
        assert set(keys_of(document.value)) <= {"env.SLURM_ARRAY_TASK_ID", "env.AT"}, case
        assert [each.number for each in variant.points] == [0, 1, 2, 3]
        swept += 1
    assert swept > 5


def test_a_question_about_all_points_has_the_index_by_its_name() -> None:
    text = (
        "#!/bin/bash\n#SBATCH --array=0-2 -N 1 -n 1 --gres=gpu:1\noff=$((SLURM_ARRAY_TASK_ID * 50))\n"
        "srun ./a --off=$off --key=$(openssl rand -hex 12)\n"
    )
    found = convert(classified({"run.sub": text}), Options({}))
    (asked,) = (each for each in found.findings if each.key == "command")
    assert "$((SLURM_ARRAY_TASK_ID * 50))" in asked.why
    assert "off=0" not in found.job


@pytest.mark.parametrize(
    ("array", "lines", "left"),
    [
        ("0-1", "mkdir -p o_$SLURM_ARRAY_TASK_ID\n./a $SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_JOB_ID"),
        ("0-1", "./prep.sh $SLURM_ARRAY_TASK_ID\n./a", "SLURM_ARRAY_TASK_ID of steps"),
        ("0-1", "mkdir -p o_$SLURM_ARRAY_TASK_ID\n./a", ""),
        ("1-2", "bash -c './a $SLURM_ARRAY_TASK_MAX'", "SLURM_ARRAY_TASK_MAX"),
        ("0-2", "bash -c './a $SLURM_ARRAY_TASK_MAX'", ""),
        ("1-2", "bash -c './a $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_JOB_ID'", ""),
    ],
)
def test_variables_of_arrays_that_points_have_otherwise_are_said(array: str, lines: str, left: str) -> None:
    first, _, run = lines.rpartition("\n")
    text = f"{HEAD.format(array=array)}{first}\nsrun --mpi=none {run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    said = [each.what for each in found.findings if each.kind == "left" and "SLURM_ARRAY" in each.what]
    assert said == ([left] if left else [])


def test_an_array_whose_tasks_run_docker_is_a_sweep() -> None:
    run = "docker run --gpus all a/b:1 python t.py --seed $SLURM_ARRAY_TASK_ID"
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:1 -t 60\n#SBATCH --array=3-4\nsource begin\n{run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert found.is_complete, found.job
    document = parse_job(found.job, "job.yaml", "/")
    jobs = variants(document, each=True)
    words = [each.words(keys_of(document.value))[0] for each in jobs]
    seeds = [[*each.base, *word.arguments][-1] for each, word in zip(jobs, words, strict=True)]
    assert seeds == ["3", "4"]


def test_of_an_array_of_the_scripts_the_index_chooses_though_a_loop_asks_for_more() -> None:
    run = "python t.py --size ${SIZES[$SLURM_ARRAY_TASK_ID]} --set $SET"
    text = f"SIZES=(s m)\nfor SET in a b; do\n  {run}\ndone\n"
    (question,) = (each for each in converted("0-1", text).findings if each.key == "command")
    assert "SIZES is (s m), and it is another one for other indices of the array" in question.why
    assert "args" in question.todo


@pytest.mark.parametrize("uses", ["", "echo $SLURM_ARRAY_TASK_ID\n"])
def test_an_element_that_each_round_takes_is_of_no_array_of_jobs(uses: str) -> None:
    text = (
        f"#!/bin/bash\n#SBATCH -N 1 --array=1-3\n{uses}KINDS=(a b c)\nfor k in $(seq 0 $LAST); do\n"
        "  export KIND=${KINDS[${k}]}\n  srun --mpi=none ./t\ndone\n"
    )
    found = convert(classified({"r.sh": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "env.KIND"]
    assert "KINDS is (a b c), and it is another one in each round of the loop over $(seq 0" in asked.why
    assert "sweep" not in asked.todo


@pytest.mark.parametrize("index", ["SLURM_ARRAY_TASK_ID", "$SLURM_ARRAY_TASK_ID - 1", "n"])
def test_an_element_that_an_array_of_jobs_takes_is_another_one_for_its_indices(index: str) -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 1\nKINDS=(a b c)\nn=$((SLURM_ARRAY_TASK_ID - 1))\n"
        f"srun --mpi=none ./t ${{KINDS[{index}]}}\n"
    )
    found = convert(classified({"r.sh": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "command"]
    assert "--env SBATCH_ARRAY_INX=1-8" in asked.why
