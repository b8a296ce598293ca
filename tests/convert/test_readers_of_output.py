"""What a pipeline does with the output of the run is told, wherever its line begins."""

import pytest

from hpclaunch.convert import conversion
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    "line",
    ["mpirun -np 4 ./pi | awk 'NR > 1' >> OUT", "mpirun -np 4 \\\n  ./pi | \\\n  awk 'NR > 1' >> OUT"],
)
def test_what_reads_the_output_of_the_run_is_told_wherever_its_line_begins(line: str) -> None:
    found = conversion.convert(classified({"go.sh": f"#!/bin/bash\n{line}\n"}), Options({}))
    (told,) = [each for each in found.findings if each.what.startswith("awk")]
    assert told.kind == "left"
