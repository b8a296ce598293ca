"""What a script does to its shell before the run, in its order and on its conditions: a rank's own shell, run
for real, does what the script did, run for real with a srun and a module that are stubs."""

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
_SRUN = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n'
# A module whose name begins with "no" cannot be loaded.
_MODULE = '() { echo "module $*" >> "$LOG"; [[ $2 != no* ]]; }'


def _machine(top: Path) -> dict[str, str]:
    for name, text in {"srun": _SRUN, "t": '#!/bin/bash\necho "t ${A-} ${B-}" >> "$LOG"\n'}.items():
        Path(top, name).write_text(text)
        Path(top, name).chmod(stat.S_IRWXU)
    for name in ("one", "two"):
        Path(top, name).mkdir()
        Path(top, name, "activate").write_text(f'echo "sourced {name}" >> "$LOG"\nexport A={name}\n')
    Path(top, "sets").write_text("export A=file B=file\n")
    Path(top, "keys").write_text("A=key\nB=key\n")
    Path(top, "conda").write_text('#!/bin/bash\necho "export A=$3; echo activated $3 >> $LOG"\n')
    Path(top, "conda").chmod(stat.S_IRWXU)
    Path(top, "e.sh").write_text("module load of/e\nexport B=2\n")
    return {
        "PATH": f"{top}:{os.environ['PATH']}",
        "HOME": str(top),
        "LOG": str(top / "log"),
        "BASH_FUNC_module%%": _MODULE,
    }


def _done(command: list[str], top: Path, environment: dict[str, str]) -> list[str]:
    Path(top, "log").write_text("")
    subprocess.run(command, cwd=top, env=environment, check=True, timeout=60, capture_output=True)
    return Path(top, "log").read_text().splitlines()


@pytest.mark.parametrize(
    "lines",
    [
        "module purge\nsource e.sh",
        "module purge && module load x && module load y",
        "module load no/x || module load y\nmodule load z",
        "module load x || module load y || module load z",
        "module load no/x || module load no/y || module load z",
        "if [ -f {top}/one/activate ]; then source {top}/one/activate; else source {top}/two/activate; fi",
        "if [ -f {top}/six/activate ]; then source {top}/six/activate; else source {top}/two/activate; fi",
        "source {top}/six/activate 2>/dev/null || source {top}/two/activate 2>/dev/null || true",
        "[ -d {top}/one ] && source {top}/one/activate && module load x",
        "[ -d {top}/six ] && source {top}/six/activate && module load x\nmodule load y",
        "if ! [ -d {top}/six ]; then module load x; fi",
        "D={top}/two\nif [[ -d $D ]]; then source $D/activate; elif [ -d {top} ]; then module load no; fi",
        "run() {{ srun --mpi=none ./t; }}\nmodule load x\nrun\nexit",
        'if [ -d {top}/one ]; then eval "$({top}/conda shell.bash activate one)"\n'
        'else eval "$({top}/conda shell.bash activate two)"; fi',
        '[ -d {top}/six ] && eval "$({top}/conda shell.bash activate six)"\nmodule load y',
        'export B=1 && eval "$({top}/conda shell.bash activate one)" && module load x && module load y',
        "set -a; source {top}/keys; set +a",
        "set -o allexport\n[ -f {top}/keys ] && . {top}/keys\nset +o allexport\nsource {top}/one/activate",
        "set -a\nsource {top}/six/none || source {top}/keys\nmodule load x",
        "set -a; set +a; source {top}/keys",
        "load() {{ module load $1; }}\nmodule purge\nload x",
        "if command -v module >/dev/null 2>&1; then module load x; fi",
        "if [ -n '' ]; then module load x; fi\nmodule load y",
        "source {top}/sets\nexport A=mine",
        "export A=early B=early\nsource {top}/sets\nexport B=late",
        "source {top}/sets\nunset B",
        "for m in gcc openmpi; do module load $m; done",
        'MODS=(a b/2)\nfor m in "${{MODS[@]}}"; do module load "$m"; done\nmodule load c',
        "source {top}/sets; export A=mine; module load x",
        "source {top}/sets\nexport A=${{A:-mine}} C=${{C:-3}}",
        'source {top}/sets; [ -z "$A" ] && export A=mine',
        "module load x\nexport CUDA_HOME=/mine\nmodule load y",
    ],
)
def test_ranks_do_what_the_script_did_before_them(lines: str, tmp_path: Path) -> None:
    environment = _machine(tmp_path)
    text = f"{_HEAD}{lines.format(top=tmp_path)}\nsrun --mpi=none ./t\n"
    inputs = {"run.sub": text, "e.sh": Path(tmp_path, "e.sh").read_text()}
    given = {name: inputs[name] for name in inputs if name == "run.sub" or "e.sh" in lines}
    found = convert(classified(given), Options({}))
    job = script_cases.loaded(found.job)
    of_job = {**environment, **job.get("env", {})}
    assert _done(job["command"], tmp_path, of_job) == _done(["bash", "-c", text], tmp_path, environment)


@pytest.mark.parametrize(
    "condition",
    [
        '[ "$WHERE" = here ]',
        "[ -f $(ls | head -1) ]",
        "grep -q x /etc/os-release",
        '[ "$#" -gt 2 ] && [ -f $1 ]',
    ],
)
def test_what_hangs_on_a_condition_that_no_rank_can_look_at_is_told(condition: str) -> None:
    lines = f"if {condition}; then module load x; source /opt/one/activate; else module load y; fi"
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\nsrun --mpi=none ./t\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["./t"]
    told = [
        each.what for each in found.findings if each.kind in ("left", "question") and "condition" in each.why
    ]
    assert {"module load x", "source /opt/one/activate", "module load y"} == set(told)


def test_a_hook_in_a_file_is_evaluated_and_not_put_out(tmp_path: Path) -> None:
    environment = _machine(tmp_path)
    tool = Path(tmp_path, "micromamba")
    tool.write_text('#!/bin/bash\necho \'micromamba() { echo "hooked $*" >> "$LOG"; }\'\n')
    tool.chmod(stat.S_IRWXU)
    lines = f'T=$(mktemp)\n"{tool}" shell hook > "$T"\nsource "$T"\nmicromamba activate g\n'
    text = f"{_HEAD}{lines}\nsrun --mpi=none ./t\n"
    job = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)
    done = _done(job["command"], tmp_path, environment)
    assert done == ["hooked activate g", "t  "] == _done(["bash", "-c", text], tmp_path, environment)


def test_a_file_that_may_give_another_value_is_named_with_the_variables() -> None:
    lines = "N=4\nexport SHARED=a K=1 U=0\nsource ~/env.sh\nexport K=2\nsrun --mpi=none ./t $N"
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    (told,) = (each for each in found.findings if each.what == "source ~/env.sh" and each.kind == "assumed")
    assert told.why.endswith("another value to N, SHARED, U")
    assert [place.line for place in told.places] == [5, 3, 4]
    given = convert(classified({"run.sub": f"{_HEAD}{lines}\n", "env.sh": "N=8\n"}), Options({}))
    assert script_cases.loaded(given.job)["command"] == ["./t", "8"]


@pytest.mark.parametrize(
    "lines",
    [
        "srun --mpi=none bash -c 'module load x; ./t'",
        "srun --mpi=none bash <<'X'\nmodule load x\n./t\nX",
        "cat > own.sh <<'X'\n#!/bin/bash\nmodule load x\n./t\nX\nchmod +x own.sh\nsrun --mpi=none ./own.sh",
        "cat > own.sh <<'X'\nif true; then module load x; fi\n./t\nX\nsrun --mpi=none bash own.sh",
        "module load y\nsrun --mpi=none bash -c 'module load x; ./t'",
    ],
)
def test_modules_in_the_texts_of_ranks_are_loaded_by_a_login_shell(lines: str, tmp_path: Path) -> None:
    """The submitter's shell handed its function on; that of a rank has it where it is a login shell."""
    environment = _machine(tmp_path)
    text = f"{_HEAD}{lines}\n"
    of_script = _done(["bash", "-c", text], tmp_path, environment)
    module = environment.pop("BASH_FUNC_module%%")
    (tmp_path / ".bash_profile").write_text(f"module {module}\nexport -f module\n")
    command = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)["command"]
    assert _done(command, tmp_path, environment) == of_script
    assert "module load x" in of_script


@pytest.mark.parametrize(
    "lines",
    [
        "(module load a; true); module load b; srun --mpi=none ./t",
        "{{ module load a; true; }} | cat\nsrun --mpi=none ./t",
        "module load a 2>&1 | tee log2; srun --mpi=none ./t",
        "(module load a; srun --mpi=none ./t) | cat",
        "f() ( module load a; true ); f; module load b; srun --mpi=none ./t",
        "(source {top}/sets); srun --mpi=none ./t",
        "(module load a; srun --mpi=none ./t) &\nmodule load b\nwait",
    ],
)
def test_what_a_subshell_does_is_for_what_it_starts(lines: str, tmp_path: Path) -> None:
    """Each part of a pipeline is one, whether on the line of the run or on another."""
    environment = _machine(tmp_path)
    text = f"{_HEAD}{lines.format(top=tmp_path)}\n"
    command = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)["command"]
    own = [
        line for line in _done(["bash", "-c", text], tmp_path, environment) if line not in ("module load a",)
    ]
    kept = ["module load a"] if "load a; srun" in lines else []
    own = [line for line in own if not (kept and line == "module load b")]
    assert _done(command, tmp_path, environment) == [*kept, *own]


@pytest.mark.parametrize(
    "lines",
    [
        "source {top}/sets; export A=mine; ./t.sh; srun --mpi=none ./t",
        "module load cuda; export CUDA_HOME=/mine A=1; ./t.sh; module load y; srun --mpi=none ./t",
        "source {top}/sets; ./t.sh; export A=later; srun --mpi=none ./t",
    ],
)
def test_a_step_has_what_is_exported_behind_a_file_too(lines: str, tmp_path: Path) -> None:
    environment = _machine(tmp_path)
    Path(tmp_path, "t.sh").write_text(Path(tmp_path, "t").read_text())
    Path(tmp_path, "t.sh").chmod(stat.S_IRWXU)
    text = f"{_HEAD}{lines.format(top=tmp_path)}\n"
    job = script_cases.loaded(convert(classified({"run.sub": text}), Options({})).job)
    (step,) = (each["run"] for each in job["setup"])
    of_job = {**environment, **job["env"]}
    done = _done(["sh", "-c", step] if isinstance(step, str) else step, tmp_path, of_job)
    whole = _done(["bash", "-c", text], tmp_path, environment)
    assert done == whole[: len(done)]
    assert done[-1].startswith("t ")


@pytest.mark.parametrize(
    "lines",
    [
        "for m in $(cat mods); do module load $m; done\nsrun --mpi=none ./t",
        "for m in a b; do module load $m; srun --mpi=none ./t; done",
    ],
)
def test_a_module_that_no_line_names_is_told(lines: str) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["./t"]
    assert any("module load" in each.what and "in each round" in each.why for each in found.findings)


def test_a_default_behind_a_file_is_told_with_it() -> None:
    lines = "source ~/env.sh\nN=${OTHERS:-4}\nsrun --mpi=none ./t $N"
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    (told,) = (each for each in found.findings if each.what == "OTHERS")
    assert (told.became, "env.sh, which was not given, may set it" in told.why) == ("its default: 4", True)


def test_what_a_program_writes_for_one_kind_of_machine_is_not_evaluated_on_all() -> None:
    lines = (
        "if [ $(uname -m) = x86_64 ]; then\n"
        'eval "$(conda shell.bash activate amd)"\nelse\neval "$(conda shell.bash activate arm)"\nfi\n'
        "srun --mpi=none ./t"
    )
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == ["./t"]
    left = [each for each in found.findings if each.kind == "left" and each.what.startswith("eval")]
    assert [each.places[0].line for each in left] == [4, 6]
    assert all("$(uname -m)" in each.why for each in left)


def _told(lines: str, at: int) -> list[tuple[str, str]]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\nsrun --mpi=none ./t $W\n"}), Options({}))
    its = (each for each in found.findings if at + 2 in [place.line for place in each.places])
    return [(each.kind, each.what) for each in its]


def test_a_file_that_a_hook_is_written_into_gives_no_other_values() -> None:
    lines = 'export A=1\nT=$(mktemp)\nmicromamba shell hook > "$T"\nsource "$T"\nmicromamba activate g'
    assert [kind for kind, _ in _told(lines, 4)] == ["carried"] == [kind for kind, _ in _told(lines, 3)]
    assert ("assumed", "source $(mktemp)") in _told(lines.replace("micromamba shell", "./tool shell"), 4)


@pytest.mark.parametrize(
    ("lines", "reaches"),
    [
        ('conda activate a || (echo no && eval "$(conda shell.bash hook)" && conda activate a)', False),
        ('( eval "$(./tool env)"; conda activate a )', False),
        ('(\neval "$(./tool env)"\n./prepare\n)', True),
        ('eval "$(./tool env)"', True),
    ],
)
def test_what_is_evaluated_in_a_subshell_reaches_what_is_started_there(lines: str, reaches: bool) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\nsrun --mpi=none ./t $W\n"}), Options({}))
    job = script_cases.loaded(found.job)
    assert "eval" not in str(job["command"])
    assert (job.get("inherit") == ["W"], "W" in job.get("env", {})) == (not reaches, reaches)
