"""What a script makes of a variable where it is set, and nobody says whether it is."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -t 5 -N 1 --ntasks-per-node=2 --gpus-per-node=2\n"


@pytest.mark.parametrize(
    ("lines", "given", "told"),
    [
        ('srun --mpi=none ./x "$RUN" ${RUN:+--resume}', {}, True),
        ('ARGS="${RUN+--resume}"\nsrun --mpi=none ./x $RUN $ARGS', {}, True),
        ('srun --mpi=none ./x "$RUN" ${RUN:+--resume}', {"RUN": ""}, False),
        ("RUN=1\nsrun --mpi=none ./x $RUN ${RUN:+--resume}", {}, False),
        ("# ${RUN:+--resume}\nsrun --mpi=none ./x $RUN", {}, False),
        ("srun --mpi=none ./x $LIB_PATH ${LIB_PATH:+:$LIB_PATH}", {}, False),
    ],
)
def test_what_stands_for_a_variable_that_may_be_unset_is_said(
    lines: str, given: dict[str, str], told: bool
) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options(given))
    said = [each for each in found.findings if each.became == "set, and not empty"]
    assert bool(said) == told
