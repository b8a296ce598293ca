"""Names of the programs that start jobs, ranks, containers and shells, where a text is looked at and no
command line is read (`layers` reads those)."""

import re

SUBMITTERS = ("sbatch", "salloc")
OTHER_SUBMITTERS = ("qsub", "bsub", "oarsub", "condor_submit", "gantry")
STEPS = ("srun",)
# What pbsrun_wrap of PBS Professional makes of the mpirun that it puts its own in front of: MPICH's, and that
# of Intel MPI and MVAPICH2, which are made of it (pbsrun_wrap(8B)).
BY_WRAPPED = ("mpirun.actual", "mpiexec.actual")
# mpirun by all its names: Open MPI's and PRRTE's, MPICH's and Intel MPI's, and Debian's for those that stand
# beside another.
BY_MPIRUN = (
    *("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun"),
    *(
        "mpirun.openmpi",
        "mpiexec.openmpi",
        "mpirun.mpich",
        "mpiexec.mpich",
        "mpirun.mpich2",
        "mpiexec.mpich2",
    ),
    *BY_WRAPPED,
    "mpirun.lsf",  # of LSF, which starts the mpirun of the MPI that -a names (bsub(1), -a)
)
BY_OTHER_MPI = ("charmrun", "ibrun", "mpirun_rsh", "mpiexec.slurm", "mpiexec_mpt")
# Launchers of other schedulers, which jsrun.py reads. Its others have names that stand for other things too.
BY_JSRUN = ("jsrun", "aprun", "flux")
BY_MPI = (*BY_MPIRUN, "horovodrun", *BY_OTHER_MPI)
GPU_LAUNCHERS = ("torchrun", "torchrun_jsc", "deepspeed", "accelerate", "composer", "colossalai", "baguarun")
# Those that Python starts by their module (python -m).
GPU_MODULES = (
    *("torch.distributed.launch", "torch.distributed.run", "deepspeed.launcher.runner"),
    *("accelerate.commands.launch", "bagua.distributed.launch", "bagua.distributed.run"),
    *("oneflow.distributed.launch", "torchrun_jsc"),
)
BY_TORCH = (*GPU_LAUNCHERS, *GPU_MODULES)
# Commands that start a process for each GPU by themselves: colossalai's cli (colossalai/cli), torchtune's
# `tune run`, torchx's `dist.ddp`, Lightning's `fabric run`, LLaMA-Factory's cli.py (torchrun where there are
# several GPUs), axolotl's cli (accelerate), swift's cli/main.py (torchrun where NPROC_PER_NODE says so).
FOR_EACH_GPU = (
    r"(?:colossalai run|tune run|torchx run|(?:lightning|fabric) run|llamafactory-cli train"
    r"|axolotl train|swift (?:sft|pt|rlhf))"
)
DOCKERS = ("docker", "nvidia-docker", "podman", "podman-hpc")
SINGULARITIES = ("singularity", "apptainer")
CONTAINERS = (*DOCKERS, *SINGULARITIES)
IMPORTERS = ("enroot",)
REMOTE = ("ssh", "rsh", "pdsh", "clush", "pssh", "parallel-ssh")
SHELLS = frozenset(("sh", "bash", "dash", "ash", "ksh", "zsh"))
GIVES_TEXT = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")  # an option of theirs, which a text is behind: bash -lc TEXT
# env's options and variables stand before what it starts.
_FIRST_LINE = re.compile(r"#![ \t]*(?:\S*/env[ \t]+(?:(?:-\S+|\w+=\S*)[ \t]+)*)?(?:\S*/)?(\w[\w.+-]*)")


def any_of(*groups: tuple[str, ...]) -> str:
    """The names as a pattern, not one of which is cut short by another."""
    names = sorted((name for group in groups for name in group), key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, names))})"


# Where one that submits begins a command in a text.
SUBMITS = re.compile(rf"(?:^|[\s;&|(`]){any_of(SUBMITTERS)}(?=[\s;]|$)")
# Where one of those that start ranks stands in a text, with what it starts.
MAY_START = re.compile(rf"(?:^|[\s;&|(/`\"']){any_of(STEPS, BY_MPI, BY_TORCH)}(?=\s+[^\s;&|)])", re.MULTILINE)


def interpreter(text: str) -> str:
    """The program that the first line of a script names, without its folder, "" where it names none."""
    found = _FIRST_LINE.match(text)
    return found[1] if found else ""
