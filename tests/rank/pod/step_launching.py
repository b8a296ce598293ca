"""A launcher with steps and trials, in pods: what runs, where, in which order and with which variables."""

import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from job_pods import PORT, Pods
from pod_launching import HOSTFILE_FORMS, RANKS_FROM, STARTERS, Rank, run_launcher, shell_words

from hpclaunch.rank import wrapper_text
from hpclaunch.rank.pod import launcher_text

# Each process adds what it is given to one file, and ends with the status that its second word says.
RECORD = """
import os, sys
folder, status, *argv = sys.argv[1:]
seen = {"argv": argv, "env": dict(os.environb), "cwd": os.getcwd(), "host": os.uname()[1]}
file = os.open(os.path.join(folder, "seen"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(file, repr(seen).encode() + b"\\n")
sys.exit(int(status))
"""
IN_ONE = {
    "openmpi": ("mpirun", "-np", "2", "--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"),
    "mpich": ("mpiexec.mpich", "-n", "2"),
    "none": (),
}


class Ran(Rank):
    """A process. `what` is its first word."""

    @property
    def what(self) -> str:
        return self.argv[0]


def record(folder: Path, *words: str, status: int = 0) -> list[str]:
    """A command that is recorded as these words, and ends with this status."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    return [sys.executable, "-c", RECORD, str(folder), str(status), *words]


def step(
    when: str, per: str, command: Sequence[str], title: str = "a step", optional: bool = False
) -> list[str]:
    """The words of a step."""
    return [
        f"{when}={per}",
        f"title={title}",
        *(["optional=1"] if optional else []),
        *(f"={word}" for word in command),
    ]


def launch(
    pods: Pods,
    mpi: str,
    command: Sequence[str],
    steps: Sequence[list[str]],
    *trials: str,
    shell: str = "dash",
    one_pod: bool = False,
    settings: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
    **pod: Any,
) -> subprocess.CompletedProcess[bytes]:
    """Four ranks on two workers, or two (of mpi=none one) in the launcher's own pod. `trials` are settings of
    trials, `settings` of the ranks' wrapper alone."""
    words = launcher_words(
        pods, mpi, command, steps, *trials, one_pod=one_pod, settings=settings, shell=shell
    )
    return run_launcher(pods, words, env, **pod)


def launcher_words(
    pods: Pods,
    mpi: str,
    command: Sequence[str],
    steps: Sequence[list[str]],
    *trials: str,
    one_pod: bool = False,
    settings: tuple[str, ...] = (),
    shell: str = "dash",
) -> list[str]:
    """The whole command line of the launcher's container."""
    alone = ["from=local", "rank=0", "ranks=1"] if one_pod else [RANKS_FROM[mpi]]
    ranks = ["from=local", "rank=0", "ranks=1"] if mpi == "none" else [RANKS_FROM[mpi]]
    both = ["rendezvous=torch", "port=29500"]
    if one_pod:
        given, starter = [f"mpi={mpi}"], [*IN_ONE[mpi]]
    else:
        hosts = pods.hostfile(HOSTFILE_FORMS[mpi])
        given = [f"mpi={mpi}", f"hosts={hosts}", f"ssh={PORT}", pods.keys()]
        starter = [*STARTERS[mpi], str(hosts)]
    words = [
        *given,
        "--",
        *starter,
        *_wrapper([*ranks, *both, *settings]),
        *("--", "JOB=its own\n'value'", "--"),
        *(f"={word}" for word in command),
        "--",
        *_wrapper([*alone, *both]),
        "--",
        *trials,
        *(word for each in steps for word in each),
    ]
    return [*shell_words(shell), "-c", launcher_text(given, steps=True), "hpclaunch-launcher", *words]


def _wrapper(settings: list[str]) -> list[str]:
    return ["/bin/sh", "-c", wrapper_text(settings), "hpclaunch-rank", *settings]


def ran(folder: Path) -> list[Ran]:
    """All that ran, in the order in which it did."""
    file = folder / "seen"
    return [Ran(**ast.literal_eval(line)) for line in file.read_text().splitlines()] if file.exists() else []


def said(result: subprocess.CompletedProcess[bytes]) -> list[str]:
    """What hpclaunch itself says, without its name."""
    lines = result.stderr.decode().splitlines()
    return [line.removeprefix("hpclaunch: ") for line in lines if line.startswith("hpclaunch: ")]
