"""Each question leads to an answer that works: what is advised is done, and the question is gone."""

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from hpclaunch.cli.convert import convert
from hpclaunch.convert import conversion, inputs, options
from hpclaunch.spec.read import parse_job
from hpclaunch.values.errors import InputError

ALLOCATION = "#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -t 1:00"
IMAGE = (
    "srun --mpi=none --container-image=nvcr.io#nvidia/pytorch:22.07-py3 --container-mounts=/lustre:/lustre"
)

# The script, the key that is asked for, the option that is advised, and a value for it.
QUESTIONS = (
    (f"{ALLOCATION}\nsrun python t.py", "mpi", "--set", "none"),
    (f"{ALLOCATION}\nDIR=$(pwd)\n{IMAGE} python $DIR/t.py", "env.DIR", "--env PWD", "/home/me"),
    (f"{ALLOCATION}\nDIR=`pwd`\n{IMAGE} sh -c \"python ${{DIR}}/t.py\"", "env.DIR", "--env PWD", "/home/me"),
    (f"{ALLOCATION}\n{IMAGE} python $PWD/t.py", "command", "--env PWD", "/home/me"),
    (f"{ALLOCATION}\n{IMAGE} python $SLURM_SUBMIT_DIR/t.py", "command", "--env PWD", "/home/me"),
    (f"{ALLOCATION}\nsrun --mpi=none --container-image=$CONT python t.py", "image", "--env CONT", "a/b:1"),
    ("#SBATCH -t 1:00\nsrun -N $NODES --ntasks-per-node=4 --mpi=none --gpus-per-node=4 python t.py", "nodes",
     "--env NODES", "4"),
    ("#SBATCH -N 2 --gres=gpu:4 -t 1:00\nN=$GIVEN\nsrun --mpi=none --ntasks-per-node=$N python t.py",
     "ranks_per_node", "--env GIVEN", "2"),
    (f"{ALLOCATION}\nsource activate $1\nsrun --mpi=none python t.py", "command", "--args", "env"),
    (f"{ALLOCATION}\ncd $WORK/run || exit\nsrun --mpi=none python t.py", "workdir", "--env WORK", "/work"),
    ("#SBATCH -N 2 --ntasks-per-node=4 -t 1:00\nsrun --mpi=none python t.py", "gpus_per_node", "--set", "4"),
    (f"{ALLOCATION}\nsrun --mpi=none python t.py $SLURM_ARRAY_TASK_ID", "command",
     "--env SBATCH_ARRAY_INX", "1-8"),
    (f"{ALLOCATION}\n#SBATCH --array=1-3\nX=$(sed -n ${{SLURM_ARRAY_TASK_ID}}p x)\n"
     "srun --mpi=none python $X", "command", "$SLURM_ARRAY_TASK_ID", ""),
)  # fmt: skip


def report(script: Path, *words: str) -> tuple[str, str]:
    """The job file, and the open questions of the report in one line."""
    found = CliRunner().invoke(convert, [str(script), *words])
    assert found.exit_code == 0, found.output
    asked = re.search(r"Open questions.*?(?=\n\n\w)", found.stderr, re.DOTALL)
    return found.stdout, " ".join(asked[0].split()) if asked else ""


@pytest.mark.parametrize(("text", "key", "option", "value"), QUESTIONS)
def test_the_answer_that_is_advised_works(
    text: str, key: str, option: str, value: str, tmp_path: Path
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\n{text}\n")
    job, asked = report(script)
    assert f" {key}: " in asked
    assert option in asked
    kind, _, name = option.partition(" ")
    if kind == "--env":
        job, asked = report(script, "--env", f"{name}={value}")
    elif kind == "--args":
        job, asked = report(script, "--args", value)
    elif kind == "--set":
        assert f"--set {key}=" in asked
        assert "--env" not in asked
        assert len(parse_job(job, "job.yaml", "/", [f"{key}={value}"]).value.command) > 0
        job, asked = report(script, "--set", f"{key}={value}")
    else:
        answer = "command: python $(sed -n ${SLURM_ARRAY_TASK_ID}p x)"
        job, asked = re.sub("(?m)^command:.*", lambda _: answer, job), ""
    assert asked == ""
    parse_job(job, "job.yaml", "/")
    if name == "PWD":
        assert "/home/me/t.py" in job


def test_the_folder_of_submission_is_followed_by_cd(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        f"#!/bin/bash\n{ALLOCATION}\nA=$(pwd)\ncd src\nB=$PWD\ncd /data\nC=$(pwd)\ncd $WHERE\nD=$(pwd)\n"
        f"{IMAGE} python $A $B $C\necho $D\n"
    )
    job, _ = report(script, "--env", "PWD=/home/me")
    assert "python, /home/me, /home/me/src, /data]" in job


@pytest.mark.parametrize("folder", ["", "here", "~"])
def test_a_folder_of_submission_is_a_whole_path(folder: str, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\n{ALLOCATION}\nsrun true\n")
    found = CliRunner().invoke(convert, [str(script), "--env", f"PWD={folder}"])
    assert "from / on" in str(found.exception or found.output)


FOLLOWING = (
    ("#SBATCH --dependency=singleton", "depends_on:\n  - when: singleton", ""),
    ("#SBATCH --dependency=afterok:123", "", "depends_on: [{job: FILE, when: afterok}]"),
    ("#SBATCH -d afterany:123:124", "", "depends_on: [{job: FILE, when: afterany}]"),
    ("srun --mpi=none b\nrc=$?; [ $rc -eq 0 ] && sbatch next.sh", "", "write depends_on: [THIS JOB'S FILE]"),
    ("srun --mpi=none b\nsbatch $0", "", "`chain`"),
    (
        "srun --mpi=none b\nsbatch -N 8 -d afterok:1 next.sh",
        "nodes: 2",
        "write depends_on: [THIS JOB'S FILE]",
    ),
)


@pytest.mark.parametrize(("text", "carried", "todo"), FOLLOWING)
def test_the_order_of_jobs_is_said_as_a_job_file_has_it(
    text: str, carried: str, todo: str, tmp_path: Path
) -> None:
    script = tmp_path / "run.sh"
    run = "" if "srun" in text else "\nsrun --mpi=none b"
    script.write_text(f"#!/bin/bash\n{ALLOCATION}\n{text}{run}\n")
    found = CliRunner().invoke(convert, [str(script)])
    assert carried in found.stdout
    parse_job(found.stdout, "job.yaml", "/")
    left = re.search(r"Not carried over.*?(?=\n\n\w)", found.stderr, re.DOTALL)
    assert todo in (" ".join(left[0].split()) if left else "")
    assert bool(todo) is bool(left)


def test_an_environment_is_made_in_each_ranks_own_shell(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    lines = (
        "module load cuda/12",
        ". /opt/conda/etc/profile.d/conda.sh",
        "conda activate env",
        "source ~/venv/bin/activate",
        "source activate other",
    )
    script.write_text("\n".join(("#!/bin/bash", ALLOCATION, *lines, "srun --mpi=none python t.py")) + "\n")
    job, asked = report(script)
    assert asked == ""
    command = parse_job(job, "job.yaml", "/").value.command
    assert list(command) == [
        "bash",
        "-lc",
        "module load cuda/12; source /opt/conda/etc/profile.d/conda.sh; conda activate env; "
        'source "$HOME"/venv/bin/activate; source activate other; exec python t.py',
    ]


SET = f"""{ALLOCATION}
export LR=0.1
srun --container-image=$CONT --container-mounts=/raid:/data:ro,$MORE python train.py
"""
# What is set, the job's keys that it makes, and what the report says of it.
SETS = (
    (["image=a/b:1"], {"image": {"ref": "a/b:1"}}, "it answers: the image, which CONT gives"),
    (["nodes=4"], {"nodes": 4}, "--set nodes says otherwise, and counts"),
    (["nodes=3", "nodes=4"], {"nodes": 4}, "--set nodes says otherwise, and counts"),
    (["nodes=2"], {"nodes": 2}, "the files tell the same"),
    (["env.LR=0.20"], {"env": {"LR": "0.20"}}, "--set env.LR says otherwise, and counts"),
    (["env.NEW= a: 'b' "], {"env": {"LR": "0.1", "NEW": " a: 'b' "}}, "--set env.NEW"),
    (["command.1=t.py"], {"command": ["python", "t.py"]}, "--set command.1"),
    (["command=python t.py | tee x"], {"command": "python t.py | tee x"}, "--set command"),
    (["time=2h", "verify=true"], {"time": "2h", "verify": True}, "--set time"),
    (["mounts=[]"], {}, "it answers: "),
)


@pytest.mark.parametrize(("sets", "job", "said"), SETS)
def test_what_is_set_is_in_the_job_and_is_said(
    sets: list[str], job: dict[str, object], said: str, tmp_path: Path
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\n{SET}")
    words = [word for each in sets for word in ("--set", each)]
    found = CliRunner().invoke(convert, [str(script), *words, "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.output)
    plain = yaml.safe_load(told["job"])
    plain["image"] = {"ref": plain["image"]}
    assert {key: plain[key] for key in job} == job
    keys = {each.partition("=")[0] for each in sets}
    asked = {each["key"] for each in told["findings"] if each["kind"] == "question" and "key" in each}
    assert asked == {"image", "mounts.1", "mpi"} - keys - ({"mounts.1"} if "mounts" in keys else set())
    of_option = [
        each for each in told["findings"] if said in f"{each.get('why')} {each['what']} {each['places']}"
    ]
    assert of_option
    for each in told["findings"]:
        if each["kind"] == "carried" and any(place["file"].startswith("--set") for place in each["places"]):
            assert each["key"] in keys


WRONG = (
    ("image", "is not KEY=VALUE"),
    ("imagee=1", "--set imagee: unknown key 'imagee' (did you mean 'image'?)"),
    ("nodes=x", "--set nodes: nodes: 'x' is not a whole number"),
    ("nodes.x=1", "there is no key 'x'"),
    ("command.9=x", "--set command.9: the list has 2 entries"),
    ("mounts.0=relative", "--set mounts.0: "),
    ("env.MY_TOKEN=abcdef", "--set env.MY_TOKEN: a secret stands in no job file"),
    ("env.X=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "--set env.X: a secret stands in no job file"),
    ("groups.a.nodes=2", "--set groups"),
)


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_no_job_has_is_not_set(text: str, said: str, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\n{SET}")
    with pytest.raises(InputError) as error:
        CliRunner().invoke(convert, [str(script), "--set", text], catch_exceptions=False)
    assert said in str(error.value)
    assert "abcdef" not in str(error.value)


def test_a_job_that_is_complete_by_what_is_set_is_read_back(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/bash\n{SET}")
    words = ["image=a/b:1", "mounts.1=/x:/y", "mpi=none", "nodes=4", "workdir=/w"]
    sets = [word for each in words for word in ("--set", each)]
    told = json.loads(
        CliRunner().invoke(convert, [str(script), *sets, "--site", "superpod-a100", "--json"]).output
    )
    assert told["is_complete"]
    why = {each["what"]: each["why"] for each in told["differences"]}
    assert why["nodes"] == "--set nodes says so"
    assert why["image"] == "--set image says so"


@pytest.mark.parametrize(("answer", "kind"), [("gpus_per_node=0", "left"), ("gpus_per_node=2", "replaced")])
def test_cores_are_lost_where_the_answer_is_that_there_are_no_gpus(answer: str, kind: str) -> None:
    text = "#!/bin/bash\n#SBATCH -N 1 -n 1 -t 9\n#SBATCH --cpus-per-task=16\nsrun --mpi=none ./t\n"
    found = conversion.convert(inputs.classified({"run.sub": text}), options.Options({}, sets=(answer,)))
    (told,) = [each for each in found.findings if each.what == "--cpus-per-task=16"]
    assert told.kind == kind
