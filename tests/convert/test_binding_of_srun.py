"""srun's --cpu-bind and --mem-bind, numactl in front of the command, and what each rank has of its own."""

from typing import Any

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.topology import catalogue
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 60\n"
_MAPPED = ["0", "8", "16", "24"]


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


def _job(found: Conversion) -> dict[str, Any]:
    return loaded(found.job)


@pytest.mark.parametrize(
    ("words", "bind"),
    [
        ("--mem-bind=local", {"memory": "local"}),
        ("--mem-bind=local numactl -l", {"memory": "none"}),
        ("numactl --localalloc", {"memory": "none"}),
        ("--cpu-bind=map_cpu:0,8,16,24", {"cpus": _MAPPED, "memory": "none"}),
        ("--cpu-bind=v,mask_cpu:0x1,0x100", {"cpus": ["0", "8", "0", "8"], "memory": "none"}),
        ("--cpu-bind=map_cpu:0,8,16,24 --mem-bind=local", {"cpus": _MAPPED, "memory": "local"}),
        ("--cpu-bind=map_cpu:0,8,16,24 numactl -l", {"cpus": _MAPPED, "memory": "none"}),
        ("--mem-bind=map_mem:0,0,1,1", {"memory": ["0", "0", "1", "1"]}),
        ("numactl -C 0-7 -m 0", {"cpus": ["0-7"] * 4, "memory": ["0"] * 4}),
        ("numactl --physcpubind=0-7 -l", {"cpus": ["0-7"] * 4, "memory": "none"}),
        ("--cpu-bind=none numactl --preferred=0", {"cpus": "none", "memory": "none"}),
        ("--cpu-bind=none,v --mem-bind=none,verbose", {"cpus": "none", "memory": "none"}),
        ("--cpu-bind=quiet,none --mem-bind=prefer,map_mem:0,0,1,1", {"cpus": "none", "memory": "prefer"}),
        ("--mem-bind=prefer,local", {"memory": "prefer"}),
        ("--cpu-bind=map_cpu:0*2,8*2", {"cpus": ["0", "0", "8", "8"], "memory": "none"}),
        ("--cpu-bind=cores,v", {"cpus": "local"}),
    ],
)
def test_cores_and_memory(words: str, bind: dict[str, object]) -> None:
    found = _converted(f"srun --mpi=none {words} ./t")
    assert _job(found)["bind"] == bind
    for key, value in bind.items():
        said = {each.became for each in found.findings if each.became.startswith(f"bind.{key}")}
        shows = " ".join(value) if isinstance(value, list) else value
        assert said == {f"bind.{key}: {shows}"}


def test_numa_nodes_of_a_known_machine_are_its_cores() -> None:
    machine = catalogue.load("dgx-a100").value
    text = f"{_HEAD}srun --mpi=none numactl --cpunodebind=3 --membind=3 ./t\n"
    job = loaded(convert(classified({"run.sub": text}), Options({}, machine)).job)
    assert job["bind"] == {"cpus": ["48-63,176-191"] * 4, "memory": ["3"] * 4}
    assert job["command"] == ["./t"]


_TABLE = "bind_cpu_cores=([0]=48 [1]=48 [2]=16 [3]=100)\n"


# GPUs 0 to 3 of a DGX A100 are beside NUMA nodes 3, 3, 1 and 1: cores 48-63 and 16-31.
@pytest.mark.parametrize(
    ("words", "machine", "why"),
    [
        ("numactl --physcpubind=300-310", "dgx-a100", "a dgx-a100 has no CPU 300-310"),
        ("taskset -c 0-400", "dgx-a100", "a dgx-a100 has no CPU 256-400"),
        ("numactl --membind=9", "dgx-a100", "a dgx-a100 has no NUMA node 9"),
        ("--cpu-bind=map_cpu:48,49,0,17,112,113,80,81", "dgx-a100", "local rank 2 of a dgx-a100 run away"),
        ("--cpu-bind=map_cpu:48,49,16,17,112,113,80,81", "dgx-a100", ""),
        ("numactl --physcpubind=0-255 --membind=0-7", "dgx-a100", ""),
        ("./bind.sh --cpu=cores.sh --", "azure-ndm-a100-v4", "a azure-ndm-a100-v4 has no CPU 100"),
    ],
)
def test_the_jobs_own_lists_are_held_against_the_machine(words: str, machine: str, why: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
    files = {"run.sub": f"{head}srun --mpi=none {words} ./t\n"} | (
        {"cores.sh": _TABLE} if "cores.sh" in words else {}
    )
    found = convert(classified(files), Options({}, catalogue.load(machine).value))
    whys = [each.why for each in found.findings if each.kind == "defect"]
    assert len(whys) == bool(why)
    assert all(each.startswith(why) for each in whys)


@pytest.mark.parametrize("before", ["", "N=$((SLURM_LOCALID/4))\n"])
def test_what_a_script_binds_each_rank_to_is_told_as_it_is_written(before: str) -> None:
    node = "$N" if before else "$((SLURM_LOCALID/4))"
    files = {"run.sub": f"{_HEAD}srun --mpi=none ./t.sh\n"}
    files["t.sh"] = f"#!/bin/bash\n{before}exec numactl -N {node} ./t\n"
    found = convert(classified(files), Options({}))
    assert _job(found)["bind"] == {"cpus": "none", "memory": "none"}
    assert {each.what for each in found.findings if each.key == "bind.cpus"} == {f"numactl -N {node} ./t"}


@pytest.mark.parametrize(
    ("gpu", "is_asked"),
    [("$((3-SLURM_LOCALID))", True), ("$G", True), ("$SLURM_LOCALID", False), ("0,1,2,3", False)],
)
def test_a_text_that_chooses_the_gpu_of_each_rank_is_asked_for_its_cores(gpu: str, is_asked: bool) -> None:
    lines = f"srun --mpi=none bash -c 'export ROCR_VISIBLE_DEVICES={gpu}; ./t'"
    found = [each for each in _converted(lines).findings if each.kind == "question"]
    assert [each.what for each in found if "bind.cpus" in each.became] == (
        [f"export ROCR_VISIBLE_DEVICES={gpu};"] if is_asked else []
    )


@pytest.mark.parametrize(
    ("lines", "lines_of_defects"),
    [
        ("srun --mpi=none ./t $SLURM_PROCID", [3]),
        ("export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID\nsrun --mpi=none ./t", [3]),
        ("srun --mpi=none bash -c './t $SLURM_PROCID'", []),
        ("export N=$SLURM_NNODES\nsrun --mpi=none ./t", []),
    ],
)
def test_what_the_scripts_own_shell_puts_in_is_the_same_for_all(
    lines: str, lines_of_defects: list[int]
) -> None:
    found = [each for each in _converted(lines).findings if each.kind == "defect"]
    assert [each.places[0].line for each in found] == lines_of_defects


@pytest.mark.parametrize(
    ("name", "asks", "vendor"),
    [
        ("CUDA_VISIBLE_DEVICES", True, "gives GPUs srun"),
        ("ROCR_VISIBLE_DEVICES", True, "gives GPUs of AMD srun"),
        ("ZE_AFFINITY_MASK", True, "gives GPUs of Intel srun"),
        ("GPU_DEVICE_ORDINAL", True, "gives GPUs srun"),
        ("HIP_VISIBLE_DEVICES", False, ""),
    ],
)
def test_gpus_that_the_script_chose_are_in_doubt_where_srun_sets_them_anew(
    name: str, asks: bool, vendor: str
) -> None:
    found = _converted(f"export {name}=0,2\nsrun --mpi=none --gpus-per-task=1 ./t")
    assert _job(found)["env"] == {name: "0,2"}
    said = [each for each in found.findings if each.kind == "question" and each.became == f"env.{name}"]
    assert [vendor in each.why for each in said] == [True] * asks


_LOCAL_RANK, _LIST = "local rank instead", "gave to its local rank"


@pytest.mark.parametrize(
    ("batch", "words", "advice"),
    [
        ("--gpu-bind=closest", "", {"--gpu-bind=closest": _LOCAL_RANK}),
        ("--gpu-bind=none", "", {"--gpu-bind=none": ""}),
        ("--gpus-per-task=1", "", {"--gpus-per-task=1": _LOCAL_RANK}),
        ("--gpus-per-task=1 --gpu-bind=none", "", {"--gpu-bind=none": ""}),
        ("--gpus-per-task=1", "--gpu-bind=none", {"--gpu-bind=none": ""}),
        ("", "--gpu-bind=map_gpu:3,2,1,0", {"--gpu-bind=map_gpu:3,2,1,0": _LIST}),
        ("", "--gpu-bind=v,mask_gpu:0x8,4,2,1", {"--gpu-bind=v,mask_gpu:0x8,4,2,1": _LIST}),
        ("", "--tres-bind=gres/gpu:closest", {"--tres-bind=gres/gpu:closest": _LOCAL_RANK}),
        ("", "--gpus-per-task=1 --gpu-bind=none", {"--gpus-per-task=1": "", "--gpu-bind=none": ""}),
    ],
)
def test_which_gpus_each_rank_saw_is_said(batch: str, words: str, advice: dict[str, str]) -> None:
    head = _HEAD.replace("--gpus-per-node=4 ", "" if "gpus-per-task" in batch else "--gpus-per-node=4 ")
    text = f"{head}#SBATCH {batch or '-J x'}\nsrun --mpi=none {words} ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert loaded(found.job)["gpus_per_node"] == "4"
    its = {each.what: each.todo for each in found.findings if "NVLink" in each.why}
    assert its.keys() == advice.keys()
    assert all(advice[what] in todo and bool(todo) == bool(advice[what]) for what, todo in its.items())


@pytest.mark.parametrize(
    ("variable", "kind"),
    [
        ("SLURM_DISTRIBUTION=cyclic", "left"),
        ("SLURM_DISTRIBUTION=block", "replaced"),
        ("SLURM_GPU_BIND=closest", "replaced"),
        ("SLURM_LABELIO=1", "left"),
        ("SLURM_KILL_BAD_EXIT=1", "replaced"),
        ("PMI_SIZE=1", "left"),
    ],
)
@pytest.mark.parametrize("how", ["export {}\nsrun", "{} srun"])
def test_an_option_that_srun_takes_of_a_variable_is_read_as_that_option(
    variable: str, kind: str, how: str
) -> None:
    found = _converted(f"{how.format(variable)} --mpi=none ./t")
    name = variable.partition("=")[0]
    its = [each for each in found.findings if each.what.startswith(name) and each.kind != "defect"]
    assert [each.kind for each in its] == [kind]
    assert "job's keys say it" not in its[0].why
    assert "env" not in _job(found)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("srun --mpi=pmix ./t", 1),
        ("srun --mpi=pmix --container-image=a/b:c ./t", 1),
        ("srun --mpi=pmix --cpu-bind=none ./t", 0),
        ("srun --mpi=pmix --mem-bind=local ./t", 0),
        ("mpirun -np 8 ./t", 0),  # of which that is said already
        ("torchrun --nproc_per_node=4 --nnodes=2 t.py", 0),
        ("python t.py", 0),
    ],
)
def test_that_ranks_are_bound_of_which_no_line_says_it_is_told(run: str, said: int) -> None:
    findings = _converted(run).findings
    assert [each.what for each in findings].count("srun without --cpu-bind") == said
    assert all("srun" not in each.what for each in findings if not run.startswith("srun"))
    assert any(each.became.startswith("bind") for each in findings)


@pytest.mark.parametrize(
    ("command", "bind"),
    [
        ("gmx mdrun -nt 32 -pin on -s a.tpr", {"cpus": "none", "memory": "none"}),
        ("gmx mdrun -nt 32 -pin off -s a.tpr", None),
        ("gmx mdrun -nt 32", None),
    ],
)
@pytest.mark.parametrize("launcher", ["", "srun --mpi=none "])
def test_a_program_that_pins_its_threads_itself_is_bound_by_nobody(
    launcher: str, command: str, bind: dict[str, str] | None
) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gpus-per-node=4 -t 60\n{launcher}{command}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert _job(found).get("bind") == bind
    assert any(each.became == "bind: cpus: local" for each in found.findings) == (bind is None)


@pytest.mark.parametrize(
    ("run", "bind"),
    [
        ("bash -c 'hpl.sh --cpu-affinity 0-7:8-15 --dat d.dat'", {"cpus": "none", "memory": "none"}),
        ("bash -c 'hpl.sh --mem-affinity 0:1 --cpu-affinity=0-7:8-15'", {"cpus": "none", "memory": "none"}),
        ("./hpl.sh --cpu-affinity 0-7:8-15 --dat d.dat", {"cpus": "none", "memory": "none"}),
        ("bash -c 'hpl.sh --mem-affinity 0:1'", {"memory": "none"}),
        ("bash -c 'hpl.sh --dat my--cpu-affinity.dat'", None),
    ],
)
def test_lists_of_cores_for_the_program_itself_are_what_binds_its_ranks(
    run: str, bind: dict[str, str] | None
) -> None:
    assert _job(_converted(f"srun --mpi=none {run}")).get("bind") == bind


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ("./fit || echo numactl failed", False),
        ('if ./fit; then :; else echo \\"what numactl left\\" >&2; exit 3; fi', False),
        ("numactl -N 0 ./fit || echo numactl failed", True),
        ("echo numactl -N 0 ./fit > one.sh; sh one.sh", True),
        ("echo numactl -N 0 ./fit | sh", True),
        ("echo begins; numactl -N 0 ./fit", True),
    ],
)
def test_a_message_that_names_a_binder_binds_nothing(text: str, binds: bool) -> None:
    bind = _job(_converted(f'srun --mpi=none bash -c "{text}"')).get("bind")
    assert bind == ({"cpus": "none", "memory": "none"} if binds else None)
