"""A folder that the script makes itself, or that only a name of the user's tells: the job's steps and its
command, run for real from the job file's folder, leave what the script left."""

import os
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import script_cases
from script_cases import ASK

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"


def _job(lines: str) -> dict[str, Any]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    return script_cases.loaded(found.job)


def _shell(text: object, folder: Path, environment: dict[str, str]) -> None:
    words = ["sh", "-c", text] if isinstance(text, str) else text
    subprocess.run(words, cwd=folder, env=environment, check=True, timeout=60, stdout=subprocess.DEVNULL)


def _left(top: Path) -> dict[str, str]:
    return {str(each.relative_to(top)): each.read_text() for each in top.rglob("*") if each.is_file()}


def _machine(top: Path) -> dict[str, str]:
    """A folder with an input, a home beside it, and a srun that takes options in front of its command."""
    Path(top, "bin").mkdir(parents=True)
    Path(top, "bin/srun").write_text('#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n')
    Path(top, "bin/app").write_text('#!/bin/bash\nread -r had < "$1"\necho "$had by app" > "$2"\n')
    for name in ("srun", "app"):
        Path(top, "bin", name).chmod(stat.S_IRWXU)
    for folder in ("job", "home/lab"):
        Path(top, folder).mkdir(parents=True)
        Path(top, folder, "input").write_text(f"{folder}\n")
    return {"PATH": f"{top}/bin:{os.environ['PATH']}", "HOME": f"{top}/home", "USER": "lab"}


@pytest.mark.parametrize(
    "lines",
    [
        "mkdir -p run\ncd run\ncp ../input here\nsrun --mpi=none app here out",
        "mkdir -p a/b\ncd a/b\nsrun --mpi=none app ../../input out",
        "mkdir a\ncd a\nmkdir b\ncd b\nsrun --mpi=none app ../../input out\ncd ..\ncp b/out c",
        "mkdir old\ncp -r old new\ncd new\nsrun --mpi=none app ../input out",
        "mkdir run\nexport IN=$PWD/input\ncd run\nsrun --mpi=none app $IN $PWD/out",
        "cd $HOME/lab\nsrun --mpi=none app input out",
        "cd ~/lab\nsrun --mpi=none app input out",
        "cd ~\ncd $USER\nsrun --mpi=none app input out",
    ],
)
def test_steps_and_ranks_do_there_what_the_script_did(lines: str, tmp_path: Path) -> None:
    wanted, got = Path(tmp_path, "wanted"), Path(tmp_path, "got")
    environment = _machine(wanted)
    _shell(["bash", "-ec", lines], Path(wanted, "job"), environment)
    environment = _machine(got)
    job = _job(lines)
    assert "workdir" not in job
    for step in job.get("setup", ()):
        _shell(step["run"], Path(got, "job"), environment)
    command = job["command"]
    if command[:2] == ["bash", "-lc"]:  # a login shell here may set another PATH
        command = ["bash", "-c", command[2]]
    _shell(command, Path(got, "job"), environment)
    for step in job.get("after", ()):
        _shell(step["run"], Path(got, "job"), environment)
    assert _left(got) == _left(wanted)


@pytest.mark.parametrize(
    ("lines", "workdir"),
    [
        ("mkdir out\ncd run", "./run"),
        ("mkdir /scratch/run\ncd /scratch/run", "/scratch/run"),
        ("cd run\nmkdir out", "./run"),
        ("cd $WORK/run", ASK),
        ("cd $TMPDIR", ASK),
        ("source venv/bin/activate\ncd ~/run", ASK),
        ("cd ~/$(./name)", ASK),
    ],
)
def test_of_another_the_ranks_start_there_or_it_is_asked_for(lines: str, workdir: str) -> None:
    assert _job(f"{lines}\nsrun --mpi=none ./t")["workdir"] == workdir


def test_of_two_sourced_files_each_is_found_from_there() -> None:
    job = _job("mkdir run\nsource v/bin/activate\ncd run\nsource ../w/bin/activate\nsrun --mpi=none ./t")
    text = "cd run; source ../v/bin/activate; source ../w/bin/activate; exec ./t"
    assert shlex.join(job["command"]) == shlex.join(["bash", "-lc", text])


@pytest.mark.parametrize(
    ("before", "is_made"),
    [
        ("cp -a in/* run/", False),
        ("mv a.txt b.txt run", False),
        ("cp -r in run", True),
        ("rsync -a a b run", True),
    ],
)
def test_a_folder_that_several_files_are_put_into_is_there(before: str, is_made: bool) -> None:
    job = _job(f"{before}\ncd run\nsrun ./app")
    assert ("workdir" not in job) == is_made


def test_what_is_copied_into_the_folder_where_it_stands_does_not_make_it() -> None:
    job = _job("cd oven\ncp ../pie .\ncp ../crust ../oven\nsrun --mpi=none app")
    assert (job["workdir"], job["command"]) == ("./oven", ["app"])
    assert [each["run"] for each in job["setup"]] == [
        "cd oven || exit; cp ../pie .",
        "cd oven || exit; cp ../crust ../oven",
    ]


@pytest.mark.parametrize(
    ("files", "mount"),
    [
        ({"run.sub": "#SBATCH --container-mounts=./d:/d\n"}, "./d:/d"),
        ({"go.sh": "sbatch --container-mounts=../d:/d run.sub\n", "run.sub": ""}, "../d:/d"),
        (
            {"go.sh": "#!/bin/bash\ncd exp\nsbatch --container-mounts=./d:/d run.sub\n", "run.sub": ""},
            "./exp/d:/d",
        ),
    ],
)
def test_a_mount_of_sbatch_begins_where_it_is_called(files: dict[str, str], mount: str) -> None:
    run = f"{_HEAD}#SBATCH --container-image=i.sqsh\n{files.pop('run.sub')}cd /opt/code\npython3 fit.py\n"
    found = convert(classified({**files, "run.sub": run}), Options({}))
    assert script_cases.loaded(found.job)["mounts"] == [mount]


def test_a_mount_of_srun_begins_where_the_script_is_by_then() -> None:
    assert _job("cd /opt/code\nsrun --container-image=i.sqsh --container-mounts=./d:/d ./fit")["mounts"] == [
        "/opt/code/d:/d"
    ]


@pytest.mark.parametrize(
    ("lines", "way", "todo"),
    [
        (
            "cd data\nfor e in 1 2; do (cd e$e; {run}); done",
            "cd data; cd e${e}:",
            '["./data/e1", "./data/e2"]',
        ),
        ("cd data\nfor e in */; do (cd $e; {run}); done", "cd data; cd ${e}:", "a job for each folder"),
        ("cd data\ncd $(ls | head -n 1)\n{run}", "cd data; cd $(ls | head -n 1)", "--set workdir="),
        ("cd $A\nfor e in 1 2; do (cd e$e; {run}); done", "cd ${A}; cd e${e}:", "a job for each folder"),
        ("cd data\nfor e in 1 2; do (cd /x/e$e; {run}); done", "cd /x/e${e}:", "[/x/e1, /x/e2]"),
    ],
)
def test_a_question_for_the_folder_has_all_of_the_way_there(lines: str, way: str, todo: str) -> None:
    text = f"{_HEAD}{lines.format(run='srun --mpi=none ./t')}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "workdir"]
    assert f"start: {way}" in asked.why
    assert todo in asked.todo


@pytest.mark.parametrize(
    "lines",
    [
        "cd ~/lab\nsource env/activate\ncd deep\nsrun --mpi=none app ../input out",
        "cd $HOME/lab/deep\nsource ../env/activate\ncd ..\nsrun --mpi=none app input out",
        "cd ~/lab/deep\n. ./own/activate\ncd ../env\nsrun --mpi=none app ../input out",
    ],
)
def test_a_file_that_was_sourced_in_another_folder_of_the_users_is_found(lines: str, tmp_path: Path) -> None:
    environment = _machine(tmp_path)
    for name in ("env", "deep/own"):
        Path(tmp_path, "home/lab", name).mkdir(parents=True)
        Path(tmp_path, "home/lab", name, "activate").write_text("")
    command = _job(lines)["command"]
    assert command[:2] == ["bash", "-lc"]
    # Without the profile of this machine, and so that it ends where it finds no file.
    _shell(["bash", "-ec", command[2]], tmp_path / "job", environment)
    assert [each for each in _left(tmp_path / "home") if each.endswith("out")]


@pytest.mark.parametrize(
    "lines",
    [
        "source env/activate\ncd ~/lab\nsrun --mpi=none app input out",
        "cd ~/lab\nsource env/activate\ncd $SLURM_SUBMIT_DIR\nsrun --mpi=none app input out",
        "source env/activate\ncd ..\nsrun --mpi=none app input out",
    ],
)
def test_where_no_path_leads_from_the_ranks_to_the_file_it_is_said(lines: str) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    said = [each for each in found.findings if each.what == "source env/activate" and each.kind == "question"]
    assert [each.todo for each in said] == ["write its whole path in the command"]
