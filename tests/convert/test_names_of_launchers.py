"""What starts ranks and containers is found by each of its names, also where a text is looked at and no
command line is read."""

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import torch
from hpclaunch.convert.programs.names import BY_MPIRUN, DOCKERS, GPU_MODULES, REMOTE
from hpclaunch.readback.kubernetes import mpirun
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 30\n"
# By mpirun's names, but for those with options of their own.
_NAMES = [
    *("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun"),
    *("mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "horovodrun", "mpiexec.slurm"),
    *("mpirun.mpich2", "mpiexec.mpich2", "mpiexec_mpt"),
]


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize(
    "lines", ["bash -c 'cd /work && {} -np 16 ./app'", "bash <<EOF\ncd /work\n{} -np 16 ./app\nEOF"]
)
def test_ranks_that_a_text_for_a_shell_starts(lines: str, name: str) -> None:
    job = script_cases.loaded(_converted(lines.format(name)).job)
    assert [job[key] for key in ("command", "workdir", "nodes", "ranks_per_node")] == [
        ["./app"],
        "/work",
        "2",
        "8",
    ]


@pytest.mark.parametrize("name", _NAMES)
def test_what_whoever_copies_the_script_fills_in_is_no_redirection(name: str) -> None:
    found = _converted(f"{name} -np 16 ./app <case>")
    assert [(each.what, each.became) for each in found.findings if each.kind == "repaired"] == [
        ("<case>", "${case}")
    ]


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("line", ["{} -np 16 ./app | tee log", "{} -np 16 ./app || true"])
def test_a_status_that_is_lost_is_a_defect(line: str, name: str) -> None:
    assert any(each.kind == "defect" for each in _converted(line.format(name)).findings)


@pytest.mark.parametrize("name", _NAMES)
def test_a_script_that_ends_before_it(name: str) -> None:
    found = _converted(f"exit 0\n{name} -np 16 ./app")
    assert any("`exit 0` (run.sub:3)" in each.why for each in found.findings)


@pytest.mark.parametrize("name", DOCKERS)
def test_containers_that_a_text_of_srun_starts(name: str) -> None:
    job = script_cases.loaded(_converted(f"srun bash -c '{name} run --rm -v /a:/b img ./app'").job)
    assert (job["command"], job["image"], job["mounts"]) == (["./app"], "img", ["/a:/b"])


@pytest.mark.parametrize("name", DOCKERS)
def test_a_password_that_docker_is_told(name: str) -> None:
    found = _converted(f"{name} login -u me -p wordofmine registry\nsrun ./app")
    assert f"`{name} ... -p`" in [each.what for each in found.findings if each.kind == "defect"]


@pytest.mark.parametrize("name", DOCKERS)
def test_a_container_behind_the_end_of_a_script(name: str) -> None:
    found = _converted(f"exit 0\n{name} run img ./app")
    assert any("`exit 0` (run.sub:3)" in each.why for each in found.findings)


@pytest.mark.parametrize("name", REMOTE)
def test_what_another_host_is_given_and_is_no_launcher(name: str) -> None:
    option = {"pdsh": "-w ", "clush": "-w ", "pssh": "-H ", "parallel-ssh": "-H "}.get(name, "")
    found = convert(classified({"go.sh": f"#!/bin/bash\n{name} {option}n1 python train.py\n"}), Options({}))
    assert f"go.sh:2: what {name} starts on other hosts" in found.refused


@pytest.mark.parametrize("name", ["mpirun", "mpiexec", "orterun", "torchrun", "podman"])
def test_a_variable_that_may_hold_one(name: str) -> None:
    lines = f'CMD="{name} run ./a"\nif [ "$KIND" = 2 ]; then CMD="{name} run ./b"; fi\n$CMD'
    found = _converted(lines)
    assert any(f"CMD is '{name} run ./a' or" in each.why for each in found.findings)


# By the start of a text for a shell, for eight ranks on each node.
_PER_GPU = [
    "torchrun --nproc_per_node 8",
    "deepspeed --no_local_rank --num_gpus 8",
    "accelerate launch --num_processes 8",
    "colossalai run --nproc_per_node 8",
    "baguarun --nproc_per_node 8",
    "composer --nproc 8",
    "python -m torch.distributed.launch --use_env --nproc_per_node 8",
    "python -m torch.distributed.run --nproc_per_node 8",
    "python -m deepspeed.launcher.runner --no_local_rank --num_gpus 8",
    "python -m accelerate.commands.launch --num_processes 8",
    "python -m bagua.distributed.launch --nproc_per_node 8",
    "python -m bagua.distributed.run --nproc_per_node 8",
    "python -m oneflow.distributed.launch --nproc_per_node 8",
]


@pytest.mark.parametrize("start", _PER_GPU)
@pytest.mark.parametrize("run", ["bash -c '{}'", "ssh n1 '{}'", "bash <<EOF\n{}\nEOF"])
def test_processes_for_each_gpu_that_a_text_starts(run: str, start: str) -> None:
    job = script_cases.loaded(_converted(run.format(f"cd /work && {start} t.py")).job)
    assert [job.get(key) for key in ("command", "workdir", "ranks_per_node", "rendezvous")] == [
        ["python", "-u", "t.py"],
        "/work",
        "8",
        "torch",
    ]


@pytest.mark.parametrize("start", _PER_GPU)
def test_processes_for_each_gpu_that_a_text_of_srun_starts(start: str) -> None:
    job = script_cases.loaded(
        _converted(f"srun --ntasks-per-node=1 -n 2 bash -c 'source e.sh; {start} t.py'").job
    )
    assert job["command"] == ["bash", "-c", "source e.sh; exec python -u t.py"]
    assert (job["ranks_per_node"], job["rendezvous"]) == ("8", "torch")


def test_the_modules_that_are_looked_for_are_those_that_are_read() -> None:
    assert set(GPU_MODULES) == set(torch.MODULES)


def test_a_script_may_have_each_name_of_mpirun_that_a_manifest_may_have() -> None:
    assert set(mpirun.PROGRAMS) <= set(BY_MPIRUN)


@pytest.mark.parametrize("name", ["mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra", "mpirun.mpich2"])
def test_options_and_library_of_mpich(name: str) -> None:
    job = script_cases.loaded(_converted(f"{name} -n 16 -ppn 8 -genv A 1 ./app").job)
    assert [job[key] for key in ("command", "ranks_per_node", "mpi", "env")] == [
        ["./app"],
        "8",
        "pmi2",
        {"A": "1"},
    ]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("mpiexec.hydra -n 16 -genv HUE red", "mpiexec.hydra -genv HUE"),
        ("mpiexec.hydra -n 16 -env HUE red", "mpiexec.hydra -env HUE"),
        ("mpirun -np 16 -x HUE=red", "mpirun -x HUE"),
        ("mpirun -np 16 -mca mca_base_env_list HUE=red", "mpirun -x HUE"),
    ],
)
def test_a_variable_that_mpirun_hands_on_is_told_by_the_option_of_its_line(words: str, what: str) -> None:
    found = _converted(f"{words} ./app")
    assert script_cases.loaded(found.job)["env"] == {"HUE": "red"}
    assert [each.what for each in found.findings if each.key == "env.HUE"] == [what]


@pytest.mark.parametrize("shell", ["srun bash mix.sh", "srun -n 2 sh ./mix.sh"])
def test_the_mpirun_of_a_script_that_srun_starts_is_called_what_its_line_calls_it(shell: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gres=gpu:2 -t 7\n"
    its = {"run.sub": f"{head}{shell}\n", "mix.sh": "#!/bin/bash\nmpiexec -n 2 ./mix\n"}
    found = convert(classified(its), Options({}))
    said = [each for each in found.findings if "starts ranks of its own" in each.why]
    assert [(each.what, each.why.endswith("no process that mpiexec starts")) for each in said] == [
        ("mpiexec -n 2", True)
    ]


@pytest.mark.parametrize(
    "line", ["mpiexec -np 16", "mpiexec -n 16 -ppn 8", "orterun -np 16", "mpirun -np 16"]
)
def test_a_launcher_is_called_what_the_line_calls_it(line: str) -> None:
    found = {each.key: each.what for each in _converted(f"{line} -x A ./app").findings}
    assert found["mpi"] == line.split()[0]
