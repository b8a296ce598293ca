"""sbatch $OPTIONS $SCRIPT WORDS: which of them is the script, where nothing gives the variables."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("sbatch -N 2 $WARM_SCRIPT FAST --lr 1", "${WARM_SCRIPT}"),
        ("sbatch $MORE ${SCRIPT_FILE} FAST", "${SCRIPT_FILE}"),
        ("sbatch -N 2 $WARM_OPTIONS FAST --lr 1", "FAST"),
        ("sbatch -N 2 $WARM_SCRIPT fast.sh", "fast.sh"),
        ("sbatch -N 2 $WARM_SCRIPT jobs/fast", "jobs/fast"),
        ("sbatch -N 2 $DESCRIPTION FAST", "FAST"),
    ],
)
def test_a_variable_named_like_a_script_before_what_looks_like_none_is_the_script(
    line: str, script: str
) -> None:
    found = convert(classified({"go.sh": f"#!/bin/bash\n{line}\n"}), Options({})).findings
    (asked,) = (each.why for each in found if (each.kind, each.key) == ("question", "command"))
    assert asked.startswith(f"what each rank executes: {script} is not among the files")
