"""Ranks that mpirun starts from the launcher's pod in the workers', over a real sshd, are given what the
launcher's container has."""

import os
import re
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from job_pods import Pods
from pod_launching import launch, launch_by, launch_in_one, ranks, record
from running import SHELLS
from variables import TEXT, usable

from hpclaunch.rank import observed

MPIS = ("openmpi", "mpich")
_folders = count()

# Of the pod, of mpirun or of a session: no rank has the launcher's.
OWN = {
    "HOSTNAME": "job-launcher",
    "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    "K_MPI_JOB_ROLE": "launcher",
    "NVIDIA_VISIBLE_DEVICES": "",
    "NVIDIA_DRIVER_CAPABILITIES": "",
    "TERM": "xterm",
}
NASTY = {
    "LINES": "one\ntwo\n\nFALSE_NAME=x\n",
    "SEMICOLON": "a;b; c",
    "EQUALS": "=a=b",
    "QUOTES": "'\"`\\",
    "DOLLAR": "$HOME $(id) $$ ${x",
    "UNICODE": "\u00fc\u20ac\U0001f600",
    "EMPTY": "",
    "SPACES": "  two  words\t",
    "COMMA": "a,b,",
    "GLOB": "* [a-z] ?",
    "lower_case9": "x",
    "LD_LIBRARY_PATH": "/no/such:/usr/local/lib",
    "I_MPI_FABRICS": "shm",
}
# What sshd, mpirun, the wrapper and the shells set by themselves.
ADDED = {
    *("USER", "LOGNAME", "HOME", "PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"),
    *(
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "NODE_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "JOB",
    ),
    *("HFI_NO_BACKTRACE", "IPATH_NO_BACKTRACE", "GFORTRAN_UNBUFFERED_PRECONNECTED"),
    *("MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME"),
}
ADDED_BEGIN = ("OMPI_", "PMIX_", "PMI_", "PRTE_")


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("shell", SHELLS)
def test_every_rank_has_what_the_launcher_has(pods: Pods, shell: str, mpi: str) -> None:
    folder = pods.folder / f"seen-{shell}-{mpi}"
    command = record(folder, "two  words", "", ":", "-np", "a\nb", "$x")
    result = launch(pods, mpi, command, shell=shell, env=OWN | NASTY, settings=("verify=1",))
    seen = ranks(folder, result)
    places = [[rank.value(name) for name in ("RANK", "LOCAL_RANK", "NODE_RANK")] for rank in seen]
    assert places == [["0", "0", "0"], ["1", "1", "0"], ["2", "0", "1"], ["3", "1", "1"]]
    for rank in seen:
        assert rank.argv == ["two  words", "", ":", "-np", "a\nb", "$x"]
        assert rank.cwd == "/usr/share"
        assert rank.host == f"job-worker-{rank.value('NODE_RANK')}"
        assert {name: rank.value(name) for name in NASTY} == NASTY
        assert rank.value("JOB") == "its own"
        assert rank.value("PATH") == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        assert (rank.value("WORLD_SIZE"), rank.value("LOCAL_WORLD_SIZE")) == ("4", "2")
        assert (rank.value("MASTER_ADDR"), rank.value("MASTER_PORT")) == (
            "job-worker-0.job.space.svc",
            "29500",
        )
        names = {name.decode() for name in rank.env} - {"PATH", *NASTY, *ADDED}
        assert {name for name in names if not name.startswith(ADDED_BEGIN)} == set()
    # hpclaunch verify reads the lines that mpirun puts the rank before.
    reports = observed.read(result.stderr.splitlines(keepends=True), 4, 2)
    assert {rank: report.node for rank, report in reports.reports.items()} == {
        0: "job-worker-0",
        1: "job-worker-0",
        2: "job-worker-1",
        3: "job-worker-1",
    }
    assert reports.broken == ()


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True).filter(
    lambda name: usable(name) and name not in ADDED and name not in OWN and not name.startswith(ADDED_BEGIN)
)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(env=st.dictionaries(NAMES, TEXT, max_size=12), mpi=st.sampled_from(MPIS))
def test_any_name_and_value_reaches_the_ranks(pods: Pods, env: dict[str, str], mpi: str) -> None:
    folder = pods.folder / f"any-{next(_folders)}"
    seen = ranks(folder, launch(pods, mpi, record(folder), env=env))
    assert len(seen) == 4
    for rank in seen:
        assert {name: rank.env.get(name.encode()) for name in env} == {
            name: os.fsencode(value) for name, value in env.items()
        }


@pytest.mark.parametrize("mpi", MPIS)
def test_a_failing_rank_ends_the_job_with_its_status(pods: Pods, mpi: str) -> None:
    command = ["sh", "-c", '[ "$RANK" != 3 ] || exit 7; sleep 600']
    assert launch(pods, mpi, command).returncode == 7


def test_workers_start_nothing_on_others(pods: Pods) -> None:
    """As Open MPI would have them do from 65 hosts on, or here: as a chain."""
    log = pods.folder / "job-worker-1.log"
    before = log.stat().st_size
    folder = pods.folder / "chain"
    result = launch(pods, "openmpi", record(folder), env={"OMPI_MCA_routed_radix": "1"})
    assert len(ranks(folder, result)) == 4
    callers = re.findall(r"Accepted publickey .* from (\S+)", log.read_text()[before:])
    assert callers
    assert "10.99.0.1" not in callers  # job-worker-0


@pytest.mark.parametrize("mpi", MPIS)
def test_a_folder_that_the_words_name_is_the_ranks(pods: Pods, mpi: str) -> None:
    folder = pods.folder / f"folder-{mpi}"
    seen = ranks(folder, launch(pods, mpi, record(folder), settings=("cwd=/usr/lib",), directory="/"))
    assert {rank.cwd for rank in seen} == {"/usr/lib"}


def test_a_binding_that_the_pod_refuses_is_one_warning_of_each_node(pods: Pods) -> None:
    folder = pods.folder / "refused"
    result = launch(
        pods, "openmpi", record(folder), settings=("cpus=4000;4001", "membind=0;0", "besteffort=1")
    )
    assert len(ranks(folder, result)) == 4
    warnings = observed.read(result.stderr.splitlines(), 4, 2).warnings
    assert set(warnings) == {"job-worker-0", "job-worker-1"}
    for said in warnings.values():
        assert len(said) == 1
        assert "4000" in said[0]


@pytest.mark.parametrize("mpi", MPIS)
def test_a_user_who_is_not_root(rootless_pods: Pods, mpi: str) -> None:
    home = str(rootless_pods.home(1000))
    folder = rootless_pods.folder / f"seen-{mpi}"
    folder.mkdir()
    folder.chmod(0o777)
    command = ["sh", "-c", 'env -0 >"$1/$RANK"', "sh", str(folder)]
    more = (f"home={home}", "wait=30")
    env = {"HOME": "/", "SECRET": "a\nb"}
    result = launch(rootless_pods, mpi, command, more=more, user=1000, env=env)
    assert result.returncode == 0, result.stderr.decode()
    files = sorted(folder.iterdir())
    assert [(file.name, file.stat().st_uid) for file in files] == [(str(rank), 1000) for rank in range(4)]
    for file in files:
        seen = file.read_text().split("\0")
        assert f"HOME={home}" in seen
        assert "SECRET=a\nb" in seen


def test_over_kubectl_exec_the_workers_keep_what_is_their_own(pods: Pods) -> None:
    """MPIJob v1. The operator's script is stood in for: ssh, and the container's environment."""
    config = pods.folder / "config"
    config.mkdir()
    hostfile = config / "hostfile"
    hostfile.write_text("".join(f"{name} slots=2\n" for name in pods.workers))
    script = config / "kubexec.sh"
    script.write_text(
        "#!/bin/sh\nset -x\nhost=$1\nshift\n"
        "exec ssh -F /dev/null -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
        '-p 2222 "$host.job.space.svc" "export NVIDIA_VISIBLE_DEVICES=GPU-7 HOSTNAME=$host; $*"\n'
    )
    script.chmod(0o755)
    folder = pods.folder / "exec"
    given = ["mpi=openmpi", f"hosts={hostfile}", "wait=30"]
    env = OWN | NASTY | {"OMPI_MCA_plm_rsh_agent": str(script)}
    seen = ranks(folder, launch_by(pods, "openmpi", given, hostfile, record(folder), env=env))
    assert len(seen) == 4
    for rank in seen:
        assert {name: rank.value(name) for name in NASTY} == NASTY
        assert rank.value("MASTER_ADDR") == "10.99.0.1"
        assert (rank.value("NVIDIA_VISIBLE_DEVICES"), rank.value("HOSTNAME")) == ("GPU-7", rank.host)
        assert rank.cwd == "/usr/share"


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("shell", SHELLS)
def test_all_ranks_in_one_pod(pods: Pods, shell: str, mpi: str) -> None:
    folder = pods.folder / f"one-{shell}-{mpi}"
    seen = ranks(folder, launch_in_one(pods, mpi, record(folder), shell=shell, env=NASTY))
    assert [rank.value("LOCAL_RANK") for rank in seen] == ["0", "1"]
    for rank in seen:
        assert rank.cwd == "/usr/share"
        assert {name: rank.value(name) for name in NASTY} == NASTY
        assert rank.value("MASTER_ADDR") == "127.0.0.1"
