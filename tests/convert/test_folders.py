"""The folder in which ranks start: that in which bash, run for real, is when it comes to srun."""

import os
import re
import shlex
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


def _mounted(lines: str, words: str = "$PWD:/w,$(pwd)/d:/d") -> list[str]:
    text = f"{_HEAD}{lines}\nsrun --mpi=none --container-image=a:b --container-mounts={words} ./t\n"
    mounts = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)["mounts"]
    return [each if each == script_cases.ASK else os.path.normpath(each.split(":")[0]) for each in mounts]


@pytest.mark.parametrize(
    "lines",
    [
        "cd a",
        "cd a\ncd b",
        "cd a; cd ..",
        "cd $(pwd)",
        "cd a; cd $(pwd)/b",
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
    if "$(true)" not in lines:
        asks = "&& popd" in lines  # which is run only where pushd did well
        folders = [script_cases.ASK] * 2 if asks else [here, os.path.normpath(f"{here}/d")]
        assert _mounted(lines) == folders


@pytest.mark.parametrize(
    "words",
    [
        *("$(realpath d):/d", "$(readlink -f ./d):/d", '"$(realpath -s "a/../d")":/d'),
        *("$(cd d && pwd):/d", '$(cd "./d" >/dev/null && pwd -P):/d'),
    ],
)
@pytest.mark.parametrize(("lines", "folder"), [("", "d"), ("cd b", "b/d"), ("cd b; cd /c", "/c/d")])
def test_a_path_made_absolute_is_known(words: str, lines: str, folder: str) -> None:
    assert _mounted(f"{lines}\nD={words}", "$D") == [folder]


def test_the_folder_of_submission_that_cd_and_pwd_name_is_known() -> None:
    lines = 'D=$(cd "${SLURM_SUBMIT_DIR}" && pwd)\nE=$(cd "$D/e" && pwd)'
    assert _mounted(lines, "$D/d:/d,$E:/e") == ["d", "e"]
    deep = "$(cd " * 40 + "d" + " && pwd)" * 40
    for unknown in ("$(cd $UNKNOWN && pwd)", "$(cd d && pwd > e)", deep):
        assert _mounted(f"D={unknown}", "$D:/d") == [script_cases.ASK]


@pytest.mark.parametrize(
    "words", ["$(realpath --relative-to=/x d):/d", "$(readlink d):/d", "$(realpath $(./d)):/d"]
)
def test_a_path_of_which_nothing_is_known_is_asked_for(words: str) -> None:
    assert _mounted("", words) == [script_cases.ASK]


@pytest.mark.parametrize(
    "lines",
    [
        "[ -d a ] && cd a",
        "pushd ~/a\ncd b",
        "cd",
        "cd $(./where)",
        "cd $(dirname $(dirname $0))",
        "cd a\npopd\n",
        "cd /opt/a-*/bin",
    ],
)
def test_a_folder_that_nothing_tells_is_asked_for(lines: str) -> None:
    assert _workdir(lines) == script_cases.ASK


@pytest.mark.parametrize(
    ("lines", "folder"),
    [
        ("if [ ! -f a/x.img ]; then cd a; ./make; cd ..; fi", "."),
        ("cd /lab\nif [ -d a ]; then cd a/b\ncd -\nfi", "/lab"),
        ("if [ -d a ]; then pushd a\npopd\nfi\ncd c", "c"),
        ("if [ -d a ]; then cd a; cd b; cd ..; fi", script_cases.ASK),
        ("if [ -d a ]; then cd a; fi\nif [ -d c ]; then cd ..; fi", script_cases.ASK),
        ("if [ -d a ]; then cd a; else cd ..; fi", script_cases.ASK),
    ],
)
def test_a_way_that_leads_back_on_its_own_condition_changes_no_folder(lines: str, folder: str) -> None:
    assert _workdir(lines) == folder


@pytest.mark.parametrize("words", ["$PWD:/w", ".:/w", "./a/..:/w"])
@pytest.mark.parametrize(
    ("lines", "folder"),
    [
        ("cd /data/me", "/data/me"),
        ("cd /data/me; cd ../x", "/data/x"),
        ("cd sub", "sub"),
        ("cd $ROOT/code", script_cases.ASK),
        ("cd ~/a", script_cases.ASK),
        ("[ -d a ] && cd a", script_cases.ASK),
    ],
)
def test_a_mount_of_the_folder_in_which_the_script_is_has_that_one(
    lines: str, folder: str, words: str
) -> None:
    assert _mounted(lines, words) == [folder]


@pytest.mark.parametrize(("mount", "source"), [("./out", "/home/me/out"), ("..", "/home"), ("/x", "/x")])
def test_a_relative_mount_is_of_the_folder_that_is_told(mount: str, source: str) -> None:
    line = f"srun --mpi=none --container-image=a:b --container-mounts={mount}:/d ./t"
    found = convert(classified({"run.sub": f"{_HEAD}{line}\n"}), Options({"PWD": "/home/me"}))
    assert script_cases.loaded(found.job)["mounts"] == [f"{source}:/d"]


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


_LOOP = "for e in 1 2; do\n%s\nsrun --mpi=none ./t\n%s\ndone"
_SWEEP = "write a job for each folder"
# What a round does before the run and after it, the folders of bash's runs where a job has them, and what is
# said of others.
_ROUNDS = (
    ("cd e$e", "cd ..", ["e1", "e2"], '--set \'sweep={grid: {workdir: ["./e1", "./e2"]}}\''),
    ("cd $SLURM_SUBMIT_DIR/e$e", "", ["e1", "e2"], "each round of the loop has its own"),
    ("pushd e$e", "popd", ["e1", "e2"], '--set \'sweep={grid: {workdir: ["./e1", "./e2"]}}\''),
    ("(cd e$e", ")", ["e1", "e2"], '--set \'sweep={grid: {workdir: ["./e1", "./e2"]}}\''),
    ("cd a", "cd ..", ["a"], ""),
    ("cd a", "cd - >/dev/null", ["a"], ""),
    ("cd a", "", None, "each round of the loop begins where the one before it ended"),
    ("cd e$e", "", None, "each round of the loop begins where the one before it ended"),
    ("cd a; cd b", "cd ..", None, "each round of the loop begins where the one before it ended"),
    ("cd a; cd b$e", "cd ../..", None, _SWEEP),
)


@pytest.mark.parametrize(("before", "after", "folders", "said"), _ROUNDS)
def test_a_folder_of_each_round_is_no_folder_of_all(
    before: str, after: str, folders: list[str] | None, said: str, tmp_path: Path
) -> None:
    for folder in ("e1/e2", "e2", "a/a", "a/b/a/b", "a/b1", "a/b2"):
        Path(tmp_path, folder).mkdir(parents=True)
    Path(tmp_path, "srun").write_text(f"#!/bin/bash\npwd >> {tmp_path}/shown\n")
    Path(tmp_path, "srun").chmod(stat.S_IRWXU)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_SUBMIT_DIR": str(tmp_path)}
    text = f"{_HEAD}{_LOOP % (before, after)}\n"
    subprocess.run(["bash", "-c", text], cwd=tmp_path, env=environment, check=True, timeout=60)
    here = [os.path.relpath(line, tmp_path) for line in Path(tmp_path, "shown").read_text().split()]
    found = convert(classified({"run.sub": text}), Options({}))
    asked = "".join(f"{each.why} {each.todo}" for each in found.findings if each.key == "workdir")
    assert said in asked
    if not said:
        assert set(here) == {os.path.normpath(script_cases.loaded(found.job)["workdir"])}
        return
    assert len(set(here)) == 2
    assert script_cases.loaded(found.job)["workdir"] == script_cases.ASK
    if folders:
        sets = tuple(each for word in shlex.split(asked) if (each := word.rstrip(",")) and "=" in each)
        answered = convert(classified({"run.sub": text}), Options({}, sets=sets))
        assert answered.is_complete
        job = script_cases.loaded(answered.job)
        assert [os.path.normpath(each) for each in job["sweep"]["grid"]["workdir"]] == here == folders
        assert "null" in (job["workdir"], str(job["workdir"]).lower().replace("none", "null"))


@pytest.mark.parametrize(
    ("lines", "sourced"),
    [
        ("source env/bin/activate\ncd src/deep", "../../env/bin/activate"),
        ("cd src\nsource env/bin/activate", "env/bin/activate"),
        ("cd src\nsource env/bin/activate\ncd ..", "src/env/bin/activate"),
        ("cd /data\nsource env/bin/activate\ncd /data/x", "/data/env/bin/activate"),
        ("source /opt/env/bin/activate\ncd src", "/opt/env/bin/activate"),
        ("source activate\ncd src", "activate"),  # conda's, by PATH
        ("source $PWD/env/bin/activate\ncd src", "../env/bin/activate"),
    ],
)
def test_what_is_sourced_before_the_folder_changes_is_found_from_where_ranks_start(
    lines: str, sourced: str
) -> None:
    text = f"{_HEAD}{lines}\nsrun --mpi=none ./t\n"
    command = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)["command"]
    assert command == ["bash", "-lc", f"source {sourced}; exec ./t"]


def test_what_is_sourced_in_a_folder_that_is_not_told_is_said() -> None:
    text = f"{_HEAD}source env/bin/activate\ncd /data\nsrun --mpi=none ./t\n"
    (asked,) = (
        each
        for each in convert(classified({"run.sub": text}), Options({})).findings
        if each.kind == "question"
    )
    assert "the ranks start in /data" in asked.why
    again = convert(classified({"run.sub": text}), Options({"PWD": "/home/me"}))
    assert script_cases.loaded(again.job)["command"][2] == "source /home/me/env/bin/activate; exec ./t"


def test_a_script_that_was_itself_in_the_container_prepares_the_ranks_there() -> None:
    lines = "cd /code\nsource /opt/venv/bin/activate\nmodule load x\ncd sub\n"
    head = "#!/bin/bash\n#SBATCH -t 5 -G 1 --container-image=a/b:c\n"
    found = convert(classified({"run.sub": f"{head}{lines}python3 t.py\n"}), Options({}))
    job = script_cases.loaded(found.job)
    prefix = "cd /code; source /opt/venv/bin/activate; module load x; cd sub; "
    assert job["command"] == ["bash", "-lc", f"{prefix}exec python3 t.py"]
    assert not [each for each in found.findings if each.kind in ("left", "question") and each.key == ""]
    by_srun = convert(
        classified({"run.sub": f"{head}{lines}srun --mpi=none --container-image=a/b:c ./t\n"}), Options({})
    )
    assert script_cases.loaded(by_srun.job)["command"] == ["./t"]


def test_a_folder_named_by_the_jobs_number_is_in_the_folder_to_which_the_script_has_gone():
    lines = "cd /scratch\nmkdir $SLURM_JOB_ID\nmkdir $ROOT/x\nsrun --mpi=none --container-image=a/b:1 ./t\n"
    found = convert(classified({"run.sub": f"#!/bin/bash\n#SBATCH -N 2 -t 5\n{lines}"}), Options({}))
    assert "cd /scratch || exit; mkdir -p $SLURM_JOB_ID" in found.job
    assert "cd /scratch || exit; mkdir $ROOT" not in found.job


@pytest.mark.parametrize(
    "lines",
    [
        "cd a\nprepare",
        "cd $ROOT/a\nprepare; cd $SLURM_SUBMIT_DIR",
        "cd ~/a\nprepare\ncd b",
        'cd "$ROOT"/"$KIND"; prepare deep; cd $SLURM_SUBMIT_DIR',
        "prepare\ncd a",
    ],
)
def test_a_step_that_names_no_file_is_where_the_script_was(lines: str, tmp_path: Path) -> None:
    for folder in ("a/b", "c d"):
        Path(tmp_path, folder).mkdir(parents=True)
    Path(tmp_path, "prepare").write_text(f"#!/bin/sh\npwd >> {tmp_path}/shown\n")
    Path(tmp_path, "srun").write_text('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n')
    for name in ("prepare", "srun"):
        Path(tmp_path, name).chmod(stat.S_IRWXU)
    path = f"{tmp_path}:{os.environ['PATH']}"
    own = {"HOME": str(tmp_path), "ROOT": str(tmp_path), "KIND": "c d"}
    environment = {"PATH": path, "SLURM_SUBMIT_DIR": str(tmp_path), **own}
    text = lines.replace("prepare", "srun -n1 prepare")
    subprocess.run(["bash", "-c", text], cwd=tmp_path, env=environment, check=True, timeout=60)
    found = convert(classified({"run.sub": f"{_HEAD}{text}\nsrun --mpi=none ./app\n"}), Options({}))
    job = script_cases.loaded(found.job)
    (step,) = job["setup"]
    run = ["sh", "-c", step["run"]] if isinstance(step["run"], str) else step["run"]
    inherited = {name: own[name] for name in job.get("inherit", ())}
    subprocess.run(run, cwd=tmp_path, env={"PATH": path, **inherited}, check=True, timeout=60)
    wanted, there = Path(tmp_path, "shown").read_text().splitlines()
    assert there == wanted


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            'eval "$(/c/bin/conda shell.bash hook)"',
            'eval "$(/c/bin/conda shell.bash hook)"; exec ./t',
        ),
        ('C=/opt; eval "$($C/conda shell.bash hook)"', 'eval "$(/opt/conda shell.bash hook)"; exec ./t'),
        ('eval "$($HOME/c/bin/conda shell.bash hook)"', 'eval "$(~/c/bin/conda shell.bash hook)"; exec ./t'),
        ('eval "$(pyenv init -)"', 'eval "$(pyenv init -)"; exec ./t'),
        ("module list; ml av; ml; module load a", "module load a; exec ./t"),
    ],
)
def test_a_command_does_what_the_script_did_and_shows_nothing(line: str, text: str) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{line}\nsrun --mpi=none ./t\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["bash", "-lc", text]


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("(cd /data/y && srun --mpi=none ./t)", "/data/y"),
        ("(cd /data/y; srun --mpi=none ./t)", "/data/y"),
        ("(cd /data/y; ./pre); srun --mpi=none ./t", script_cases.ASK),
    ],
)
def test_the_folder_of_a_subshell_is_that_of_the_run_in_it(line: str, folder: str) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{line}\n"}), Options({}))
    assert script_cases.loaded(found.job)["workdir"] == folder


@pytest.mark.parametrize(
    "lines",
    [
        'f() { cd "$1"; srun; }\nf a/b &\nwait',
        "(cd a; cd b; srun) &\nwait",
        "f() { cd a; }\nf\nsrun",
        "X=a\ncd $X\nX=c\nsrun",
        "D=a/b\ncd $D\ncat <<X > job\n#!/bin/bash\nsrun\nX\nsbatch job\ncd -",
        "cd a\nsbatch <<'X'\n#!/bin/bash\ncd $SLURM_SUBMIT_DIR/b\nsrun\nX",
        "cd a\nsrun --chdir=b",
        "srun -D a/b",
        "cd a\ncd b\ncat > job <<X\n#!/bin/bash\nsrun\nX\nsbatch job",
    ],
)
def test_a_run_in_a_process_of_its_own_starts_where_that_is(lines: str, tmp_path: Path) -> None:
    for folder in ("a/b", "c"):
        Path(tmp_path, folder).mkdir(parents=True)
    programs = {
        "srun": f"[[ $1 == -D ]] && cd $2; [[ $1 == --chdir=* ]] && cd ${{1#*=}}; pwd > {tmp_path}/shown",
        "sbatch": 'SLURM_SUBMIT_DIR=$PWD bash "${1-/dev/stdin}"',  # a stub: at once, and not by a daemon
    }
    for name, text in programs.items():
        Path(tmp_path, name).write_text(f"#!/bin/bash\n{text}\n")
        Path(tmp_path, name).chmod(stat.S_IRWXU)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_SUBMIT_DIR": str(tmp_path)}
    subprocess.run(["bash", "-c", lines], cwd=tmp_path, env=environment, check=True, timeout=60)
    here = os.path.relpath(Path(tmp_path, "shown").read_text().strip(), tmp_path)
    script = re.sub(r"srun( -D \S+| --chdir=\S+|)", r"srun --mpi=none\1 ./t", lines)
    head = "" if "sbatch" in lines else _HEAD
    job = script_cases.loaded(convert(classified({"run.sub": f"{head}{script}\n"}), Options({})).job)
    assert os.path.normpath(job["workdir"]) == here


@pytest.mark.parametrize(
    "lines",
    [
        'IFS=: read -r id dir <<< "$(head -1 list)"\ncd "$dir"\nsrun --mpi=none ./t',
        'f() { cd "$1"; srun --mpi=none ./t; }\nwhile read -r row; do f "$row" & done < list\nwait',
        "cd $(< list)\nsrun --mpi=none ./t",
    ],
)
def test_a_folder_that_no_line_tells_is_asked_for(lines: str) -> None:
    job = script_cases.loaded(convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({})).job)
    assert (job["workdir"], job["command"]) == (script_cases.ASK, ["./t"])


@pytest.mark.parametrize(
    ("chdir", "told", "folder"),
    [
        ("/home/ada/run", {}, "/home/ada/run"),
        ("/home/ada/run", {"PWD": "/submit"}, "/home/ada/run"),
        ("run", {"PWD": "/submit"}, "/submit/run"),
        ("../x", {"PWD": "/submit"}, "/x"),
        ("run", {}, script_cases.ASK),
    ],
)
def test_the_folder_that_sbatch_was_to_go_to_is_that_in_which_the_script_is(
    chdir: str, told: dict[str, str], folder: str
) -> None:
    lines = f"#SBATCH --chdir={chdir}\nD=$(pwd)\nexport A=$PWD/a\n"
    run = "srun --mpi=none --container-image=a:b --container-mounts=$D:$D ./t\n"
    found = convert(classified({"run.sub": _HEAD + lines + run}), Options(told))
    job = script_cases.loaded(found.job)
    is_told = folder != script_cases.ASK
    assert job["mounts"] == [f"{folder}:{folder}" if is_told else folder]
    assert (job.get("env") == {"A": f"{folder}/a"}) == is_told
