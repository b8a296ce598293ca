"""What is said of a variable that a line hands to a function which starts the run."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 1 --gpus-per-node=1 -t 5\n"


@pytest.mark.parametrize(
    ("function", "call", "is_used"),
    [
        ('go() {\n  "$@" &\n  wait $!\n}', "go python fit.py --jobs $jobs", True),
        ("go() {\n  python fit.py --jobs $1\n}", "go $jobs", True),
        ("go() {\n  local n=${1}\n  python fit.py --jobs $n\n}", 'go "$jobs"', True),
        ('go() {\n  "$@"\n}\nall() {\n  go python fit.py "$@"\n}', "all --jobs $jobs", True),
        ("go() {\n  echo $1\n  python fit.py\n}", "go $jobs", False),
        ('say() {\n  echo "$@"\n}\ngo() {\n  python fit.py "$@"\n}', "say $jobs\ngo --all", False),
    ],
)
def test_a_value_that_a_function_hands_to_the_run_is_used(function: str, call: str, is_used: bool) -> None:
    text = f"{_HEAD}{function}\njobs=$(( 4 - 2 ))\n{call}\n"
    findings = convert(classified({"go.sub": text}), Options({})).findings
    (said,) = (each for each in findings if "jobs=" in each.what)
    assert said.kind == ("carried" if is_used else "without effect")
