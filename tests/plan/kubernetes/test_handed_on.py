"""What the plan lets a job inherit, the launcher's text hands on: two lists of names that must agree."""

import os
import subprocess
from pathlib import Path

import pytest
from pod_plans import planned

from hpclaunch.rank.pod import launcher_text
from hpclaunch.values.errors import InputError

STARTERS = {"openmpi": "mpirun", "mpich": "mpiexec", "intel": "mpiexec.hydra"}

# Of each kind of name that pods, operators and launchers have of their own, and some that are nobody's.
NAMES = (
    "HTTPS_PROXY",
    "LANG",
    "USER",
    "SHELL",
    "TMPDIR",
    "CDPATH",
    "POSIXLY_CORRECT",
    "IFS",
    "HOME",
    "HOSTNAME",
    "TERM",
    "KUBERNETES_PORT",
    "K_MPI_JOB_ROLE",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_REQUIRE_CUDA",
    "OMPI_MCA_btl",
    "OMPI_OTHER",
    "PMIX_MCA_gds",
    "PMIX_RANK",
    "PRTE_MCA_x",
    "PRTE_OTHER",
    "PMI_RANK",
    "PMIX",
    "HYDRA_ENV",
    "I_MPI_HYDRA_ENV",
    "I_MPI_PERHOST",
    "I_MPI_DEBUG",
    "OPAL_PREFIX",
    "HPCLAUNCH_MASTER",
)

# Open MPI gives its ranks these by itself (tests/equivalence runs it).
BY_ITSELF = ("OMPI_", "PMIX_")


def handed_on(mpi: str, folder: Path) -> set[str]:
    """The names that the launcher's text tells mpirun to carry, from a pod that has all of NAMES."""
    for file, text in {
        STARTERS[mpi]: 'for word; do printf "%s\\0" "$word"; done',
        "agent": 'shift; exec /bin/sh -c "$*"',  # stands in for kubectl exec: the host is this machine
    }.items():
        (folder / file).write_text(f"#!/bin/sh\n{text}\n")
        (folder / file).chmod(0o755)
    (folder / "hostfile").write_text("localhost slots=8\n")
    settings = [f"mpi={mpi}", f"hosts={folder}/hostfile"]
    argv = ["/bin/sh", "-c", launcher_text(settings), "hpclaunch-launcher", *settings, "--", STARTERS[mpi]]
    environment = dict.fromkeys(NAMES, "x") | {"PATH": f"{folder}:{os.environ['PATH']}", "IFS": " \t\n"}
    environment["OMPI_MCA_plm_rsh_agent"] = str(folder / "agent")
    run = subprocess.run([*argv, "/bin/true"], env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    words = run.stdout.split("\0")
    option = "-x" if mpi == "openmpi" else "-genvlist"
    return {name for at, word in enumerate(words) if word == option for name in words[at + 1].split(",")}


def may_inherit(name: str, mpi: str) -> bool:
    try:
        planned({"inherit": [name], "container": {"mpi": mpi}})
    except InputError:
        return False
    return True


@pytest.mark.parametrize("mpi", STARTERS)
def test_what_a_job_may_inherit_is_handed_on(mpi: str, tmp_path: Path) -> None:
    accepted = {name for name in NAMES if may_inherit(name, mpi)}
    assert {"HTTPS_PROXY", "OMPI_MCA_btl", "PMIX_MCA_gds", "I_MPI_DEBUG"} <= accepted
    given = handed_on(mpi, tmp_path)
    if mpi == "openmpi":
        given |= {name for name in NAMES if name.startswith(BY_ITSELF)}
    assert accepted - given == set()
    assert "PMIX_RANK" not in accepted  # PMIx itself tells it to each rank
