"""Launches a job in pods as its manifest would, and reads what each rank was given."""

import ast
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from job_pods import PORT, Pods
from running import SHELLS

from hpclaunch.rank import wrapper_text
from hpclaunch.rank.pod import launcher_text

# Each rank writes what it is given into a file of the folder that its first argument names.
RECORD = (
    "import os, sys; "
    "seen = {'argv': sys.argv[2:], 'env': dict(os.environb), 'cwd': os.getcwd(), 'host': os.uname()[1]}; "
    "open(os.path.join(sys.argv[1], os.environ['RANK']), 'w').write(repr(seen))"
)
STARTERS = {
    "openmpi": ("mpirun", "-np", "4", "--map-by", "slot", "--bind-to", "none", "--tag-output", "--hostfile"),
    "mpich": ("mpiexec.mpich", "-n", "4", "-ppn", "2", "-prepend-rank", "-f"),
}
HOSTFILE_FORMS = {"openmpi": "{}.job.space.svc slots=2", "mpich": "{}.job.space.svc:2"}
RANKS_FROM = {"openmpi": "from=openmpi", "mpich": "from=hydra"}


@dataclass(frozen=True)
class Rank:
    argv: list[str]
    env: dict[bytes, bytes]
    cwd: str
    host: str

    def value(self, name: str) -> str | None:
        found = self.env.get(name.encode())
        return None if found is None else found.decode()


def shell_words(shell: str) -> list[str]:
    name, *options = SHELLS[shell]
    found = shutil.which(name)
    assert found, f"{name} is not installed"
    return [found, *options]


def wrapped(shell: str, settings: list[str], command: list[str]) -> list[str]:
    """The rank wrapper with a variable of the job, as the starter gets it."""
    words = [*settings, "--", "JOB=its own", "--", *(f"={word}" for word in command)]
    return [*shell_words(shell), "-c", wrapper_text(settings), "hpclaunch-rank", *words]


def launch(
    pods: Pods,
    mpi: str,
    command: list[str],
    *,
    shell: str = "dash",
    more: tuple[str, ...] = (),
    settings: tuple[str, ...] = (),
    hostfile: Path | None = None,
    user: int = 0,
    **pod: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Four ranks on two workers. `more` are settings of the launcher, `settings` of the wrapper."""
    file = hostfile or pods.hostfile(HOSTFILE_FORMS[mpi])
    given = [f"mpi={mpi}", f"hosts={file}", f"ssh={PORT}", pods.keys(user), *more]
    return launch_by(pods, mpi, given, file, command, shell=shell, settings=settings, user=user, **pod)


def launch_by(
    pods: Pods,
    mpi: str,
    given: list[str],
    hostfile: Path,
    command: list[str],
    *,
    shell: str = "dash",
    settings: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    **pod: Any,
) -> subprocess.CompletedProcess[bytes]:
    """With the launcher's settings as they are given."""
    ranks = wrapped(shell, [RANKS_FROM[mpi], "rendezvous=torch", "port=29500", *settings], command)
    words = [*given, "--", *STARTERS[mpi], str(hostfile), *ranks]
    text = [*shell_words(shell), "-c", launcher_text(given), "hpclaunch-launcher", *words]
    return run_launcher(pods, text, env, **pod)


def run_launcher(
    pods: Pods, words: list[str], env: dict[str, str] | None, **pod: Any
) -> subprocess.CompletedProcess[bytes]:
    """The words in the launcher's pod. What a daemon leaves when it is killed goes with the pods' folder."""
    full = {"OMPI_MCA_orte_tmpdir_base": str(pods.folder / "tmp"), **(env or {})}
    (pods.folder / "tmp").mkdir(exist_ok=True)
    (pods.folder / "tmp").chmod(0o1777)
    return pods.run("job-launcher", *words, env=full, **pod)


def launch_in_one(
    pods: Pods, mpi: str, command: list[str], *, shell: str = "dash", **pod: Any
) -> subprocess.CompletedProcess[bytes]:
    """Two ranks in the pod of the launcher."""
    given = [f"mpi={mpi}"]
    starters = {
        "openmpi": ("mpirun", "-np", "2", "--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"),
        "mpich": ("mpiexec.mpich", "-n", "2"),
    }
    ranks = wrapped(shell, [RANKS_FROM[mpi], "rendezvous=torch", "port=29500"], command)
    words = [*given, "--", *starters[mpi], *ranks]
    return pods.run(
        "job", *shell_words(shell), "-c", launcher_text(given), "hpclaunch-launcher", *words, **pod
    )


def record(folder: Path, *words: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    return [sys.executable, "-c", RECORD, str(folder), *words]


def ranks(folder: Path, result: subprocess.CompletedProcess[bytes]) -> list[Rank]:
    assert result.returncode == 0, result.stderr.decode()
    files = sorted(folder.iterdir(), key=lambda file: int(file.name))
    return [Rank(**ast.literal_eval(file.read_text())) for file in files]
