"""The folder in which ranks start: that in which bash, run for real, is when it comes to srun."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"


def _workdir(lines: str) -> str:
    text = f"{_HEAD}{lines}\nsrun --mpi=none ./t\n"
    found = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job).get("workdir", ".")
    return found if found == script_cases.ASK else os.path.normpath(found)


@pytest.mark.parametrize(
    "lines",
    [
        "cd a",
        "cd a\ncd b",
        "cd a; cd ..",
        "cd a/b\ncd -  # back",
        "pushd a\npushd b\npopd",
        "cd $SLURM_SUBMIT_DIR\ncd a || exit 1",
        "cd a\ncd $SLURM_SUBMIT_DIR/c",
        "(cd a; true)\ncd c",
        "pushd a && true && popd",
        "X=a\ncd $X\ncd ./b",
        "go() { cd a/$1; }\ngo b",
        "cd a\n{ cd b; }\ncd $(true) .",
        "cd a | true\ncd c &\nwait",
        "cd -P -- a",
    ],
)
def test_ranks_start_where_the_script_is(lines: str, tmp_path: Path) -> None:
    for folder in ("a/b", "c"):
        Path(tmp_path, folder).mkdir(parents=True)
    Path(tmp_path, "srun").write_text(f"#!/bin/bash\npwd > {tmp_path}/shown\n")
    Path(tmp_path, "srun").chmod(stat.S_IRWXU)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_SUBMIT_DIR": str(tmp_path)}
    script = f"{_HEAD}{lines}\nsrun\n"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, check=True, timeout=60)
    here = os.path.relpath(Path(tmp_path, "shown").read_text().strip(), tmp_path)
    assert _workdir(lines) in (here, script_cases.ASK) if "$(true)" in lines else _workdir(lines) == here


@pytest.mark.parametrize("lines", ["[ -d a ] && cd a", "cd ~/a\ncd b", "cd", "cd $(./where)", "cd a\npopd\n"])
def test_a_folder_that_nothing_tells_is_asked_for(lines: str) -> None:
    assert _workdir(lines) == script_cases.ASK


def test_a_hook_of_conda_does_in_the_ranks_shell_what_it_does_in_the_script(tmp_path: Path) -> None:
    Path(tmp_path, "conda").write_text("#!/bin/bash\necho 'hooked() {'\necho '  echo \"it is\"  $1; }'\n")
    Path(tmp_path, "conda").chmod(stat.S_IRWXU)
    lines = 'eval "$(conda shell.bash hook)"\nconda activate x\nexport PYTHONPATH=/x:$PYTHONPATH\n'
    found = convert(classified({"run.sub": f"{_HEAD}{lines}srun --mpi=none hooked here\n"}), Options({}))
    job = script_cases.loaded(found.job)
    assert job["inherit"] == ["PYTHONPATH"]
    text = job["command"][2].replace("exec ", "").replace("conda activate x;", "")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    shown = subprocess.run(
        ["bash", "-c", text], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout == "it is here\n"
