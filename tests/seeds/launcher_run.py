"""Runs the launcher's text of a rendered manifest, with an mpirun that tells what it was called with."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from seed_fields import Check, Manifest, Process

# Of kubectl exec: the host is this machine, which /etc/hosts names.
_AGENT = '#!/bin/sh\nshift\nexec /bin/sh -c "$*"\n'
_MPIRUN = '#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done\n'


def words_of_mpirun(launcher: Sequence[str], environment: dict[str, str]) -> list[str]:
    """What mpirun gets from the launcher of an MPIJob of kubectl exec, nothing where the launcher fails;
    `environment` is its container's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (("kubexec.sh", _AGENT), ("mpirun", _MPIRUN)):
            (folder / file).write_text(text)
            (folder / file).chmod(0o755)
        (folder / "hostfile").write_text("localhost slots=8\n")
        hosts = {"hosts=/etc/mpi/hostfile": f"hosts={folder}/hostfile"}
        path = f"{folder}:{os.environ['PATH']}"
        run = subprocess.run(
            [hosts.get(word, word) for word in launcher],
            env={"PATH": path, "OMPI_MCA_plm_rsh_agent": f"{folder}/kubexec.sh", **environment},
            capture_output=True,
            timeout=60,
        )
    return run.stdout.decode().split("\0")[:-1] if run.returncode == 0 else []


def carried() -> Check:
    """-x NAME: mpirun gives that variable of its own environment to the ranks."""

    def check(value: Any, ours: Manifest) -> str:
        option, name = value
        words = words_of_mpirun(Process(ours).launcher, {"LD_LIBRARY_PATH": "/usr/local/lib"})
        pairs = pairwise(words)
        return "" if (option, name) in pairs else f"mpirun does not carry {name}"

    return check
