"""What a rank does before its command is done in the order in which the script did it."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"


def converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            "export LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH\nmodule load cuda\n",
            'export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; module load cuda; exec ./t',
        ),
        (
            "module load gcc\nexport LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH\nmodule load cuda\n",
            'module load gcc; export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; module load cuda; exec ./t',
        ),
        (
            "export A=$X:/a\nmodule load gcc\nexport B=$X:/b\n",
            'export A="$X":/a; module load gcc; export B="$X":/b; exec ./t',
        ),
        (
            "module load gcc\nLD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH ",
            'module load gcc; export LD_LIBRARY_PATH=/opt/lib:"$LD_LIBRARY_PATH"; exec ./t',
        ),
    ],
)
def test_modules_and_exports_keep_their_order(lines: str, text: str) -> None:
    found = converted(f"{lines}srun --mpi=pmix ./t")
    assert loaded(found.job)["command"] == ["bash", "-lc", text]


def test_an_export_that_adds_to_a_variable_is_not_to_be_set_in_env() -> None:
    found = converted("export LD_LIBRARY_PATH=/lib:$LD_LIBRARY_PATH\nsrun --mpi=pmix ./t")
    (left,) = (each for each in found.findings if each.kind == "left")
    assert (left.what, [place.line for place in left.places]) == ("export LD_LIBRARY_PATH", [3])
    assert "env" not in left.todo


@pytest.mark.parametrize(
    "line",
    [
        "module load gcc; source /env/bin/activate; srun --mpi=pmix ./t; module purge",
        "module load gcc && . /env/bin/activate && srun --mpi=pmix ./t",
        "module load gcc; \\\n  source /env/bin/activate; srun --mpi=pmix \\\n  ./t",
    ],
)
def test_what_stands_in_front_of_the_run_in_its_line_is_done_before_it(line: str) -> None:
    command = loaded(converted(line).job)["command"]
    assert command == ["bash", "-lc", "module load gcc; source /env/bin/activate; exec ./t"]


def test_a_limit_in_the_line_of_the_run_is_no_step() -> None:
    found = converted("ulimit -s unlimited; srun --mpi=pmix --container-image=a/b:1 ./t")
    (left,) = (each for each in found.findings if each.what == "ulimit -s unlimited")
    assert "handed this limit on" in left.why


@pytest.mark.parametrize("run", ["./run.sh input", "bash run.sh", "/opt/app input"])
def test_a_command_that_no_launcher_starts_gets_the_exports_of_its_script(run: str) -> None:
    lines = f"#SBATCH -N 1 --ntasks-per-node=1\nexport MODE=fast\nexport LIBS=/opt/lib:$LIBS\n{run}"
    found = converted(lines)
    job = loaded(found.job)
    assert job["env"] == {"MODE": "fast"}
    assert job["command"] == f'export LIBS=/opt/lib:"$LIBS"; exec {run}'


@pytest.mark.parametrize(
    ("run", "what", "why"),
    [
        ("torchrun --nproc_per_node=4 t.py", "a run without MPI", "find each other by MASTER_ADDR"),
        ("srun --immediate=60 ./t", "--immediate=60", "waits in the queue"),
        ("srun --reservation=mine ./t", "--reservation=mine", "takes no reservation of its own"),
    ],
)
def test_what_is_said_of_a_run_is_true_of_it(run: str, what: str, why: str) -> None:
    found = converted(f"#SBATCH -N 1\n{run}")
    assert [why in each.why for each in found.findings if each.what == what] == [True]
