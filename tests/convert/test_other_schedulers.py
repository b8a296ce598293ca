"""Launchers for other schedulers are refused by their name."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("flux run -N 2 -n 16 ./t", "Flux"),
        ("flux submit --cc=1-4 -n 1 ./t", "Flux"),
        ("flux alloc -N 2 ./t.sh", "Flux"),
        ("jsrun -n 4 -g 1 ./t", "LSF"),
        ("bsub -W 10 ./t.sh", "LSF"),
        ("qsub -l select=2 t.pbs", "PBS"),
        ("qrsh -l gpu=4 ./t.sh", "Grid Engine"),
        ("aprun -n 16 ./t", "PBS"),
        ("condor_submit t.sub", "HTCondor"),
        ("oarsub -l nodes=2 ./t.sh", "OAR"),
        ("gantry run --gpus 8 -- python t.py", "Beaker (gantry)"),
        ("beaker experiment create t.yaml", "Beaker"),
        ("sky jobs launch t.yaml", "SkyPilot"),
        ("mcli run -f t.yaml", "MosaicML"),
    ],
)
@pytest.mark.parametrize("head", ["export A=1", "#SBATCH -N 2"])
def test_the_scheduler_is_named(line: str, name: str, head: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\n{head}\n{line}\n"}), Options({}))
    assert name in found.refused
    assert not found.job
    assert any(place.line == 3 for each in found.findings for place in each.places)


@pytest.mark.parametrize("line", ["flux resource list\nsrun ./t", "flux jobs -a\nmpirun -np 2 ./t"])
def test_what_only_asks_flux_is_no_script_for_it(line: str) -> None:
    assert convert(classified({"run.sh": f"#!/bin/bash\n{line}\n"}), Options({})).job


def test_a_command_of_another_scheduler_beside_the_run_is_said_by_its_name() -> None:
    text = "#!/bin/bash\n#SBATCH -N 1\nsrun --mpi=none ./t\nqsub next.pbs\nbeaker dataset create x\n"
    found = convert(classified({"run.sh": text}), Options({}))
    assert found.job
    left = {place.line: each for each in found.findings if each.kind == "left" for place in each.places}
    assert "PBS or Grid Engine" in left[4].why
    assert "Beaker" not in left[5].why  # it starts nothing
