"""A script of the ranks that loads modules is started by a login shell, whatever stands before its name: what
the job's command does is run for real."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import script_cases

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=4 -t 10\n"
_SCRIPT = "#!/usr/bin/env bash\nmodule load tools\necho $A $1\nshopt -q login_shell && echo login\n"


@pytest.mark.parametrize(
    ("start", "login"),
    [
        ("./step.sh x", True),
        ("sh step.sh x", True),
        ("sh -e ./step.sh x", True),
        ("dash step.sh x", True),
        ("bash step.sh x", True),
        ("env A=1 ./step.sh x", False),  # the shell in front of it is one
    ],
)
def test_it_is_started_with_its_arguments(start: str, login: bool, tmp_path: Path) -> None:
    texts = {"run.sub": f"{_HEAD}srun --mpi=none {start}\n", "step.sh": _SCRIPT}
    job = script_cases.loaded(convert(classified(texts), Options({})).job)
    Path(tmp_path, "step.sh").write_text(_SCRIPT)
    Path(tmp_path, "step.sh").chmod(stat.S_IRWXU)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BASH_FUNC_module%%": "() { :; }"}
    shown = subprocess.run(
        job["command"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    wanted = ["1 x" if "A=1" in start else "x", *(["login"] if login else [])]
    assert (shown.stdout.split("\n")[:-1], shown.stderr) == (wanted, "")
    assert job["command"][:1] == ["bash"]
    assert job["command"][1].startswith("-l")
