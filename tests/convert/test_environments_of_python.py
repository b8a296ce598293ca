"""What conda run, uv run and their like start is the job's command, in the same environment."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 -t 10 --ntasks-per-node=1 --gpus-per-node=8\n"


@pytest.mark.parametrize(
    ("run", "command", "ranks"),
    [
        ("srun --mpi=none conda run -n e python t.py", "conda run -n e python t.py", "1"),
        ("srun --mpi=none micromamba run -p /e python -m t", "micromamba run -p /e python -m t", "1"),
        ("srun --mpi=none uv run torchrun --nproc-per-node 8 t.py", "uv run python -u t.py", "8"),
        (
            "srun --mpi=none conda run --no-capture-output -n e torchrun --nproc-per-node=4 t.py --lr 1",
            "conda run --no-capture-output -n e python -u t.py --lr 1",
            "4",
        ),
        ("srun --mpi=none .venv/bin/torchrun --nproc-per-node 8 t.py", ".venv/bin/python -u t.py", "8"),
        ("srun --mpi=none ~/.local/bin/torchrun --nproc-per-node 8 t.py", "python -u t.py", "8"),
        ("/home/ox/.local/bin/accelerate launch --num_processes 8 t.py", "python -u t.py", "8"),
        ("srun --mpi=none /e/bin/accelerate launch --num_processes 8 t.py", "/e/bin/python -u t.py", "8"),
        ("srun --mpi=none $(which torchrun) --nproc-per-node 8 t.py", "python -u t.py", "8"),
        ("srun --mpi=none uv run --extra gpu t.py", "uv run --extra gpu t.py", "1"),
        ("srun --mpi=none uv run -m t", "uv run -m t", "1"),
        ("srun --mpi=none poetry run python t.py", "poetry run python t.py", "1"),
    ],
)
def test_the_program_in_an_environment_is_the_command_with_what_makes_that(
    run: str, command: str, ranks: str
) -> None:
    job = loaded(convert(classified({"run.sub": f"{_HEAD}{run}\n"}), Options({})).job)
    assert (job["command"], job["ranks_per_node"]) == (command.split(), ranks)


def test_what_only_changes_an_environment_is_no_run() -> None:
    script = f"{_HEAD}srun -N 2 -n 2 conda install -y x\nsrun --mpi=none ./t\n"
    assert loaded(convert(classified({"run.sub": script}), Options({})).job)["command"] == ["./t"]


@pytest.mark.parametrize("by", ["uv run", "poetry run", "conda run -n e", "timeout 60 uv run"])
def test_a_run_in_one_that_is_waited_for_is_the_run(by: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -t 60 --gpus-per-node=4\n"
    lines = f"{by} server --port 80 &\n{by} torchrun --nproc_per_node=4 t.py &\nwait\n"
    job = loaded(convert(classified({"run.sub": head + lines}), Options({})).job)
    assert (job["ranks_per_node"], job["rendezvous"]) == ("4", "torch")


@pytest.mark.parametrize("first", ["module load tools/12", "conda activate e", ""])
def test_what_the_command_does_first_may_set_what_nobody_gave(first: str) -> None:
    script = f"{_HEAD}{first}\nsrun --mpi=none ./t $TOOLS_HOME/x\n"
    found = convert(classified({"run.sub": script}), Options({}))
    (why,) = (each.why for each in found.findings if each.key == "inherit.0")
    assert (f"`{first}`" in why, "does not set it" in why) == (bool(first), bool(first))


@pytest.mark.parametrize("python", [".venv/bin/python", "../env-3.11/bin/python3.11", "python3"])
def test_the_python_of_an_environment_beside_the_script_is_the_run(python: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -t 60 --gpus-per-node=1\nset -e\n"
    lines = f"{python} - <<E\nprint(1)\nE\n{python} -m pkg.fit --all\n"
    job = loaded(convert(classified({"run.sub": head + lines}), Options({})).job)
    assert (job["command"], job["ranks_per_node"]) == ([python, "-m", "pkg.fit", "--all"], "1")
