"""The texts have only the parts that their settings need; shellcheck reads each as it is then."""

import shutil
import subprocess
from itertools import product

import pytest

from hpclaunch.rank.pod import beside_rank, launcher_text, stage_in_text, worker_text

# As in the Makefile; a setting that no part is there for, and ssh's options where kubectl exec is used.
KNOWN = "SC1007,SC2015,SC2034,SC2086,SC2154,SC2163,SC3045"
TEXTS = [
    launcher_text([f"mpi={mpi}", *hosts], steps)
    for mpi, hosts, steps in product(
        ("openmpi", "intel"), ((), ("hosts=/h",), ("hosts=/h", "ssh=22")), (False, True)
    )
] + [
    launcher_text(["mpi=none"], True),
    stage_in_text(),
    beside_rank("openmpi", 0, 1, ())[2],
    worker_text(["port=22"]),
    worker_text(["kit=/opt/ssh"]),
]


@pytest.mark.parametrize("text", TEXTS)
def test_shellcheck_finds_nothing(text: str) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    command = ["shellcheck", "--shell=sh", f"--exclude={KNOWN}", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
