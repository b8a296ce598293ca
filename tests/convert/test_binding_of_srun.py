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
