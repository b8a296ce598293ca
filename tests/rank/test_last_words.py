"""The reason why a rank or a copy fails is said while srun still reads; it drops what it has not read."""

import os
import subprocess
from pathlib import Path

import pytest
from running import SHELLS, SLURM

from hpclaunch.rank import beside, wrapper_text

# Stands in for sleep: it lasts until the file `go` is there.
SLEEP = """\
#!/bin/sh
while [ ! -e "$(dirname "$0")/go" ]; do /bin/sleep 0.02; done
"""


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
@pytest.mark.parametrize("what", ["rank", "copy"])
def test_a_failure_is_read_before_its_process_ends(shell: list[str], what: str, tmp_path: Path) -> None:
    sleep = tmp_path / "sleep"
    sleep.write_text(SLEEP)
    sleep.chmod(0o755)
    if what == "rank":
        words = [wrapper_text(("from=slurm", "cwd=/no/such/folder")), "rank"]
        words += ["from=slurm", "cwd=/no/such/folder", "--", "--", "=true"]
        said = "/no/such/folder"
    else:
        words = [beside.text("stage-in"), "copy", "/no/such/folder", str(tmp_path / "to"), "the data"]
        said = "there is no folder the data"
    path = f"{tmp_path}:{os.environ['PATH']}"
    with subprocess.Popen(
        [*shell, "-c", *words], env={**SLURM, "PATH": path}, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert said in process.stderr.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        (tmp_path / "go").touch()
        assert process.wait(20) == 121
