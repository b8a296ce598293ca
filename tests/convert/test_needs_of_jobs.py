"""What a job asks of its nodes and its container: cores, memory, kinds of GPUs, root, names to fill in."""

import pytest
import script_cases

from hpclaunch.convert.conversion import Conversion, convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
%s  containers:
  - name: c
    image: a/b:1
    resources: {limits: {%scpu: %s}}
    command: [bash, -c]
    args: ["%s"]
"""


def _converted(name: str, text: str) -> Conversion:
    return convert(classified({name: text}), Options({}))


def _said(found: Conversion, what: str) -> list[tuple[str, str]]:
    return [(each.kind, each.why) for each in found.findings if what in each.what]


@pytest.mark.parametrize(
    ("directives", "lost"),
    [
        ("--gres=gpu:0 --cpus-per-task=16 --mem=90G", ["--cpus-per-task=16", "--mem=90G"]),
        ("--gres=gpu:0 --cpus-per-task=1", []),
        ("--gres=gpu:4 --cpus-per-task=16 --mem=90G", []),
    ],
)
def test_cores_that_a_job_without_gpus_does_not_have_are_said(directives: str, lost: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 2 -t 9 {directives}\nsrun --mpi=none ./a\n"
    found = _converted("run.sub", text)
    assert [each.what for each in found.findings if "one core for each rank, and" in each.why] == lost


@pytest.mark.parametrize(
    ("cpus", "gpus", "is_lost"), [("64", "", True), ("1", "", False), ("8", "nvidia.com/gpu: 8, ", False)]
)
def test_cores_of_a_pod_without_gpus(cpus: str, gpus: str, is_lost: bool) -> None:
    found = _converted("p.yaml", _POD % ("", gpus, cpus, "./a"))
    (row,) = _said(found, "limits cpu")
    assert row[0] == ("left" if is_lost else "replaced")


@pytest.mark.parametrize(
    ("text", "user", "is_root"),
    [
        ("apt-get update && apt-get install -y curl && ./a", "", True),
        ("pip install x && ./a", "", False),
        ("sudo apt-get install -y curl && ./a", "", False),
        ("apt-get install -y curl && ./a", "  securityContext: {runAsUser: 1000}\n", False),
    ],
)
def test_what_installs_packages_is_root_as_in_the_pod(text: str, user: str, is_root: bool) -> None:
    job = script_cases.loaded(_converted("p.yaml", _POD % (user, "", "1", text)).job)
    assert job.get("container", {}).get("remap_root") == ("true" if is_root else None)


def test_what_installs_packages_is_root_as_under_docker() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=8\n"
        "ssh a nvidia-docker run -d --name c a/b:1 sleep infinity\n"
        "docker exec c mpirun -np 8 bash -c 'apt-get install -y curl; python t.py'\n"
    )
    assert script_cases.loaded(_converted("run.sub", text).job)["container"]["remap_root"] == "true"


def test_the_kind_of_gpus_that_srun_asks_for() -> None:
    text = "#!/bin/bash\nN=2\nsrun --gres=gpu:volta:$N -N1 -n1 --mpi=none --time=5 ./a\n"
    job = script_cases.loaded(_converted("run.sub", text).job)
    assert (job["gpus_per_node"], job["gpu_type"]) == ("2", "volta")


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("RANK", "$((8*SLURM_NODEID+SLURM_LOCALID))", True),
        ("RANK", "$SLURM_PROCID", True),
        ("MASTER_ADDR", "$(hostname)", False),
    ],
)
def test_a_rank_that_the_scripts_own_shell_counts_is_a_defect(name: str, value: str, wrong: bool) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
    found = _converted("run.sub", f"{head}export {name}={value}\nsrun --mpi=none ./a\n")
    assert ("defect" in [kind for kind, _ in _said(found, f"{name}=")]) is wrong


@pytest.mark.parametrize("option", ["--partition=", "--account="])
def test_a_name_that_nobody_wrote_is_to_be_filled_in(option: str) -> None:
    found = _converted("run.sub", f"#!/bin/bash\n#SBATCH -N 1 -n 8\n#SBATCH {option}\nsrun --mpi=none ./a\n")
    assert ("question", "it has no name, which whoever copies the script fills in") in _said(found, option)


def test_an_array_of_which_no_index_is_told_is_named_whole() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
    found = _converted("run.sub", f"{head}C=(0.1 1)\nsrun --mpi=none ./a ${{C[$SLURM_ARRAY_TASK_ID]}}\n")
    (question,) = (each for each in found.findings if each.key == "command")
    assert (
        "C is (0.1 1), and nothing tells which of them it is, as --env SBATCH_ARRAY_INX=1-8 does"
        in question.why
    )


def test_an_image_in_which_mpirun_starts_the_ranks_is_told() -> None:
    found = _converted(
        "run.sub", "#!/bin/bash\n#SBATCH -N 1 -n 8 -t 5\nsingularity run /a/b.sif mpirun -n 8 hpcg\n"
    )
    assert found.refused
    assert _said(found, "the image /a/b.sif")


@pytest.mark.parametrize(("given", "is_asked"), [("", True), ("N=4\n", False)])
def test_slots_that_mpirun_may_not_fill_are_asked_about(given: str, is_asked: bool) -> None:
    text = (
        f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8\n{given}"
        'for h in $(scontrol show hostnames); do echo "$h slots=8" >> hosts; done\n'
        "ssh a nvidia-docker run -d --name c a/b:1 sleep infinity\n"
        "docker exec c mpirun -np $((2*N)) --hostfile hosts ./a\n"
    )
    found = _converted("run.sub", text)
    asked = [each.why for each in found.findings if each.kind == "question" and each.what.startswith("-np")]
    assert asked == ["how many ranks it makes"] * is_asked


@pytest.mark.parametrize(("gpus", "is_said"), [(1, True), (2, True), (8, False)])
def test_who_may_share_a_node_is_said_where_a_job_has_a_part_of_its_gpus(gpus: int, is_said: bool) -> None:
    head = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node={gpus} -t 60 --exclusive\n"
    found = _converted("run.sub", f"{head}srun --mpi=none ./a\n")
    (its,) = (each for each in found.findings if each.what == "--exclusive")
    assert ("others may be there too" in its.todo) is is_said
    assert ("the script saw all GPUs of such a node" in its.todo) is is_said


def test_a_job_without_gpus_is_not_said_to_have_its_nodes_to_itself() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=0 -t 60 --exclusive\n"
    found = _converted("run.sub", f"{head}srun --mpi=none ./a\n")
    (its,) = (each for each in found.findings if each.what == "--exclusive")
    assert "no whole node" in its.why
    assert "`exclusive: true` under `slurm`" in its.todo


def test_what_binds_nobody_is_not_said_to_be_bound_by_the_job_that_binds_none() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=4 -t 60\n"
    torchrun = "torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend c10d --rdzv_endpoint $(hostname):1 t.py"
    found = _converted("run.sub", f"{head}srun --mpi=none --cpu-bind=none {torchrun}\n")
    assert "cpus: none" in found.job
    assert not [each for each in found.findings if each.became == "bind: cpus: local"]


@pytest.mark.parametrize("option", ["--get-user-env", "--get-user-env=L", "--get-user-env=60S"])
def test_the_environment_of_a_login_is_an_option_with_a_value_or_without(option: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 4 -t 5 {option}\n#SBATCH --gres=gpu:1\nsrun --mpi=none ./t\n"
    (said,) = [
        each for each in convert(classified({"r.sh": text}), Options({})).findings if each.what == option
    ]
    assert (said.kind, said.why) == (
        "replaced",
        "ranks get what the job file names, and nothing of a login shell",
    )
