"""The sizes that srun takes of variables, and those of options that say nothing by themselves."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_RUN = "srun --mpi=pmix ./x"


def _converted(*lines: str) -> Conversion:
    text = "\n".join(("#!/bin/bash", "#SBATCH --gpus-per-node=8 -t 10", *lines))
    return convert(classified({"run.sub": f"{text}\n"}), Options({}, site="here"))


def _job(*lines: str) -> dict[str, Any]:
    job: dict[str, Any] = loaded(_converted(*lines).job)
    return job


@pytest.mark.parametrize(
    ("lines", "nodes", "ranks"),
    [
        (("#SBATCH -N 2", "export SLURM_NTASKS_PER_NODE=4", _RUN), "2", ASK),
        (("#SBATCH -N 2", "export SLURM_NTASKS_PER_NODE=1", _RUN), "2", "1"),
        (("#SBATCH -N 2 -n 16", "export SLURM_NTASKS_PER_NODE=4", _RUN), "2", "8"),  # SLURM_NTASKS wins
        (("#SBATCH -N 2 --ntasks-per-node=8", "export SLURM_JOB_NUM_NODES=1", _RUN), ASK, "8"),
        (("#SBATCH -N 2 --ntasks-per-node=8", "export SLURM_JOB_NUM_NODES=2", _RUN), "2", "8"),
        (("#SBATCH -N 2 --ntasks-per-node=8", "SLURM_JOB_NUM_NODES=1 " + _RUN), ASK, "8"),
        (("#SBATCH -N 2 --ntasks-per-node=8", "export SLURM_NNODES=1", _RUN), ASK, "8"),
        (("#SBATCH -N 2 --ntasks-per-node=8", "export SLURM_NNODES=2", _RUN), "2", "8"),
        (("#SBATCH -N 2 --ntasks-per-node=8", "export SLURM_NTASKS=4", _RUN), "2", ASK),
        (("#SBATCH -N 2 --ntasks-per-node=8", "env SLURM_NTASKS=4 " + _RUN), "2", ASK),
        (("#SBATCH -N 2 --ntasks-per-node=8", "export SLURM_NTASKS=4", "timeout 9 " + _RUN), "2", ASK),
        (("#SBATCH -N 2 -n 16", "unset SLURM_NTASKS SLURM_NPROCS", _RUN), "2", ASK),
        (("#SBATCH -N 2 -n 16", "unset SLURM_NTASKS", _RUN.replace("srun", "srun -n 16")), "2", "8"),
        (("#SBATCH -N 2 --ntasks-per-node=8", "unset SLURM_NTASKS", _RUN), "2", "8"),
        (("#SBATCH -N 2 --ntasks-per-node=8", "unset SLURM_NTASKS SLURM_NTASKS_PER_NODE", _RUN), "2", ASK),
        (("#SBATCH -N 2 -n 16", "env -u SLURM_NTASKS " + _RUN), "2", ASK),
    ],
)
def test_a_size_that_srun_takes_of_a_variable_is_asked(
    lines: tuple[str, ...], nodes: str, ranks: str
) -> None:
    job = _job(*lines)
    assert (job["nodes"], job["ranks_per_node"]) == (nodes, ranks)


@pytest.mark.parametrize(
    ("variable", "raw"),
    [
        ("SLURM_UNBUFFEREDIO=1", ["--unbuffered"]),
        ("SLURM_LABELIO=yes", ["--label"]),
        ("SLURM_LABELIO=0", None),
        ("SLURM_UNBUFFEREDIO=no", None),
        ("SLURM_UNBUFFEREDIO=", ["--unbuffered"]),
    ],
)
def test_a_variable_that_turns_an_option_on_gives_it_no_value(variable: str, raw: list[str] | None) -> None:
    job = _job("#SBATCH -N 2 --ntasks-per-node=8", f"export {variable}", _RUN)
    assert job.get("sites", {}).get("here", {}).get("srun") == raw


@pytest.mark.parametrize(
    ("batch", "options", "is_wrong"),
    [
        ("-N 2 --ntasks-per-node=8", "--ntasks-per-node=1", True),
        ("-N 2 --ntasks-per-node=8", "-N 2 --ntasks-per-node=1", True),
        ("-N 2 -n 16", "--ntasks-per-node=1", True),
        ("-N 2 --ntasks-per-node=8", "-N 1", True),
        ("-N 2 --ntasks-per-node=8", "--ntasks-per-node=8", False),
        ("-N 2 --ntasks-per-node=8", "-N 2", False),
        ("-N 2 --ntasks-per-node=8", "-n 2 --ntasks-per-node=1", False),
        ("-N 2 --ntasks-per-node=8", "-N 1 -n 8", False),
        ("-N 2", "--ntasks-per-node=8", False),  # one task each, which sbatch does not set
    ],
)
@pytest.mark.parametrize("is_run", [True, False])
def test_tasks_of_sbatch_that_an_option_does_not_take_back_are_told(
    batch: str, options: str, is_wrong: bool, is_run: bool
) -> None:
    line = f"srun --mpi=pmix {options} " + ("./x" if is_run else "touch f")
    found = _converted(f"#SBATCH {batch}", line, *(() if is_run else (f"{_RUN} 5",)))
    assert any(each.kind == "defect" and "-n" in each.what for each in found.findings) == is_wrong
    if is_run:
        assert (loaded(found.job)["ranks_per_node"] == ASK) == is_wrong


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("#SBATCH --ntasks-per-node=8", f"SLURM_NTASKS=4 {_RUN}"),
        ("#SBATCH --ntasks-per-node=8", "srun docker run --rm reg.example/a:1 ./x"),
        ("#SBATCH -G 16", f"{_RUN}"),
    ],
)
def test_no_line_for_sbatch_vanishes(line: str, run: str) -> None:
    found = _converted("#SBATCH -N 2", line, run)
    assert any(each.line == 4 for finding in found.findings for each in finding.places)


@pytest.mark.parametrize(("name", "is_its"), [("SRUN_EXPORT_ENV", True), ("SRUN_ARGS", False)])
def test_what_srun_does_not_read_is_no_variable_of_its(name: str, is_its: bool) -> None:
    found = _converted("#SBATCH -N 2 --ntasks-per-node=8", f"export {name}=--label", f"srun ${name} ./x")
    assert (name in loaded(found.job).get("env", {})) is not is_its
    assert any("srun takes it for an option" in each.why for each in found.findings) is is_its


def test_the_limit_that_srun_takes_of_a_variable_is_said_as_that_of_its_option() -> None:
    found = _converted("#SBATCH -N 2 --ntasks-per-node=8", "export SLURM_TIMELIMIT=5", _RUN)
    said = next(each for each in found.findings if each.what == "SLURM_TIMELIMIT")
    assert said.kind == "left"


def test_the_folder_that_srun_takes_of_a_variable_is_that_of_the_ranks() -> None:
    job = _job("#SBATCH -N 2 --ntasks-per-node=8", "export SLURM_REMOTE_CWD=/work", _RUN)
    assert job["workdir"] == "/work"


@pytest.mark.parametrize(
    ("lines", "image", "mounts"),
    [
        (("env PYXIS_CONTAINER_IMAGE=lab/a:1 PYXIS_CONTAINER_MOUNTS=/x:/y " + _RUN,), "lab/a:1", ["/x:/y"]),
        (("export PYXIS_CONTAINER_IMAGE=lab/a:1", "env -u PYXIS_CONTAINER_IMAGE " + _RUN), None, None),
        (
            (
                "export PYXIS_CONTAINER_IMAGE=lab/a:1 _SLURM_SPANK_OPTION_pyxis_container_image=lab/b:2",
                "export PYXIS_CONTAINER_MOUNTS=/x:/y",
                f"SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_mounts=/v:/w {_RUN}",
            ),
            "lab/b:2",
            ["/v:/w"],
        ),
    ],
)
def test_options_of_pyxis_are_those_that_srun_has(
    lines: tuple[str, ...], image: str | None, mounts: list[str] | None
) -> None:
    job = _job("#SBATCH -N 2 --ntasks-per-node=8", *lines)
    assert (job.get("image"), job.get("mounts")) == (image, mounts)


@pytest.mark.parametrize(
    ("lines", "env"),
    [
        (("SLURM_EXPORT_ENV=NONE " + _RUN,), None),
        (("env SLURM_EXPORT_ENV=NONE " + _RUN,), None),
        (("export SLURM_EXPORT_ENV=NONE", "env -u SLURM_EXPORT_ENV B=2 " + _RUN), {"A": "1", "B": "2"}),
    ],
)
def test_what_stands_in_front_of_srun_tells_what_it_hands_on(
    lines: tuple[str, ...], env: dict[str, str] | None
) -> None:
    assert _job("#SBATCH -N 2 --ntasks-per-node=8", "export A=1", *lines).get("env") == env


@pytest.mark.parametrize("by_env", ["", "env "])
def test_a_variable_in_front_of_srun_says_how_its_ranks_meet_and_are_bound(by_env: str) -> None:
    in_front = "SLURM_MPI_TYPE=pmi2 SLURM_CPU_BIND=none SLURM_MEM_BIND=local"
    job = _job("#SBATCH -N 2 --ntasks-per-node=8", f"{by_env}{in_front} srun ./x")
    assert (job["mpi"], job["bind"]["cpus"]) == ("pmi2", "none")
    beside = _job("#SBATCH -N 2 --ntasks-per-node=8", f"{by_env}SLURM_MPI_TYPE=pmi2 srun --mpi=none ./x")
    assert beside["mpi"] == "none"


@pytest.mark.parametrize("variable", ["SLURM_GPUS_PER_TASK=1", "SLURM_GPUS_PER_NODE=4", "SLURM_GRES=gpu:4"])
@pytest.mark.parametrize("line", ["export {}\n{}", "{} {}"])
def test_gpus_that_only_a_variable_of_srun_tells_are_those_of_the_job(variable: str, line: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 -t 10\n{line.format(variable, _RUN)}\n"
    job = loaded(convert(classified({"run.sub": text}), Options({}, site="here")).job)
    assert job["gpus_per_node"] == "4"
