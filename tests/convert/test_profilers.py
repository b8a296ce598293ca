"""Profilers in front of what starts the ranks, and of what each rank executes."""

from typing import Any

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"


def _of(line: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": f"{_HEAD}{line}\n"}), Options({}))
    return script_cases.loaded(found.job), found


@pytest.mark.parametrize(
    "profiler",
    [
        "nsys profile -o x -t cuda,nvtx --stats=true",
        "nsys profile",
        "perf stat -e cycles -a",
        "perf record -g -o p --",
        "nvprof --profile-child-processes -o x",
        "ncu --set full -f -o x",
        "vtune -collect hotspots -quiet -r x -knob sampling-mode=hw --",
    ],
)
@pytest.mark.parametrize("starter", ["srun --mpi=pmix", "mpirun -np 16"])
def test_who_looked_at_the_starter_is_said_and_the_command_is_the_ranks_own(
    profiler: str, starter: str
) -> None:
    job, found = _of(f"{profiler} {starter} ./t -o y")
    assert (job["command"], job["mpi"], job["ranks_per_node"]) == (["./t", "-o", "y"], "pmix", "8")
    (said,) = (each for each in found.findings if each.what == profiler.removesuffix(" --"))
    assert said.kind == "left"


@pytest.mark.parametrize(
    "profiler",
    ["nsys profile -t cuda -f true", "ncu -c 3 --nvtx", "perf stat -d", "amplxe-cl -collect memory-access"],
)
def test_who_looks_at_each_rank_stays_in_front_of_it(profiler: str) -> None:
    job, _ = _of(f"srun --mpi=pmix {profiler} ./t 1")
    assert job["command"] == [*profiler.split(), "./t", "1"]
    torch, _ = _of(f"srun --mpi=none -n 2 --ntasks-per-node=1 {profiler} torchrun --nproc_per_node 8 t.py")
    assert torch["command"] == [*profiler.split(), "python", "-u", "t.py"]
    assert (torch["ranks_per_node"], torch["rendezvous"]) == ("8", "torch")


@pytest.mark.parametrize(
    "line", ["nsys stats x.nsys-rep", "perf report -i p", "nsys profile -o x", "vtune -report summary -r x"]
)
def test_who_looks_at_nothing_starts_nothing(line: str) -> None:
    job, found = _of(f"{line}\nsrun --mpi=pmix ./t")
    assert job["command"] == ["./t"]
    assert any(line in each.what for each in found.findings)
