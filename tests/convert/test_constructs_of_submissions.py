"""Constructs of submissions to MLPerf training that no other test has by their names."""

from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_RUN = "srun --mpi=pmix --container-image=lab/t:1 "


def _of(files: dict[str, str]) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified(files), Options({}))
    return loaded(found.job) if found.job else {}, found


@pytest.mark.parametrize("name", ["HCOLL_ENABLE_MCAST", "OMPI_MCA_coll_hcoll_enable", "NCCL_GRAPH_REGISTER"])
def test_a_variable_of_libraries_reaches_the_ranks_as_it_was(name: str) -> None:
    job, _ = _of({"run.sub": f"{_HEAD}export {name}=0\n{_RUN}./till\n"})
    assert job["env"] == {name: "0"}


def test_a_folder_that_all_nodes_share_below_the_log_is_mounted() -> None:
    lines = (
        "LOGDIR=/lustre/logs\nSHARED=${LOGDIR}/piazza\nsrun -N1 -n1 --mpi=none mkdir -p $SHARED\n"
        f"{_RUN}--container-mounts=$SHARED:/opt/reinforcement/minigo/piazza ./till\n"
    )
    job, _ = _of({"run.sub": _HEAD + lines})
    assert job["mounts"] == ["/lustre/logs/piazza:/opt/reinforcement/minigo/piazza"]
    assert [each["run"] for each in job["setup"]] == [["mkdir", "-p", "/lustre/logs/piazza"]]


def test_a_map_of_cores_that_spreads_ranks_binds_each_to_its_own() -> None:
    table = (
        "bind_cpu_cores=([0]=48-51 [1]=60-63 [2]=16-19 [3]=28-31 "
        "[4]=112-115 [5]=124-127 [6]=80-83 [7]=92-95)\n"
        "bind_mem=([0]=3 [1]=3 [2]=1 [3]=1 [4]=7 [5]=7 [6]=5 [7]=5)\n"
    )
    line = f"{_RUN}./bind.sh --cpu=dgxa100_topology.sh --mem=dgxa100_topology.sh -- ./till\n"
    job, _ = _of({"run.sub": _HEAD + line, "dgxa100_topology.sh": table})
    assert job["bind"]["cpus"][0] == "48-51"
    assert job["bind"]["cpus"][7] == "92-95"
    assert job["command"] == ["./till"]


def test_a_number_of_trainers_of_paddle_in_docker_is_told() -> None:
    line = (
        "docker run --rm --gpus all --network host lab/paddle:1 mpirun -np 8 -x PADDLE_TRAINERS_NUM=8 "
        "./bind.sh --cpu=exclusive -- python till.py\n"
    )
    _, found = _of({"go.sh": f"#!/bin/bash\n{line}"})
    assert found.refused
    assert any(each.became == "env.PADDLE_TRAINERS_NUM: 8" for each in found.findings)
    assert {each.name: each.told for each in found.launch}["ranks"] == "8 on each node"
