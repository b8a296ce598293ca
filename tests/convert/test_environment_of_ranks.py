"""What of the submitter's shell is not in a job is said where the ranks may miss it."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 -t 10 --ntasks-per-node=8 --gpus-per-node=8\n"


@pytest.mark.parametrize(
    ("script", "is_said"),
    [
        ("srun --mpi=none python train.py\n", True),
        ("export LR=1\nsrun --mpi=none ./train\n", True),
        ("srun --mpi=none --export=ALL,A=1 ./train\n", True),
        ("srun --mpi=none --export=NONE ./train\n", False),
        ("srun --mpi=none --export=A,B ./train\n", False),
        ("module load openmpi\nsrun --mpi=none ./train\n", False),
        ("source venv/bin/activate\nsrun --mpi=none python train.py\n", False),
        ("srun --mpi=none --container-image=a/b:1 python train.py\n", False),
    ],
)
def test_an_environment_that_was_active_where_sbatch_was_typed_is_said_to_be_gone(
    script: str, is_said: bool
) -> None:
    found = convert(classified({"run.sub": _HEAD + script}), Options({})).findings
    assert any(each.what == "the submitter's shell" for each in found) == is_said


@pytest.mark.parametrize(
    ("files", "time", "is_defect"),
    [
        ({"run.sub": "export SBATCH_TIMELIMIT=50\nsrun --mpi=none ./t\n"}, "00:10:00", True),
        (
            {"config.sh": "export SBATCH_TIMELIMIT=50\n", "run.sub": "srun --mpi=none ./t\n"},
            "00:50:00",
            False,
        ),
    ],
)
def test_what_sbatch_reads_counts_where_it_is_set_before_the_script_begins(
    files: dict[str, str], time: str, is_defect: bool
) -> None:
    found = convert(classified(files | {"run.sub": _HEAD + files["run.sub"]}), Options({}))
    assert loaded(found.job)["time"] == time
    assert (
        any(each.kind == "defect" and "SBATCH_TIMELIMIT" in each.what for each in found.findings) == is_defect
    )


def test_what_is_exported_on_a_condition_is_said_with_the_condition_and_its_line() -> None:
    text = "#!/bin/bash\n#SBATCH -N 1 -t 5\nif [[ $(hostname) == dgx* ]]; then\n  export A=1\nfi\nsrun ./t\n"
    found = convert(classified({"jobs/run.sub": text}), Options({}))
    (said,) = (each for each in found.findings if each.kind == "assumed" and each.what == "A")
    assert "(`[[ $(hostname) == dgx* ]]`, run.sub:3)" in said.why


def test_what_is_exported_is_carried_where_no_run_is_found() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=1\n"
    lines = "export HF_HUB_OFFLINE=1 A=2\nexport OUT=/out/$USER\nfor each in $LIST; do bin/go $each & done\n"
    found = convert(classified({"run.sub": f"{head}{lines}wait\n"}), Options({}))
    job = loaded(found.job)
    assert (job["command"], job["env"]) == (ASK, {"HF_HUB_OFFLINE": "1", "A": "2"})
    (out,) = (each for each in found.findings if each.what == "OUT")
    assert (out.kind, out.todo) == ("left", "write it in front of the command: export OUT=/out/${USER}")


def _of_run(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return loaded(found.job), found


@pytest.mark.parametrize(
    ("run", "keeps"),
    [
        ("torchrun --nproc_per_node=8 --nnodes=2 t.py", False),
        ("bash -c 'torchrun --nproc_per_node=8 --nnodes=2 t.py'", False),
        ("--container-image=a/b:1 sh -c '. env.sh; torchrun --nproc_per_node=8 --nnodes=2 t.py'", False),
        ("accelerate launch --num_machines=2 --num_processes=16 t.py", False),
        ("deepspeed --num_gpus=8 t.py", False),
        ("--ntasks=16 python t.py", True),
    ],
)
def test_what_a_launcher_gives_each_process_is_not_what_the_script_exports(run: str, keeps: bool) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=8 -t 60\n"
    job, _ = _of_run(f"{head}export WORLD_SIZE=$SLURM_NNODES\nsrun --mpi=none {run}\n")
    assert ("WORLD_SIZE" in job.get("env", {})) == keeps


def test_what_a_configuration_says_and_no_key_of_the_job_a_program_of_the_ranks_may_read() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
    job, _ = _of_run(f"{head}CONT=bench:nlp NEXP=3 DGXNNODES=2 srun --mpi=none run.job\n")
    assert job["env"] == {"CONT": "bench:nlp", "NEXP": "3"}
    loop = "export NEXP=3 CONT=a/b:1\nfor i in $(seq $NEXP); do\n"
    job, _ = _of_run(f"{head}{loop}srun --mpi=none --container-image=$CONT python t.py\ndone\n")
    assert (job.get("env"), job["image"], job["trials"]["count"]) == (None, "a/b:1", "3")


@pytest.mark.parametrize("first", ["", "module load tool\n"])
def test_what_is_exported_behind_the_last_command_of_a_script_without_a_run_is_the_ranks(first: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2\n#SBATCH -t 10\n"
    text = f'{head}{first}export OMP_NUM_THREADS=6\nLOCAL=3\nLINE="srun -n 4 ./solve"\n'
    found = convert(classified({"go.sh": text}), Options({}))
    assert loaded(found.job)["env"] == {"OMP_NUM_THREADS": "6"}
    assert "OMP_NUM_THREADS" not in [each.what for each in found.findings if each.kind == "without effect"]


@pytest.mark.parametrize(
    ("first", "run", "what"),
    [
        ("#!/usr/bin/scl enable gcc-9 -- /bin/bash", "./t", "scl enable gcc-9 -- /bin/bash"),
        ("#! /usr/bin/env nix-shell\n#! nix-shell -i bash -p mpi", "srun --mpi=none ./t", "nix-shell"),
        ("#!/usr/bin/scl enable gcc-9 bash", "srun --mpi=none --export=NONE ./t", ""),
        ("#!/bin/bash -l", "srun --mpi=none ./t", ""),
        ("#!/usr/bin/env -S bash -e", "./t", ""),
        ('#!/bin/"bash', "./t", ""),
        ("", "srun --mpi=none bash ./t", ""),
    ],
)
def test_what_starts_the_shell_of_a_script_may_set_what_the_ranks_had(
    first: str, run: str, what: str
) -> None:
    text = f"{first}\n#SBATCH -N 1 --ntasks-per-node=1 --gpus-per-node=8 -t 60\n{run}\n"
    found = convert(classified({"go.sh": text}), Options({}))
    said = [each for each in found.findings if "starts the script's shell" in each.why]
    assert [(each.what, each.places[0].line) for each in said] == ([(what, 1)] if what else [])
    (fact,) = (each for each in found.launch if each.name == "environment")
    assert ("not determined" in fact.told) == bool(what)


@pytest.mark.parametrize(
    ("head", "name", "inherits"),
    [
        ("#SBATCH -N 1 --gres=gpu:2 -t 5\n", "CUDA_VISIBLE_DEVICES", False),
        ("#SBATCH -N 1 --gpus-per-node=4 -t 5\n", "ROCR_VISIBLE_DEVICES", False),
        ("#SBATCH -N 1 --gpus-per-node=0 -t 5\n", "CUDA_VISIBLE_DEVICES", True),
        ("#SBATCH -N 1 --gres=gpu:2 -t 5\n", "DATA_DEVICES", True),
    ],
)
@pytest.mark.parametrize("run", ["python t.py", "srun --mpi=none -n 1 python t.py"])
def test_what_slurm_sets_for_the_gpus_of_a_job_is_none_of_the_submitters(
    head: str, name: str, inherits: bool, run: str
) -> None:
    text = f"#!/bin/bash\n{head}export {name}=${name}\n{run}\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert (name in loaded(found.job).get("inherit", [])) == inherits
    (said,) = (each for each in found.findings if each.what.startswith(name))
    assert said.kind == ("carried" if inherits else "replaced")
