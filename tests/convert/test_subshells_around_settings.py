"""What a script sets in a ( ) stays there."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

RUN = "srun --mpi=pmix --container-image=lab/t:1 ./t"


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (f"( umask 0002; mkdir -p out )\n{RUN}\n", "without effect"),
        (f"( umask 0002\n{RUN} )\n", "left"),
        (f"umask 0002\n{RUN}\n", "left"),
    ],
)
def test_a_umask_is_handed_on_to_ranks_that_start_where_it_is_set(lines: str, kind: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 --ntasks-per-node=4 -t 9\n{lines}"
    found = convert(classified({"run.sub": text}), Options({})).findings
    (told,) = (each for each in found if "umask 0002" in each.what)
    assert told.kind == kind
