"""Docker that a script of sbatch starts once: on its first node; and launchers that are the entrypoint."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_RUN = "docker run --gpus all lab.io/x:1 torchrun --nproc-per-node 8"


def _converted(lines: str, nodes: int) -> Conversion:
    head = f"#!/bin/bash\n#SBATCH -t 60 -N {nodes} --gpus-per-node=8\n"
    return convert(classified({"run.sub": f"{head}{lines}\n"}), Options({}))


@pytest.mark.parametrize(
    ("lines", "nodes", "told"),
    [
        (f"{_RUN} t.py", 2, ASK),
        (f"{_RUN} t.py", 1, "1"),
        (f"{_RUN} --nnodes 2 t.py", 2, "2"),
        (f"srun --ntasks-per-node=1 {_RUN} t.py", 2, "2"),
        (f"for n in $(scontrol show hostnames); do ssh $n {_RUN} t.py; done", 2, "2"),
    ],
)
def test_a_launcher_that_runs_once_is_on_the_first_node_alone(lines: str, nodes: int, told: str) -> None:
    found = _converted(lines, nodes)
    assert loaded(found.job)["nodes"] == told
    assert told != ASK or not any("a world of its own" in each.why for each in found.findings)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("--entrypoint torchrun lab.io/x:1 --nproc-per-node 8 t.py", ["python", "-u", "t.py"]),
        ("--entrypoint mpirun lab.io/x:1 -np 8 ./t", ["./t"]),
        ("--entrypoint numactl lab.io/x:1 -N 0 ./t", ["numactl", "-N", "0", "./t"]),
        ("--entrypoint ./t lab.io/x:1 --x", ["./t", "--x"]),
    ],
)
def test_a_launcher_that_is_the_entrypoint_is_not_started_by_each_rank(
    words: str, command: list[str]
) -> None:
    job: dict[str, Any] = loaded(_converted(f"docker run --gpus all {words}", 1).job)
    assert job["command"] == command


@pytest.mark.parametrize(
    ("hosts", "told"),
    [("scontrol show hostnames | paste -sd,", ASK), ("scontrol show hostnames 'n[1-2]' | paste -sd,", "1")],
)
def test_the_srun_of_a_script_that_asks_for_its_jobs_hosts_asks_for_no_nodes(hosts: str, told: str) -> None:
    lines = (
        f"all=$({hosts})\n"
        "srun docker run -d --gpus 4 --name box lab.io/x:1 sleep infinity\n"
        'srun -N 1 docker exec box mpirun -N 4 --host "$all" ./t\n'
    )
    found = convert(classified({"go.sh": f"#!/bin/bash\n{lines}"}), Options({}))
    assert (loaded(found.job)["nodes"], loaded(found.job)["ranks_per_node"]) == (told, "4")


_BOX = "srun --ntasks-per-node=1 docker run -d --gpus all --name box -v /d:/d lab.io/x:1 "
_ON_HEAD = "head=$(scontrol show hostnames | head -1)\n"


@pytest.mark.parametrize(
    ("options", "command", "told"),
    [
        ('-N1 -n1 -w "$head"', "./measure --all", ASK),
        ('--ntasks=1 -w "$head"', "./measure --all", ASK),
        ("-N1 -w n1", "torchrun --nproc-per-node 8 t.py", ASK),
        # What is told of the others has them too, and without a number srun starts it on all.
        ("-N1 -w n1", "torchrun --nnodes 2 --nproc-per-node 8 t.py", "2"),
        ("--ntasks-per-node=1", "./measure --all", "2"),
    ],
)
def test_what_srun_starts_on_one_node_by_its_name_is_not_on_all(
    options: str, command: str, told: str
) -> None:
    found = _converted(f"{_ON_HEAD}{_BOX} sleep infinity\nsrun {options} docker exec box {command}", 2)
    assert loaded(found.job)["nodes"] == told
    asked = [each.why for each in found.findings if each.key == "nodes" and each.kind == "question"]
    assert told != ASK or "is started on one of 2 nodes alone" in asked[0]


def test_the_same_line_for_each_node_by_its_name_is_on_all() -> None:
    lines = "\n".join(f"srun -N1 -n1 -w n{each} docker exec box ./measure --all &" for each in (1, 2))
    found = _converted(f"{_BOX} sleep infinity\n{lines}\nwait", 2)
    assert (loaded(found.job)["nodes"], loaded(found.job)["ranks_per_node"]) == ("2", "1")


@pytest.mark.parametrize(
    ("idle", "kind"),
    [
        ("sleep infinity", "replaced"),
        ("bash", "replaced"),
        ("/usr/sbin/sshd -D", "replaced"),
        ("./store --listen=:80", "left"),
    ],
)
def test_a_program_that_the_container_of_others_runs_is_no_sleeper(idle: str, kind: str) -> None:
    found = _converted(f"{_BOX} {idle}\nsrun --ntasks-per-node=1 docker exec box ./measure", 2)
    (said,) = (each for each in found.findings if each.what.startswith("docker run"))
    assert said.kind == kind
    assert ("the job does not start it" in said.why) == (kind == "left")


@pytest.mark.parametrize(("nodes", "reached"), [(3, "./both"), (1, "./single")])
def test_a_way_that_the_script_does_not_take_with_its_nodes_is_said_to_be_that(
    nodes: int, reached: str
) -> None:
    text = (
        f"#!/bin/bash\n#SBATCH -N {nodes} --gpus-per-node=8 -t 5\n"
        "for h in $(scontrol show hostnames); do ssh $h docker run -d --name c lab/t:1 sleep infinity; done\n"
        'if [[ "$SLURM_NNODES" -gt 1 ]]; then ./both here\nelse ./single here\nfi\n'
        f"docker exec c mpirun -np {nodes * 8} -hostfile h ./till\n"
    )
    found = convert(classified({"run.sub": text}), Options({})).findings
    other = "./single" if reached == "./both" else "./both"
    (not_taken,) = [each for each in found if each.what.startswith(f"{other} here")]
    assert "does not come to it" in not_taken.why
    assert not any("does not come to it" in each.why and reached in each.what for each in found)
