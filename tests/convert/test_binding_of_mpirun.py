"""Who binds the ranks of an mpirun: options, parameters of Open MPI, variables of the ranks' own library."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 60\n"
_NONE = {"cpus": "none", "memory": "none"}
_ASKED = {"cpus": ASK}


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


def _job(found: Conversion) -> dict[str, Any]:
    return loaded(found.job)


@pytest.mark.parametrize(
    ("lines", "bind"),
    [
        ("mpirun -np 8 ./t", {}),
        ("mpirun -np 8 -bind-to none ./t", _NONE),
        ("export SLURM_CPU_BIND=none\nmpirun -np 8 ./t", {}),
        ("export SLURM_CPU_BIND=none\nsrun --mpi=pmix ./t", _NONE),
        ("mpirun -np 8 -rf rf --bind-to core ./t", _ASKED),
        ("mpirun -np 8 --bind-to core --rankfile $RF ./t", _ASKED),
        ("mpirun -np 8 --map-by rankfile:file=rf ./t", _ASKED),
        ("mpirun -np 8 --cpu-set 0,4,8,12 ./t", _ASKED),
        ("mpirun -np 8 --map-by ppr:2:socket:PE=4 --bind-to core ./t", {}),
        ("mpirun -np 8 --mca hwloc_base_binding_policy none ./t", _NONE),
        ("mpirun -np 8 --mca rmaps_rank_file_path rf ./t", _ASKED),
        ("export OMPI_MCA_hwloc_base_binding_policy=none\nmpirun -np 8 ./t", _NONE),
        ("export OMPI_MCA_hwloc_base_binding_policy=none\nmpirun -np 8 --bind-to core ./t", {}),
        ("PRTE_MCA_hwloc_default_binding_policy=none mpirun -np 8 ./t", _NONE),
        ("mpirun -np 8 --prtemca hwloc_default_binding_policy none ./t", _NONE),
        # The switch of Open MPI up to 1.6, by both its names.
        ("export OMPI_MCA_opal_paffinity_alone=0\nmpirun -np 8 ./t", _NONE),
        ("mpirun -np 8 --mca mpi_paffinity_alone 0 ./t", _NONE),
        ("mpirun -np 8 -mca mpi_paffinity_alone 1 ./t", {}),
        ("mpirun -np 8 -mca mpi_paffinity_alone $ALONE ./t", _ASKED),
        (
            "mpiexec -ppn 4 -bind-to user:0+1,8,16,24 ./t",
            {"cpus": ["0-1", "8", "16", "24"], "memory": "none"},
        ),
        ("mpiexec -ppn 4 -bind-to user:0,8 ./t", _ASKED),
        ("mpiexec -ppn 4 -bind-to numa ./t", {}),
        ("export I_MPI_PIN_PROCESSOR_LIST=0,8,16,24\nmpiexec.hydra -ppn 4 ./t", _NONE),
        ("mpirun -genv I_MPI_PIN_DOMAIN numa -ppn 4 ./t", _NONE),
        ("export I_MPI_PIN=off\nmpiexec.hydra -ppn 4 ./t", _NONE),
        ("export GOMP_CPU_AFFINITY='0-7 16'\nmpirun -np 8 ./t", _NONE),
        ("export KMP_AFFINITY='explicit,proclist=[0-7]'\nsrun --mpi=pmix ./t", _NONE),
        ("export OMP_PLACES='{0:4},{4:4}'\nsrun --mpi=pmix ./t", _NONE),
        ("export OMP_PLACES=cores KMP_AFFINITY=compact\nsrun --mpi=pmix ./t", {}),
        ("mpirun -np 8 hwloc-bind socket:0 ./t", _NONE),
        ("srun --mpi=pmix likwid-pin -c 0-7 ./t", _NONE),
        ("srun --mpi=pmix ./t likwid-pin.log", {}),
        ("export MV2_CPU_MAPPING=0:8:16:24\nsrun --mpi=pmi2 ./t", _NONE),
        ("export I_MPI_PIN=off I_MPI_PIN_DOMAIN=numa\nsrun --mpi=pmi2 ./t", {}),
        (
            "export I_MPI_PIN_DOMAIN=numa\nsrun --mpi=pmi2 --cpu-bind=cores ./t",
            {"cpus": "local"},
        ),
    ],
)
def test_what_the_ranks_are_bound_to(lines: str, bind: dict[str, object]) -> None:
    job = _job(_converted(lines))
    assert job.get("bind", {}) == bind
    assert (job["nodes"], job["ranks_per_node"]) == ("2", "4")


@pytest.mark.parametrize(
    "words", ["-rf rf", "--cpu-list 0,4", "--mca hwloc_base_binding_policy core", "--bind-to core"]
)
def test_nobody_is_told_of_defaults_where_something_else_binds(words: str) -> None:
    found = _converted(f"mpirun -np 8 {words} ./t")
    assert not [each for each in found.findings if "defaults" in each.what]
    assert [each for each in _converted("mpirun -np 8 ./t").findings if "defaults" in each.what]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--map-by ppr:2:socket:PE=6", ["6 cores"]),
        ("--map-by ppr:2:socket:PE=6 --bind-to core", ["6 cores"]),
        ("--bind-to hwthread --map-by slot:pe=3", ["3 hardware threads"]),
        ("--map-by slot:PE=6 --mca hwloc_base_binding_policy core", ["6 cores"]),
        ("-x OMPI_MCA_hwloc_base_binding_policy=core --map-by slot:PE=6", ["6 cores"]),
        # No rank is bound, or a list has the CPUs of each.
        ("--map-by slot:PE=6 --bind-to none", []),
        ("--map-by slot:PE=6 --rankfile rf", []),
        ("--map-by slot --bind-to core", []),
    ],
)
def test_how_many_cores_each_rank_was_bound_to(words: str, said: list[str]) -> None:
    findings = _converted(f"mpirun -np 8 {words} ./t").findings
    assert [
        each.what.partition(" binds each rank to ")[2] for each in findings if "each rank to" in each.what
    ] == said


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("export MP_TASK_AFFINITY=core:6\nmpiexec -n 8 ./t", ["MP_TASK_AFFINITY=core:6"]),
        ("export MP_TASK_AFFINITY=cpu:$wide\nmpiexec -n 8 ./t", ["MP_TASK_AFFINITY=cpu:${wide}"]),
        (
            "[ $wide -ge 2 ] && export MP_TASK_AFFINITY=cpu:$wide\nmpiexec -n 8 ./t",
            ["MP_TASK_AFFINITY"],
        ),
        # No request, a launcher that does not read it, an option that says who binds.
        ("export MP_TASK_AFFINITY=-1\nmpiexec -n 8 ./t", []),
        ("export MP_TASK_AFFINITY=core:6\nmpiexec.hydra -n 8 -ppn 4 ./t", []),
        ("export MP_TASK_AFFINITY=core:6\nmpirun -np 8 --bind-to core ./t", []),
    ],
)
def test_what_ibms_poe_binds_each_rank_to_is_said(lines: str, said: list[str]) -> None:
    found = _converted(lines)
    told = [each.what for each in found.findings if each.became == "bind: cpus: local"]
    assert [each.partition(" binds each rank where ")[0] for each in told if "POE" in each] == said
    assert "bind" not in _job(found)


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        ("--map-by ppr:2:socket", ASK),
        ("-npersocket 2", ASK),
        ("-mca rmaps_base_mapping_policy ppr:2:node", "2"),
        ("-np 8 -npersocket 2", "4"),
    ],
)
def test_ranks_by_the_parts_of_a_node(words: str, ranks: str) -> None:
    assert _job(_converted(f"mpirun {words} ./t"))["ranks_per_node"] == ranks


def test_variables_of_the_container_bind_its_ranks_too() -> None:
    before = "docker run -d --name c -e I_MPI_PIN_DOMAIN=numa a/b:1 sleep infinity\n"
    found = _converted(f"{before}docker exec c mpiexec.hydra -n 8 -ppn 4 ./t")
    assert _job(found)["bind"] == _NONE
    assert not [each for each in found.findings if "cpus: local" in each.became]


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        ("mpirun --map-by socket:PE=2 ./t", ASK),
        ("mpirun --map-by slot:PE=$SLURM_CPUS_PER_TASK ./t", ASK),
        ("mpirun -np 8 --map-by socket:PE=2 ./t", "4"),
        ("mpirun --map-by socket:PE=1 ./t", "4"),
        ("mpirun --map-by ppr:2:node:PE=2 ./t", "2"),
        ("module load openmpi/4.1.6\nmpirun --map-by socket:PE=2 ./t", "4"),
    ],
)
def test_cpus_of_each_rank_divide_the_slots_in_some_releases(lines: str, ranks: str) -> None:
    assert _job(_converted(lines))["ranks_per_node"] == ranks


@pytest.mark.parametrize(
    ("words", "env"),
    [
        ("--prtemca a b", {}),
        ("--pmixmca gds hash", {"PMIX_MCA_gds": "hash"}),
        ("--pmixmca gds $GDS", {"PMIX_MCA_gds": ASK}),
        ("--omca pml ucx --mca btl self", {"OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "self"}),
    ],
)
def test_a_parameter_goes_to_those_who_read_it(words: str, env: dict[str, str]) -> None:
    assert _job(_converted(f"mpirun -np 8 {words} ./t")).get("env", {}) == env


def test_mpirun_of_mvapich2_is_not_said_to_bind_no_rank() -> None:
    found = _converted("module load mvapich2\nmpirun -ppn 4 -n 8 ./t")
    [said] = [each.what for each in found.findings if each.became == "bind: cpus: local"]
    assert said.endswith("by its own defaults (Intel MPI, MVAPICH2)")
