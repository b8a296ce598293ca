"""What runs in the pods of an MPIJob: POSIX sh texts with small protocols, as the rank wrapper is one.

The launcher's text prepares mpirun for the workers and becomes it. Its arguments are
SETTING=value... -- mpirun WORD...

    mpi=openmpi|intel|mpich    whose mpirun it is; Open MPI 4 and 5
    hosts=/etc/mpi/hostfile    the operator's list of workers; without it all ranks are in this pod
    wait=SECONDS               how long until each worker must take a connection, else a minute: the operator
                               may have waited for the pods, and their names not be in DNS yet
    ssh=PORT                   where the workers' sshd listens; without it commands go by kubectl exec
    keys=DIR, home=DIR         the folder of the ssh key, and HOME where the image's does not fit the user
    kit=DIR                    bin/ssh is there, in an image that has none

The ranks get, by name, what is in the launcher's environment at its start: the image's, and the pod's with
its secrets. Left out is what belongs to the pod itself (HOME, HOSTNAME, KUBERNETES_*, the NVIDIA runtime's)
and to mpirun. The rank wrapper finds in HPCLAUNCH_MASTER where the first worker is.

A job that does more than to start its ranks once has a launcher that stays: it runs setup, for each trial
before_each and the ranks, and after. The words that follow are

    ... -- =word... --         the ranks' as above; each word of a command has a = before it
    /bin/sh -c WRAPPER ...     for a process that is alone on its node or in the job, if a step needs that
    --
    trials=N                   and seed=NAME, first_seed=N, keep_going=1
    WHEN=PER title=TEXT optional=1 =word...    each step: setup, before_each, after; per node, job or rank

With mpi=none there is no mpirun: the one rank of a pod is started by its wrapper alone.

The text of the init container that copies folders to a worker's node has SOURCE TARGET NAME for each.

The workers' text becomes sshd, with nothing of the image's configuration: SETTING=value...

    port=, keys=DIR, home=DIR
    kit=DIR                    sbin/sshd is there, in an image that has none

A command that is run beside a rank of a running job has RANK RANKS =word... : the rank has these variables.
"""

from collections.abc import Sequence

from hpclaunch.rank import read

_LAUNCHER = (
    *("begin", "hosts", "ssh", "exec", "wait", "address", "master", "carry"),
    *("workdir", "openmpi", "hydra", "run", "parts", "start", "steps"),
)

# Which variables tell a rank its number, and that of all ranks.
_NUMBERS = {
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "hydra": ("PMI_RANK", "PMI_SIZE"),
    "local": ("", ""),
}


def launcher_text(settings: Sequence[str], steps: bool = False) -> str:
    """The launcher's text as it is handed to `/bin/sh -c`: what its settings ("mpi=openmpi") need. With
    `steps` it runs steps and trials, of the words that it has then."""
    given = dict(setting.partition("=")[::2] for setting in settings)
    several = "hosts" in given
    by_ssh = "ssh" in given
    open_mpi, hydra = given.get("mpi") == "openmpi", given.get("mpi") not in ("openmpi", "none")
    needed = {
        "hosts": several,
        "ssh": several and by_ssh,
        "exec": several and not by_ssh,
        "wait": several,
        "address": several and not (by_ssh and open_mpi),
        "master": several and not by_ssh,
        "carry": several,
        "workdir": open_mpi or hydra,
        "openmpi": open_mpi,
        "hydra": hydra,
        "run": not steps,
        "parts": steps,
        "start": steps,
        "steps": steps,
    }
    return "\n".join(read("pod/launcher", part) for part in _LAUNCHER if needed.get(part, True))


def worker_text(settings: Sequence[str]) -> str:
    """The workers' text, likewise."""
    kit = any(setting.startswith("kit=") for setting in settings)
    return "\n".join(read("pod/worker", part) for part in ("begin", "kit" if kit else "image", "serve"))


def stage_in_text() -> str:
    """The text of the init container that brings folders to a worker's node."""
    return read("pod/stage_in", "copy")


def beside_rank(rank_from: str, number: int, ranks: int, words: Sequence[str]) -> list[str]:
    """What runs `words` in the container of a rank, with its environment and in its folder. `rank_from` is
    the setting `from` of the rank's wrapper; with local the rank is the container's first process."""
    of_rank, of_all = _NUMBERS[rank_from]
    given = [f"{of_rank}={number}", f"{of_all}={ranks}"] if of_rank else ["", ""]
    text = read("pod/inside", "run")
    return ["/bin/sh", "-c", text, "hpclaunch-inside", *given, *(f"={word}" for word in words)]
