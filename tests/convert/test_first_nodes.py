"""What a script finds out of the job's first node is what hpclaunch sets in each rank."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 5\n"
_RUN = "srun --mpi=none ./t --first $X"
_HOSTS = "$(scontrol show hostnames $SLURM_JOB_NODELIST)"


def _converted(lines: str, nodes: int = 2) -> Conversion:
    head = _HEAD.replace("-N 2", f"-N {nodes}")
    return convert(classified({"run.sub": f"{head}{lines}\n{_RUN}\n"}), Options({}))


@pytest.mark.parametrize(
    "lines",
    [
        f"hosts=( {_HOSTS} )\nX=${{hosts[0]}}",
        f"hosts=({_HOSTS})\nX=$hosts",
        f"all={_HOSTS}\nhosts=($all)\nX=${{hosts[0]}}",
        f'hosts=({_HOSTS})\nhead=${{hosts[0]}}\nX=$(srun -N1 --ntasks=1 -w "$head" hostname --ip-address)',
        f"hosts=({_HOSTS})\nX=$(srun -N1 -n1 -w ${{hosts[0]}} hostname -i)",
        "head=$(scontrol show hostnames $SLURM_NODELIST | head -n 1)\n"
        "X=$(srun --nodelist=$head -N 1 -n 1 hostname -I | awk '{print $1}')",
    ],
)
def test_the_first_node_is_the_address_of_rendezvous(lines: str) -> None:
    found = _converted(lines)
    job = loaded(found.job)
    assert job["command"].replace('"', "") == "exec ./t --first $MASTER_ADDR"
    assert (job["rendezvous"], "env" in job) == ("torch", False)
    assert not [each for each in found.findings if each.kind == "question" or "hostname" in each.todo]
    assert not [each for each in found.findings if each.kind == "left" and "hostname" in each.what]


@pytest.mark.parametrize(
    "lines",
    [
        f"hosts=({_HOSTS})\nX=${{hosts[1]}}",
        f"X={_HOSTS}",
        f"hosts=({_HOSTS})\nother=${{hosts[1]}}\nX=$(srun -N1 -n1 -w $other hostname)",
        f"hosts=({_HOSTS})\nX=$(srun -N1 -n1 -w ${{hosts[1]}} hostname)",
        "X=$(srun -N1 -n1 -w $head hostname)",
    ],
)
def test_another_node_and_several_are_asked_for(lines: str) -> None:
    job = loaded(_converted(lines).job)
    assert "rendezvous" not in job
    assert "ASK" in (job["command"], *job.get("env", {}).values())


_HEAD_NODE = "A=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n"
_FREE = "$(python -c 'import socket; s=socket.socket(); s.bind((\"\", 0)); print(s.getsockname()[1])')"


def _command(lines: str, run: str) -> tuple[str, list[str]]:
    text = f"{_HEAD}{lines}\nsrun --mpi=none {run}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    asked = [each.key for each in found.findings if each.kind == "question"]
    return str(loaded(found.job)["command"]), asked


@pytest.mark.parametrize(
    ("port", "run", "command"),
    [
        ("P=$((10000 + SLURM_JOBID % 1000))", "./t --to $A:$P", './t --to "$MASTER_ADDR":"$MASTER_PORT"'),
        ("P=$(get_port)", "./t --url=tcp://$A:$P", './t --url=tcp://"$MASTER_ADDR":"$MASTER_PORT"'),
        ("P=$(shuf -i 20000-60000 -n 1)", "./t --master_port $P", './t --master_port "$MASTER_PORT"'),
        (f"P={_FREE}", "./t --dist-init-port=$P", './t --dist-init-port="$MASTER_PORT"'),
        (
            "P=$((20000 + RANDOM % 9))",
            'bash -c "./t --master_port $P"',
            "bash -c './t --master_port '\"$MASTER_PORT\"",
        ),
    ],
)
def test_the_port_where_ranks_meet_is_that_of_rendezvous(port: str, run: str, command: str) -> None:
    assert _command(_HEAD_NODE + port, run) == (f"exec {command}", [])


def test_a_variable_for_the_port_where_ranks_meet_has_that_of_rendezvous() -> None:
    lines = f"export DIST_PORT={_FREE}\nexport LOG_PORT={_FREE}"
    assert _command(lines, "./t") == ('export DIST_PORT="$MASTER_PORT"; exec ./t', [])


@pytest.mark.parametrize(
    ("port", "run", "name"),
    [
        ("P=$(shuf -i 2000-6000 -n 1)", "./t --tensorboard_port $P", "P"),
        ("P=$(shuf -i 2000-6000 -n 1)", "./t --to $OTHER:$P", "P"),
        ("P=$(cat port.txt)", "./t --master_port $P", "P"),
    ],
)
def test_another_port_is_asked_for(port: str, run: str, name: str) -> None:
    assert _command(_HEAD_NODE + port, run)[1] == [f"env.{name}"]


@pytest.mark.parametrize(
    ("nodes", "host", "kept"),
    [(2, "10.0.3.7", False), (2, "gpu07", False), (2, "127.0.0.1", False), (1, "127.0.0.1", True)],
)
def test_a_host_by_name_is_the_originals_and_not_the_jobs(nodes: int, host: str, kept: bool) -> None:
    """Nor is one by which each of several nodes finds itself."""
    found = _converted(f"export MASTER_ADDR={host}\nexport MASTER_PORT=29500\nX=1", nodes)
    env = loaded(found.job)["env"]
    assert (env["MASTER_PORT"], env.get("MASTER_ADDR")) == ("29500", host if kept else None)
    said = [each.kind for each in found.findings if each.what == f"MASTER_ADDR={host}"]
    assert said == ([] if kept else ["replaced"])


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("export MASTER_ADDR=${FIRST}-ib0", True),
        ("MASTER_ADDR=$FIRST\nexport MASTER_ADDR=${MASTER_ADDR}-ib0", True),
        ("export MASTER_ADDR=$FIRST\nif [ $CLUSTER = one ]; then MASTER_ADDR=$MASTER_ADDR-ib0; fi", True),
        ("export MASTER_ADDR=$FIRST", False),
        ("export MASTER_ADDR=$FIRST MASTER_PORT=2${SLURM_JOB_ID: -4}", False),
        ("if [ -z $MASTER_ADDR ]; then export MASTER_ADDR=$FIRST; fi", False),
    ],
)
def test_another_name_of_the_first_node_is_told(lines: str, told: bool) -> None:
    first = f"FIRST=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n{lines}\nX=4"
    found = _converted(first)
    assert loaded(found.job)["rendezvous"] == "torch"
    todo = [each.todo for each in found.findings if each.kind == "left" and "MASTER_ADDR=" in each.what]
    own = "export MASTER_ADDR=${MASTER_ADDR}-ib0; ..."
    assert todo == ([f"where the ranks are to meet at that begin the command with: {own}"] * told)


@pytest.mark.parametrize("name", ["HEAD_NODE", "MASTER_IP", "MASTER", "MASTER_NODE"])
@pytest.mark.parametrize("suffix", ["", "-ib0"])
@pytest.mark.parametrize("run", ["bash -c './serve --at ${}:6379'", "bash serve.sh"])
def test_ranks_have_the_first_node_by_the_name_that_the_script_exports(
    name: str, suffix: str, run: str
) -> None:
    """hpclaunch sets MASTER_ADDR alone, and a script that asks for the node has no rendezvous by that."""
    run = run.replace("{}", f"{{{name}}}")
    text = f'{_HEAD}hosts=({_HOSTS})\nexport {name}="${{hosts[0]}}{suffix}"\nsrun {run}\n'
    found = convert(classified({"run.sub": text}), Options({}))
    job = loaded(found.job)
    assert job["command"] == f'export {name}="$MASTER_ADDR"{suffix}; exec {run}'
    assert (job["rendezvous"], job["mpi"]) == ("torch", ASK)


@pytest.mark.parametrize("address", ["$(getent hosts $(hostname) | cut -d ' ' -f1)", "$(./address.sh)"])
def test_an_address_that_is_not_known_for_the_first_nodes_is_told_as_left(address: str) -> None:
    found = _converted(f"export MASTER_IP={address}\nX=1")
    assert "rendezvous" not in loaded(found.job)
    (said,) = (each for each in found.findings if each.what.startswith("MASTER_IP="))
    assert (said.kind, "export MASTER_IP=$MASTER_ADDR; ..." in said.todo) == ("left", True)
