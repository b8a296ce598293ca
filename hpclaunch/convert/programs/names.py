"""Names of programs: of those that start jobs, ranks, containers and shells, where a text is looked at and no
command line is read (`layers` reads those), and of those that stand beside a launch, with what they do."""

import re
from collections.abc import Mapping
from typing import Literal

Does = Literal["shell", "looks", "texts", "settings", "copies", "files", "scripts"]

SUBMITTERS = ("sbatch", "salloc")
OTHER_SUBMITTERS = ("qsub", "bsub", "oarsub", "condor_submit", "gantry")
STEPS = ("srun",)
BY_MPI = ("mpirun", "mpiexec", "prterun", "horovodrun", "charmrun", "ibrun", "mpirun_rsh")
BY_TORCH = ("torchrun", "deepspeed", "accelerate", "composer")
CONTAINERS = ("nvidia-docker", "docker", "podman", "singularity", "apptainer")
IMPORTERS = ("enroot",)
REMOTE = ("ssh", "pdsh")
SHELLS = frozenset(("sh", "bash", "dash", "ash", "ksh", "zsh"))
# Programs that stand beside a launch and start none of it, by what they do. `find`, `xargs` and their like
# start what their words say, and are not among them.
_BESIDE: Mapping[Does, str] = {
    # Commands and keywords of the shell that start nothing and change nothing of what is started.
    "shell": """
        set shopt echo printf true false : local declare typeset readonly unset shift return exit trap wait
        test [ [[ (( sleep type command read if then else elif fi for while until do done case esac function
        { } ( ) break continue let eval getopts select time ! mapfile alias unalias
    """,
    # They tell something of the machine, the user, the queue or a file.
    "looks": """
        cat date ls pwd hostname whoami id uname env which printenv lscpu free df uptime ibstat ibv_devinfo
        nvcc squeue sinfo getent
    """,
    # They make one text of another.
    "texts": "grep cut tr sort head awk sed paste seq basename dirname readlink wc od tee",
    # They look at the node or at the script's own shell, or change something of it: their words say which.
    "settings": "nvidia-smi dcgmi scontrol module ulimit",
    "copies": "cp rsync",
    "files": "mkdir rmdir rm mv ln touch chmod chown tar unzip dd sync",
    # They run a script that is a file.
    "scripts": f"python python3 {' '.join(sorted(SHELLS))}",
}


def that(*does: Does) -> frozenset[str]:
    """The programs beside a launch that do one of these."""
    return frozenset(name for each in does for name in _BESIDE[each].split())


PLUMBING = that("shell", "looks")  # without effect on what is launched
# env's options and variables stand before what it starts.
_FIRST_LINE = re.compile(r"#![ \t]*(?:\S*/env[ \t]+(?:(?:-\S+|\w+=\S*)[ \t]+)*)?(?:\S*/)?(\w[\w.+-]*)")


def any_of(*groups: tuple[str, ...]) -> str:
    """The names as a pattern, not one of which is cut short by another."""
    names = sorted((name for group in groups for name in group), key=len, reverse=True)
    return f"(?:{'|'.join(names)})"


def interpreter(text: str) -> str:
    """The program that the first line of a script names, without its folder, "" where it names none."""
    found = _FIRST_LINE.match(text)
    return found[1] if found else ""
