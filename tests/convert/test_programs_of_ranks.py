"""A Python program of the ranks that was given: which variables it counts on, and who sets them."""

from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"


def _converted(line: str, program: str, name: str = "train.py") -> Conversion:
    files = {"run.sub": f"{_HEAD}{line}\n", name: f"import os\n{program}\n"}
    return convert(classified(files), Options({}))


@pytest.mark.parametrize(
    ("line", "program", "told"),
    [
        ("srun --mpi=none python train.py", "r = os.environ['OMPI_COMM_WORLD_RANK']", "SLURM_PROCID"),
        (
            "srun --mpi=none python train.py",
            'r = int(os.environ["MV2_COMM_WORLD_LOCAL_RANK"])',
            "SLURM_LOCALID",
        ),
        (
            "srun --mpi=none python -u src/train.py -x",
            "from os import environ\nr = environ['PMI_RANK']",
            "SLURM_PROCID",
        ),
        (
            "srun --mpi=none python train.py",
            "for i in (1, 2):\n    s = os.environ['OMPI_UNIVERSE_SIZE']",
            "env",
        ),
    ],
)
def test_what_only_mpirun_sets_is_missed_by_a_program_that_srun_starts(
    line: str, program: str, told: str
) -> None:
    found = _converted(line, program)
    (defect,) = (each for each in found.findings if each.kind == "defect")
    assert defect.places[0].file == "train.py"
    assert defect.places[0].line == 2 + program.count("\n")
    assert told in defect.todo


@pytest.mark.parametrize(
    "program",
    [
        "r = os.environ.get('OMPI_COMM_WORLD_RANK')",
        "r = os.environ['OMPI_COMM_WORLD_RANK'] if 'OMPI_COMM_WORLD_RANK' in os.environ else 0",
        "os.environ['PMI_RANK'] = os.environ['SLURM_PROCID']\nr = os.environ['PMI_RANK']",
        "# os.environ['PMI_RANK']",
        "try:\n    r = os.environ['PMI_RANK']\nexcept KeyError:\n    r = 0",
    ],
)
def test_what_a_program_can_do_without_is_not_missed(program: str) -> None:
    assert not [
        each
        for each in _converted("srun --mpi=none python train.py", program).findings
        if each.kind == "defect"
    ]
    other = _converted("srun --mpi=none python other.py", "r = os.environ['PMI_RANK']")
    assert not [each for each in other.findings if each.kind == "defect"]


def test_a_program_has_what_mpirun_sets_under_its_name() -> None:
    found = _converted("mpirun -np 8 python train.py", "r = os.environ['OMPI_COMM_WORLD_RANK']")
    assert "export OMPI_COMM_WORLD_RANK=" in loaded(found.job)["command"]
    assert not [each for each in found.findings if each.kind == "defect"]


@pytest.mark.parametrize(
    ("program", "rendezvous"),
    [
        ("r = os.environ['RANK']\nn = os.environ['WORLD_SIZE']", "torch"),
        ("r = os.environ.get('RANK', 0)", None),
        ("os.environ['RANK'] = os.environ['SLURM_PROCID']\nr = os.environ['RANK']", None),
    ],
)
def test_numbers_of_torch_that_a_program_reads_are_those_of_rendezvous(
    program: str, rendezvous: str | None
) -> None:
    found = _converted("srun --mpi=none python train.py", program)
    assert loaded(found.job).get("rendezvous") == rendezvous
    said = [each.places[0].file for each in found.findings if each.key == "rendezvous"]
    assert said == ["train.py"] * (rendezvous is not None)
    other = _converted("srun --mpi=none python other.py", program)
    assert "rendezvous" not in loaded(other.job)


def test_a_program_with_loops_is_no_script_of_the_shell() -> None:
    found = _converted(
        "srun --mpi=none python train.py", "x=1\nfor i in range(3):\n    print(`x`)\nif x:\n    wait()"
    )
    assert loaded(found.job)["command"] == ["python", "train.py"]
    assert [each.kind for each in found.findings if each.places[0].file == "train.py"] == ["unread"]


@pytest.mark.parametrize(
    ("line", "is_said"),
    [
        ("srun wrf.exe", True),
        ("srun on_each_node.sh", True),
        ("srun ./on_each_node.sh", False),
        ("cp /opt/lmp .\nsrun lmp -in a", True),
        ("ln -sf ../run/lmp lmp\nsrun --cpu-bind=cores lmp -in a", True),
        ("srun lmp -in a", False),
        ("srun ./wrf.exe", False),
        ("cp /opt/lmp .\nsrun ./lmp", False),
        ("mpirun wrf.exe", False),
        ("srun --container-image=a/b:1 wrf.exe", False),
    ],
)
def test_a_program_that_srun_finds_in_the_working_folder_is_told(line: str, *, is_said: bool) -> None:
    found = [each for each in _converted(line, "").findings if "PATH alone" in each.why]
    assert [each.kind for each in found] == ["assumed"] * is_said


@pytest.mark.parametrize(
    ("line", "gpus", "named"),
    [
        ("srun llamafactory-cli train a.yaml", 4, "llamafactory-cli train"),
        (
            "srun bash -c 'export FORCE_TORCHRUN=1; llamafactory-cli train a.yaml'",
            4,
            "llamafactory-cli train",
        ),
        ("/opt/venv/bin/axolotl train a.yaml", 2, "axolotl train"),
        ("srun llamafactory-cli train a.yaml", 1, ""),
        ("srun llamafactory-cli export a.yaml", 4, ""),
        ("srun bash -c 'echo allamafactory-cli trains'", 4, ""),
    ],
)
def test_a_program_that_starts_a_process_for_each_gpu_by_itself_is_told(
    line: str, gpus: int, named: str
) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gres=gpu:{gpus} -t 60\n{line}\n"
    found = [each.what for each in _of_run(text)[1].findings if "a process for each GPU" in each.why]
    assert found == [named] * bool(named)


def _of_run(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


@pytest.mark.parametrize("option", ["-port 9969", "--some-thing 12", "-some=5"])
def test_a_number_behind_an_option_that_nobody_knows_is_no_program(option: str) -> None:
    job, _ = _of_run(f"#!/bin/bash\nmpirun {option} -np 16 -H h0:8,h1:8 -bind-to none -x A=1 python t.py\n")
    assert (job["command"], job["nodes"], job["ranks_per_node"]) == (["python", "t.py"], "2", "8")
    assert (job["env"], job["bind"]["cpus"]) == ({"A": "1"}, "none")
