"""What a command is, and what reaches it, by arguments of a script, by functions and by a bare PATH."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -t 60\n"


def _of(lines: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))
    return script_cases.loaded(found.job), found


@pytest.mark.parametrize("words", ['$exe "$@"', "$exe $*", '"$@"', '$exe $more "$@"'])
def test_of_words_that_are_not_told_one_is_the_program(words: str) -> None:
    job, _ = _of(f"exe=$1; shift\nsrun --mpi=pmi2 --cpu-bind=none {words}")
    assert (job["mpi"], job["bind"]["cpus"], job["command"]) == ("pmi2", "none", script_cases.ASK)


@pytest.mark.parametrize("export", ["", "export "])
def test_a_new_path_reaches_the_ranks_whether_it_is_exported_again_or_not(export: str) -> None:
    job, _ = _of(f"d=/scratch/bin\n{export}PATH=$d:$PATH\nsrun --mpi=none solve in")
    assert job["command"] == 'export PATH=/scratch/bin:"$PATH"; exec solve in'


@pytest.mark.parametrize("text", ['"f; ./a $LR"', "'f; ./a 1'"])
def test_a_function_that_the_ranks_text_calls_stands_in_it_and_is_told_so(text: str) -> None:
    lines = f"f() {{\n  module load x\n  export H=1\n}}\nexport -f f\nsrun --mpi=none bash -c {text}"
    job, found = _of(lines)
    command = job["command"] if isinstance(job["command"], str) else job["command"][-1]
    assert "module load x" in command
    assert "export H=1" in command
    untrue = ("nothing that is launched uses it", "it is not part of what is launched")
    assert not [each for each in found.findings if each.why.startswith(untrue)]


def test_a_launcher_without_a_program_is_no_rival() -> None:
    _, found = _of("./a\n./b\npython -m torch.distributed.launch --nproc_per_node=8 \\")
    assert not found.refused


def test_programs_of_one_launch_may_be_one_world_though_each_has_one_rank() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -t 5 --gres=gpu:1\n#SBATCH hetjob\n#SBATCH -N 1 -t 5 --gres=gpu:1\n"
    line = "srun --het-group=0 -n 1 ./a : --het-group=1 -n 1 ./b\n"
    found = convert(classified({"run.sub": head + line}), Options({}))
    assert script_cases.loaded(found.job)["mpi"] == script_cases.ASK


def test_a_variable_of_slurms_that_the_script_only_looks_at_asks_nothing() -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:4 -t 5\n"
    text = f"{head}n=$SLURM_NTASKS\nsrun torchrun --nproc_per_node 4 t.py\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert script_cases.loaded(found.job)["ranks_per_node"] == "4"


@pytest.mark.parametrize("name", ["helper", ".lhelper", "h.sh"])
def test_a_helper_that_the_script_writes_line_by_line_has_its_rank_in_the_job(name: str) -> None:
    helper = f"echo '#!/bin/bash' > {name}\necho './a $OMPI_COMM_WORLD_LOCAL_RANK' >> {name}\nchmod +x {name}"
    job, _ = _of(f"{helper}\nmpirun -np 8 ./{name}")
    assert "export OMPI_COMM_WORLD_LOCAL_RANK=" in job["command"]
    assert "SLURM_LOCALID" in job["command"]


@pytest.mark.parametrize(("head", "is_said"), [("", True), ("#SBATCH -N 2\n", False)])
def test_what_other_hosts_did_not_have_of_the_environment_is_told(head: str, is_said: bool) -> None:
    text = f"#!/bin/bash\n{head}export NCCL_DEBUG=INFO\nmpirun -np 16 --host a:8,b:8 ./a\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert script_cases.loaded(found.job)["env"] == {"NCCL_DEBUG": "INFO"}
    assert any(each.became == "env of all ranks" for each in found.findings) == is_said


@pytest.mark.parametrize(
    ("run", "named"),
    [
        ("A=1 mpirun -np 8 --host localhost:8 ./a", ""),
        ("mpirun -np 8 --host a:4,b:4 --mca pml ob1 ./a", ""),
        ("A=1 mpirun -np 8 --host a:4,b:4 --mca pml ob1 ./a", "--host a:4,b:4: A"),
    ],
)
def test_all_ranks_have_the_parameters_of_mpirun_and_its_own_host_has_all(run: str, named: str) -> None:
    found = convert(classified({"run.sub": f"#!/bin/bash\n{run}\n"}), Options({}))
    assert "".join(each.what for each in found.findings if each.became == "env of all ranks") == named


def test_a_run_in_a_pipe_at_the_end_hides_its_own_status_alone() -> None:
    _, found = _of("srun --mpi=none ./stage\nsrun --mpi=none ./a |& tee out")
    assert [each.what for each in found.findings if each.kind == "defect"] == ["`... |& tee out`"]
