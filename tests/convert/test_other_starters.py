"""charmrun, ibrun and mpirun_rsh start ranks as mpirun does: how many, of what, and who binds them."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 60\n"


def _job(lines: str) -> dict[str, Any]:
    return loaded(convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({})).job)


_ON_EACH = (
    "n=($(scontrol show hostnames $SLURM_JOB_NODELIST))\nfor ((i = 0; i < 2; i++)); do\n"
    "srun --mpi=none -N1 -n1 -w {} torchrun --nnodes={} --node_rank=$i --nproc_per_node=4 "
    "--master_addr=${{n[0]}} t.py &\ndone\nwait"
)


def test_launchers_on_one_node_after_the_other_are_one_run() -> None:
    job = _job(_ON_EACH.format("${n[$i]}", 2))
    assert (job["nodes"], job["ranks_per_node"], job["rendezvous"]) == ("2", "4", "torch")
    for node, nodes in (("${n[$i]}", 3), ("one", 2)):
        assert _job(_ON_EACH.format(node, nodes))["nodes"] == ASK


@pytest.mark.parametrize(
    ("line", "ranks", "mpi", "command"),
    [
        ("charmrun +p8 ++mpiexec ++remote-shell 'mpiexec -x A' ./t +x 1", "4", ASK, ["./t", "+x", "1"]),
        ("charmrun +p 4 ./t", "2", ASK, ["./t"]),
        ("charmrun ++mpiexec ./t -v ++p 8", "4", ASK, ["./t", "-v"]),
        ("charmrun ++p 56 ++ppn 7 ++nodelist n ./t", "4", ASK, ["./t", "+ppn", "7"]),
        ("charmrun ++n 8 ++ppn 7 ./t", "4", ASK, ["./t", "+ppn", "7"]),
        ("charmrun ++processPerHost 2 ./t", "2", ASK, ["./t"]),
        ("charmrun ++p 8 ++ppn $N ./t", ASK, ASK, "exec ./t +ppn $N"),
        ("charmrun ++mpiexec-no-n ./t", "4", ASK, ["./t"]),
        ("ibrun ./t a", "4", ASK, ["./t", "a"]),
        ("ibrun -n 8 task_affinity ./t", "4", ASK, ["./t"]),
        ("ibrun -n 2 -o 4 ./t", ASK, ASK, ["./t"]),
        ("mpirun_rsh -np 8 -hostfile hf A=b ./t C=d", "4", "pmi2", ["./t", "C=d"]),
    ],
)
def test_ranks_and_their_program(line: str, ranks: str, mpi: str, command: object) -> None:
    job = _job(line)
    assert (job["ranks_per_node"], job["mpi"], job["command"]) == (ranks, mpi, command)
    assert job.get("env", {}) == ({"A": "b"} if "A=b" in line else {})


def test_ranks_that_fill_one_node() -> None:
    assert (_job("ibrun -n 4 ./t")["nodes"], _job("ibrun -n 4 ./t")["ranks_per_node"]) == ("1", "4")


def test_processes_that_stay_on_their_node_are_the_programs_own() -> None:
    job = _job("charmrun ++local +p4 ./t")
    assert (job["nodes"], job["ranks_per_node"]) == ("1", "1")
    assert job["command"] == ["charmrun", "++local", "+p4", "./t"]


@pytest.mark.parametrize("start", ["charmrun +p8", "srun --mpi=pmi2"])
@pytest.mark.parametrize("own", ["+setcpuaffinity", "+pemap 0-7"])
def test_a_program_that_binds_itself(start: str, own: str) -> None:
    assert _job(f"{start} ./t {own}")["bind"] == {"cpus": "none", "memory": "none"}


@pytest.mark.parametrize("own", ["+setcpuaffinity", "-pin on"])
def test_memory_that_numactl_binds_is_bound_beside_a_program_that_binds_its_threads(own: str) -> None:
    assert _job(f"srun --mpi=pmi2 numactl -m 1 ./t {own}")["bind"] == {
        "cpus": "none",
        "memory": ["1"] * 4,
    }
    assert _job(f"srun --mpi=pmi2 numactl -N 1 ./t {own}")["bind"]["memory"] == "none"


_SLOTS = "cat > hostfile <<E\na slots=2\nb slots=2\nE\n"
_AWK = "scontrol show hostnames | awk '{print $1\" slots=2\"}' > hf\n"


@pytest.mark.parametrize(
    ("lines", "ranks"),
    [
        (f"{_SLOTS}mpirun -hostfile hostfile ./t", "2"),
        (f"{_AWK}mpirun -hostfile hf ./t", ASK),
        (f"{_AWK}mpirun -np 8 -hostfile hf ./t", "4"),
        ("mpirun ./t", "4"),
    ],
)
def test_a_list_of_hosts_says_how_many_ranks_each_has(lines: str, ranks: str) -> None:
    assert _job(lines)["ranks_per_node"] == ranks


_OWN_COUNT = "#!/bin/bash\n#SBATCH -t 60 --gpus-per-node=4\n{}n=$SLURM_JOB_NUM_NODES\n"


@pytest.mark.parametrize("words", ["--nodes $n", "-p ${SLURM_NNODES}x1", "--ranks $((4 * n))"])
def test_a_program_that_is_told_how_many_nodes_there_are_may_start_ranks(words: str) -> None:
    """Where no line says how many: sbatch was given it."""
    found = convert(classified({"run.sub": f"{_OWN_COUNT.format('')}./launch.py {words}\n"}), Options({}))
    job = loaded(found.job)
    assert [job[key] for key in ("nodes", "ranks_per_node", "command")] == [ASK] * 3
    one = _OWN_COUNT.format("#SBATCH -N 1\n")
    job = loaded(convert(classified({"run.sub": f"{one}./launch.py {words}\n"}), Options({})).job)
    assert (job["nodes"], job["ranks_per_node"]) == ("1", "1")


def test_a_program_that_is_not_told_it_runs_once() -> None:
    text = f"{_OWN_COUNT.format('')}echo $SLURM_NNODES\n./train.py\n"
    job = loaded(convert(classified({"run.sub": text}), Options({})).job)
    assert (job["nodes"], job["ranks_per_node"], job["command"]) == ("1", "1", ["./train.py"])


def test_hosts_stand_in_front_of_the_program_of_mpirun_rsh() -> None:
    text = "#!/bin/bash\nmpirun_rsh -ssh -np 4 n0 n0 n1 n1 MV2_USE_CUDA=1 ./cpi x\n"
    job = loaded(convert(classified({"run.sh": text}), Options({})).job)
    assert (job["nodes"], job["ranks_per_node"], job["command"]) == ("2", "2", ["./cpi", "x"])
    assert job["env"] == {"MV2_USE_CUDA": "1"}


@pytest.mark.parametrize("words", ["-np $1 $@", "-np 2 $H1 $H2 ./t", "-np $N n1 n2 ./t"])
def test_hosts_of_mpirun_rsh_that_are_not_told_are_asked_for(words: str) -> None:
    text = f"#!/bin/bash\nmpirun_rsh -ssh {words}\n"
    assert loaded(convert(classified({"run.sh": text}), Options({})).job)["nodes"] == ASK


@pytest.mark.parametrize(
    ("line", "told", "command"),
    [
        ("mpiexec_mpt ./t 3", "6 on each node", "./t 3"),
        ("mpiexec_mpt -n 8 -ppn 4 ./t", "4 on each node", "./t"),
        ("mpiexec_mpt -n 12 dplace -s 1 ./t", "6 on each node", "./t"),
        ("mpiexec_mpt -v -np 12 omplace -nt 3 -vv ./t", "6 on each node", "./t"),
        ("mpiexec_mpt omplace --new 4 ./t", "6 on each node", "exec omplace --new 4 ./t"),
    ],
)
def test_ranks_of_mpt_are_those_of_its_launcher(line: str, told: str, command: str) -> None:
    text = f"#!/bin/bash\n#PBS -l select=2:ncpus=12:mpiprocs=6\n{line}\n"
    found = convert(classified({"run.sh": text}), Options({}))
    facts = {each.name: each.told for each in found.launch}
    assert (facts["nodes"], facts["ranks"], facts["mpi"]) == ("2", told, "not determined")
    assert facts["environment"] == ("OMP_NUM_THREADS" if "-nt" in line else "not determined")
    assert f"command: {command.removeprefix('exec ')}" in {each.became for each in found.findings}
    assert any("HPE's MPT" in each.why for each in found.findings)
