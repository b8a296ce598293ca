"""A question has beside it what the text says of its answer."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("lines", "key", "said"),
    [
        ("export CUDA_VISIBLE_DEVICES=0,1,2,3\nsrun --mpi=none ./t", "gpus_per_node",
         "CUDA_VISIBLE_DEVICES=0,1,2,3 is of 4 on each node, at the least"),
        ("srun --mpi=none --gpu-bind=map_gpu:0,3,5 ./t", "gpus_per_node", "is of 6 on each node"),
        ("srun -n 2 --gpus=8 ./check\nsrun --mpi=none ./t", "gpus_per_node",
         "its line asks Slurm for none (--gpus=8 is of run.sub:3, which is not this run)"),
        ("srun -n 2 ./check\nsrun --mpi=none ./t", "gpus_per_node", "no line asks Slurm for any"),
        ("srun --mpi=none ./t", "gpus_per_node", "4 where each rank has one of its own"),
        ("module load gcc openmpi/4.1\nsrun ./t", "mpi", "; openmpi/4.1 is loaded: pmix, or pmi2"),
        ("ml impi/2021\nsrun ./t", "mpi", "; impi/2021 is loaded: pmi2 with"),
        ("ml cray-mpich/8\nsrun ./t", "mpi", "; cray-mpich/8 is loaded: pmi2, where"),
        ("srun -n 16 --ntasks-per-node=8 torchrun --nproc_per_node=gpu t.py", "ranks_per_node",
         "8 times as many as torchrun starts"),
    ],
)  # fmt: skip
def test_a_question_has_beside_it_what_the_text_says_of_its_answer(lines: str, key: str, said: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 -t 5\n{lines}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    (question,) = [each for each in found.findings if each.kind == "question" and each.key == key]
    assert said in question.why


@pytest.mark.parametrize(
    ("module", "library", "mpi"),
    [
        ("intel-compiler", "/usr/lib64/libpmi2.so", "pmi2"),
        ("compiler", "/usr/lib64/libpmi2.so.0", "pmi2"),
        ("compiler", "/opt/pmix/lib/libpmi2.so", None),
        ("cray-libsci", "/usr/lib64/libpmi.so", None),
    ],
)
def test_the_library_of_intel_mpi_tells_how_its_ranks_find_each_other(
    module: str, library: str, mpi: str | None
) -> None:
    lines = f"module load {module}\nexport I_MPI_PMI_LIBRARY={library}\nsrun ./t"
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gres=gpu:4 -t 5\n{lines}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    said = [each for each in found.findings if each.key == "mpi"]
    if mpi is None:
        assert [each.kind for each in said] == ["question"]
        assert "is loaded" not in said[0].why
    else:
        assert [(each.kind, each.became) for each in said] == [("assumed", f"mpi: {mpi}")]


@pytest.mark.parametrize(
    ("words", "key", "said"),
    [
        ("--container-image=$IMG", "image", "the image, which IMG gives: a reference or a .sqsh file"),
        ("--container-image=/i/$WHO/a.sqsh", "image", "the image /i/${WHO}/a.sqsh: WHO is not told"),
        ("--container-image=${REG}dev:1", "image", "the image ${REG}dev:1: REG is not told"),
        ("--container-image=a/b:1 --container-mounts=./k:~/k:ro", "mounts.0", "and no shell fills in its ~"),
    ],
)
def test_a_question_tells_what_of_a_value_is_not_told(words: str, key: str, said: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 -t 5\nsrun --mpi=none {words} ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    (question,) = [each for each in found.findings if each.kind == "question" and each.key == key]
    assert said in question.why


@pytest.mark.parametrize("front", ["", "uv run "])
def test_of_torchrun_on_so_many_nodes_as_there_are_the_command_is_told(front: str) -> None:
    head = "#!/bin/bash\n#SBATCH --gpus-per-node=4 -t 5\n"
    text = f'{head}{front}torchrun --nproc_per_node=4 --nnodes=$SLURM_NNODES t.py "$1"\n'
    found = convert(classified({"run.sub": text}), Options({}))
    asked = {each.key: each.why for each in found.findings if each.kind == "question" and each.key}
    assert asked.keys() == {"nodes", "command"}
    assert f"{front}python -u t.py ${{1}}, and ${{1}} is known only where" in asked["command"]


def test_a_variable_that_the_script_demands_is_asked_for_with_the_option_that_gives_it() -> None:
    cases = 'case "$KIND" in a) F=1;; *) F=2;; esac\n'
    lines = f"KIND=${{KIND:?which one}}\n{cases}srun --mpi=none ./t --of $KIND $F\n"
    text = f"#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4 -t 5\n{lines}"
    found = convert(classified({"run.sub": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "env.KIND"]
    assert asked.why == "nothing gives KIND: --env KIND=VALUE does"


@pytest.mark.parametrize("run", ["srun --mpi=none ./t", "$RUN ./t"])
@pytest.mark.parametrize(("option", "may"), [("--gres=gpu:2", True), ("--mem=9G", False)])
def test_a_line_that_may_ask_for_gpus_is_named_where_they_are_asked_for(
    run: str, option: str, may: bool
) -> None:
    line = f'$([ -z "$CPU" ] && echo "#SBATCH {option}")'
    job = f"#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=4\n{line}\n#SBATCH -t 5\n{run}\n"
    found = convert(classified({"go.sh": f"CPU=$1\ncat > j.sh <<E\n{job}E\nsbatch j.sh\n"}), Options({}))
    (asked,) = [each for each in found.findings if each.kind == "question" and each.key == "gpus_per_node"]
    assert ("go.sh:5 may ask Slurm for some" in asked.why) is may
    assert ("no line asks Slurm for any" in asked.why) is not may


@pytest.mark.parametrize(
    "launch", ["torchrun --nproc_per_node=8 till.py", "mpirun -np 8 ./till", "deepspeed till.py"]
)
def test_of_a_script_that_no_slurm_runs_nothing_is_said_of_sbatch(launch: str) -> None:
    texts = {
        head: " ".join(
            " ".join((each.why, each.todo))
            for each in convert(classified({"go.sh": f"#!/bin/bash\n{head}{launch}\n"}), Options({})).findings
        )
        for head in ("", "#SBATCH -p team\n")
    }
    assert "sbatch" not in texts[""]
    assert "sbatch" in texts["#SBATCH -p team\n"]


def test_arguments_that_were_taken_for_none_answer_no_other_question() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 1 -t 5 --gpus-per-node=1\nWHO=$(who_is)\nA=()\n"
        '[ -n "$WHO" ] && A=(--who "$WHO")\npython t.py "${A[@]}" "$@"\n'
    )
    found = convert(classified({"run.sub": text}), Options({}))
    (asked,) = [each for each in found.findings if each.key == "command" and each.kind == "question"]
    assert "which of them is not told" in asked.why
    assert "--args" not in asked.why
