"""A run whose output the script keeps as a value is the run, where nothing else starts any."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


@pytest.mark.parametrize(
    ("lines", "mpi"),
    [
        ("OUT=$(srun --mpi=none ./t -x)\necho $OUT", "none"),
        ("OUT=$(mpirun -np 8 ./t -x)\necho $OUT", "pmix"),
        ("f() { out=$($1); echo $out; }\nf 'srun --mpi=none ./t -x'", "none"),
        ("T=$( { time srun --mpi=none ./t -x; } 2>&1 )\necho $T", "none"),
        ("echo took $(srun --mpi=none ./t -x)", "none"),
        ("N=$(srun -n1 hostname)\nOUT=`srun --mpi=none ./t -x`", "none"),
        ("OUT=$(srun --mpi=pmix --container-image=a/b:c ./t -x)", "pmix"),
    ],
)
def test_a_run_whose_output_is_kept_is_the_run(lines: str, mpi: str) -> None:
    found = _converted(lines)
    job = loaded(found.job)
    assert (job["command"], job["mpi"]) == (["./t", "-x"], mpi)
    (left,) = (each for each in found.findings if each.what.startswith("the output of "))
    assert "./t -x" in left.what
    assert "hpclaunch logs" in left.why


@pytest.mark.parametrize(
    "lines", ["srun --mpi=none ./t $(srun ./pick)", "P=$(srun ./pick)\nsrun --mpi=none ./t"]
)
def test_what_only_gives_a_word_is_not_the_run(lines: str) -> None:
    command = loaded(_converted(lines).job)["command"]
    assert "./t" in command
    assert "./pick" not in command


def test_a_text_for_another_shell_uses_its_variables() -> None:
    found = _converted("C='srun --mpi=none ./t'\nU=1\nbash -c \"$C\"")
    said = {each.what.partition("C=")[0] + "C": each.kind for each in found.findings if "C=" in each.what}
    assert set(said.values()) == {"carried"}
    assert [each.kind for each in found.findings if "U=1" in each.what] == ["without effect"]


@pytest.mark.parametrize("runtime", ["singularity exec --nv", "apptainer exec"])
def test_a_program_in_a_container_of_singularity_whose_output_is_kept_may_be_the_run(runtime: str) -> None:
    run = f"KEPT=$({runtime} lab.sif python fold.py --n 3 | tee -a log)\n"
    before = "python3 copy_it.py a b\nexport APPTAINER_BINDPATH=/sets:/in\n"
    lines = f"{before}{run}VERSION=$({runtime} lab.sif python -V)"
    found = _converted(lines.replace("-N 2", "-N 1"))
    mounts = [each.became for each in found.findings if each.key == "mounts.0"]
    assert (mounts, found.job) == (["mounts.0: /sets:/in"], "")
    assert any(each.became.startswith("command: python fold.py") for each in found.findings)
    assert [each.what for each in found.findings if "copy_it.py" in each.why] == ["2 commands may be the run"]


@pytest.mark.parametrize(("sign", "ending"), [("&>", "> o 2>&1"), (">&", "> o 2>&1"), ("&>>", ">> o 2>&1")])
def test_both_outputs_of_a_step_go_where_the_script_had_them(sign: str, ending: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 -t 5\n./make.sh a {sign} o\nsrun --mpi=none ./solve b\n"
    job = loaded(convert(classified({"run.sub": text}), Options({})).job)
    assert [each["run"] for each in job["setup"]] == [f"./make.sh a {ending}"]


@pytest.mark.parametrize(
    "kept", ["OUT=$(srun --mpi=none ./t -x | tail -1)", 'OUT="$(mpirun -np 8 ./t -x || true)"']
)
@pytest.mark.parametrize("behind", ["python3 draw.py rows", "python3 - rows <<E\nprint(1)\nE", "./summary"])
def test_a_run_whose_output_is_kept_is_the_run_beside_a_command_of_the_script_too(
    kept: str, behind: str
) -> None:
    found = _converted(f"{kept}\necho $OUT >> rows\n{behind}")
    job = loaded(found.job)
    assert (job["command"], job["nodes"], job["ranks_per_node"]) == (["./t", "-x"], "2", "4")
    said = [each for each in found.findings if each.places[0].line == 5]
    assert {each.kind for each in said} <= {"carried", "left"}
    assert said
    assert [each.kind for each in found.findings if each.what.startswith("the output of ")] == ["left"]
    (asked,) = (each for each in found.findings if each.what == "2 commands may be the run")
    assert "./t -x was taken" in asked.why


@pytest.mark.parametrize(
    "lines",
    [
        "P=$(srun ./pick)\npython3 draw.py $P",
        "export P=$(srun ./pick)\npython3 draw.py",
        "P=$(srun ./pick)\nif [ $P = a ]; then\npython3 draw.py\nfi",
        "P=$(srun ./pick)\npython3 train.py",
        "P=$(srun -N 1 -n 1 ./pick)\npython3 draw.py",
        "P=$(mpirun hostname)\npython3 draw.py",
        "P=$(srun python3 -c 'import os')\npython3 draw.py",
        "P=$(srun ./pick)\ntorchrun --nproc-per-node=4 draw.py",
    ],
)
def test_what_only_helps_a_command_of_the_script_is_not_the_run(lines: str) -> None:
    found = _converted(lines)
    assert not any(each.what.startswith("the output of ") for each in found.findings)
    assert any(each.became.startswith("command: ") and ".py" in each.became for each in found.findings)
