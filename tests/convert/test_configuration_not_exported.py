"""What a configuration sets without export: a shell that sources it and starts the launcher says whether that
has it, and the report says where it has not."""

import subprocess
from pathlib import Path

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4 -t 60\n"
_SRUN = 'srun() { echo "$@"; }\n'
_RUN = "srun --mpi=none ./till --depth ${DEPTH:-few}\n"


@pytest.mark.parametrize(
    ("configuration", "script"),
    [
        ("DEPTH=4\n", _RUN),
        ("export DEPTH=4\n", _RUN),
        ("DEPTH=4\nexport DEPTH\n", _RUN),
        ("export DEPTH=1\nDEPTH=4\n", _RUN),
        ("set -a\nDEPTH=4\nset +a\n", _RUN),
        ("DEPTH=4\n", f"source ./field.sh\n{_RUN}"),
        ("DEPTH=4\n", f"DEPTH=3\n{_RUN}"),
        ("BASE=4\nexport DEPTH=$BASE\n", _RUN),
        ("DEPTH=4\n", f"DEPTH=${{DEPTH:-2}}\n{_RUN}"),
    ],
)
def test_a_value_that_the_launcher_does_not_get_is_said(
    configuration: str, script: str, tmp_path: Path
) -> None:
    files = {"run.sub": f"{_HEAD}{script}", "field.sh": configuration}
    for name, text in files.items():
        (tmp_path / name).write_text(text.replace("#SBATCH", "#").replace(_RUN, _SRUN + _RUN))
    line = ["bash", "-c", ". ./field.sh && bash run.sub"]
    there = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    found = convert(classified(files), Options({}))
    command = loaded(found.job)["command"]
    said = [each.what for each in found.findings if "set without export" in each.why]
    assert said == (["DEPTH"] if command[-1] != there[-1] else [])
