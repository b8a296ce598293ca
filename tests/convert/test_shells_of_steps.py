"""What srun started before the run and after it had the modules and the variables of the script's shell: so
have the steps of the job."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_SRUN = "srun --mpi=pmix"
_RUN = f"{_SRUN} ./main"


def _of(*lines: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": _HEAD + "\n".join(lines) + "\n"}), Options({}))
    return script_cases.loaded(found.job), found


@pytest.mark.parametrize(
    ("start", "run"),
    [
        ("srun -n1 -N1 ./prepare", "exec ./prepare"),
        ("srun --mpi=pmix ./prepare", "exec ./prepare"),
        ("python prepare.py", "exec python prepare.py"),
        ("./prepare.sh > out.txt", "./prepare.sh > out.txt"),
    ],
)
def test_a_program_before_the_run_has_the_modules_that_were_loaded_before_it(start: str, run: str) -> None:
    job, _ = _of("module load a", "source v/bin/activate", start, "module load b", _RUN)
    assert [each["run"] for each in job["setup"]] == [
        ["bash", "-lc", f"module load a; source v/bin/activate; {run}"]
    ]
    text = "module load a; source v/bin/activate; module load b; exec ./main"
    assert job["command"] == ["bash", "-lc", text]


@pytest.mark.parametrize("line", ["mkdir -p out", "cp a b", "srun -n1 -N1 rm -rf out"])
def test_a_program_that_is_the_same_everywhere_needs_none(line: str) -> None:
    job, _ = _of("module load a", line, _RUN)
    assert job["setup"][0]["run"][0] == line.removeprefix("srun -n1 -N1 ").split()[0]


def test_a_program_behind_the_run_has_those_of_its_own_too() -> None:
    job, found = _of("module load a", _RUN, "module load plots", "srun -n1 -N1 ./plot")
    assert [each["run"] for each in job["after"]] == [
        ["bash", "-lc", "module load a; module load plots; exec ./plot"]
    ]
    (said,) = (each for each in found.findings if [place.line for place in each.places] == [5])
    assert (said.kind, said.key) == ("carried", "after")


def test_a_variable_that_the_command_sets_is_set_by_the_step_too() -> None:
    job, found = _of("export PATH=$HOME/bin:$PATH", "srun -n1 -N1 prepare", _RUN)
    assert job["setup"][0]["run"] == 'export PATH="$HOME"/bin:"$PATH"; exec prepare'
    assert job["inherit"] == ["HOME"]
    assert sum("PATH" in each.what and each.kind == "left" for each in found.findings) == 1


@pytest.mark.parametrize(
    "lines",
    [
        ("export MODE=a", "SRUN step", "export MODE='b c'", "SRUN run", "unset MODE", "SRUN post"),
        ("MODE=a SRUN step", "KIND=x MODE=b SRUN run", "MODE=c SRUN post"),
        ("SRUN all", "KIND=x SRUN all", "KIND='y z' MODE=b SRUN all"),
        ("MODE=$WHO SRUN step", "MODE=b SRUN run", "SRUN post"),
        ("MODE=a ./step.sh", "MODE=b SRUN run", "KIND=k bash ./post.sh"),
    ],
)
def test_a_step_has_the_variables_that_its_command_had(lines: tuple[str, ...], tmp_path: Path) -> None:
    show = '#!/bin/sh\necho "$(basename "$0") ${MODE-none} ${KIND-none}" >> "$SHOWN"\n'
    for name in ("step", "run", "post", "all", "step.sh", "post.sh"):
        Path(tmp_path, name).write_text(show)
        Path(tmp_path, name).chmod(0o755)
    own = {"PATH": os.environ["PATH"], "WHO": "me", "SHOWN": str(tmp_path / "wanted")}
    texts = [line.replace("SRUN ", "./") for line in lines]
    subprocess.run(["bash", "-c", "\n".join(texts)], cwd=tmp_path, env=own, check=True, timeout=60)
    job, _ = _of(*(line.replace("SRUN ", f"{_SRUN} ./") for line in lines))
    of_job = {**own, "SHOWN": str(tmp_path / "shown"), **job.get("env", {})}
    for each in (*job.get("setup", ()), {"run": job["command"]}, *job.get("after", ())):
        words = ["sh", "-c", each["run"]] if isinstance(each["run"], str) else each["run"]
        subprocess.run(words, cwd=tmp_path, env=of_job, check=True, timeout=60)
    assert Path(tmp_path, "shown").read_text() == Path(tmp_path, "wanted").read_text()


@pytest.mark.parametrize(
    "line", ["conda run -n v ./prepare", "conda create -n v", "mamba install x", "conda list"]
)
def test_what_a_program_of_conda_does_without_its_shell_is_done_once(line: str) -> None:
    job, found = _of("conda activate v", line, _RUN)
    assert job["command"] == ["bash", "-lc", "conda activate v; exec ./main"]
    told = [each for each in found.findings if each.what == line]
    assert [each.kind for each in told] == ["left"]
