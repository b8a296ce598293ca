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
    ],
)
def test_the_scheduler_is_named(line: str, name: str) -> None:
    found = convert(classified({"run.sh": f"#!/bin/bash\nexport A=1\n{line}\n"}), Options({}))
    assert name in found.refused
    assert not found.job
    assert any(place.line == 3 for each in found.findings for place in each.places)


@pytest.mark.parametrize("line", ["flux resource list\nsrun ./t", "flux jobs -a\nmpirun -np 2 ./t"])
def test_what_only_asks_flux_is_no_script_for_it(line: str) -> None:
    assert convert(classified({"run.sh": f"#!/bin/bash\n{line}\n"}), Options({})).job
