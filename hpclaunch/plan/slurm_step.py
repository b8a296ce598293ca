"""The options of srun: how ranks are laid out, and who binds them."""

from collections.abc import Iterable

from hpclaunch.spec.job import Job
from hpclaunch.values.launchplan import Common
from hpclaunch.values.names import PMIX_FENCE
from hpclaunch.values.words import EnvVar, Option


def options(
    job: Job, common: Common, plugin: str, gres: str, bind: tuple[Option, ...], cpus: tuple[Option, ...]
) -> tuple[Option, ...]:
    """The options but for those of the fabric and of slices. `cpus` says how many a step has, where it must
    be said, and `bind` what Slurm itself does not bind."""
    ranks = common.nodes * common.ranks_per_node
    lines = [
        Option(f"--nodes={common.nodes}"),
        Option(f"--ntasks={ranks}"),
        Option(f"--ntasks-per-node={common.ranks_per_node}"),
        # From 26.05 `block` follows the network's topology, and rank 0 need not be on the step's first host.
        Option(f"--distribution=plane={common.ranks_per_node}", "rank 0 is on the step's first host")
        if job.rendezvous == "torch"
        else Option("--distribution=block"),
    ]
    if common.gpus_per_node:
        # No --gpu-bind: without one every rank sees all of the job's GPUs, which NVLink and CUDA IPC need;
        # `--gpu-bind=none` makes 22.05 leave CUDA_VISIBLE_DEVICES out.
        lines.append(Option(f"--gres={gres}"))
    lines += [
        *cpus,
        *bind,
        Option(f"--mpi={plugin}"),
        Option("--export=ALL"),
        Option("--propagate=NONE"),
        Option("--kill-on-bad-exit=1", "one failing rank ends the job"),
        Option("--open-mode=append"),
    ]
    return tuple(lines)


def not_bound_by_slurm(job: Job, masks: bool) -> tuple[Option, ...]:
    """--cpu-bind=none and --mem-bind=none, where there are no masks: else the site's own default binds ranks
    to cores that Slurm chose, and the wrapper could not leave those."""
    options = []
    for option, policy in (("--cpu-bind", job.bind.cpus), ("--mem-bind", job.bind.memory)):
        if policy == "none" or not masks:
            why = "" if policy == "none" else "the rank wrapper binds"
            options.append(Option(f"{option}=none", why))
    return tuple(options)


def for_pmix(job: Job, environment: Iterable[EnvVar]) -> tuple[EnvVar, ...]:
    """What makes Slurm's PMIx plugin hold the ranks of one node until those of the others are there.

    Its default takes a tree for a barrier without data, and reverse_tree_info of src/common/reverse_tree.c
    makes each node a tree by itself where TreeWidth is more than the nodes (tags 20.11 to 26.05; seen on
    22.05.8). So the end of MPI_Init holds nobody, and Open MPI crashes in a rank that gets a message while it
    still waits for addresses there (open-mpi/ompi issue 12495). A ring, as for barriers with data, has all.
    What the job or its site says in the ranks' `environment` goes before that.
    """
    if job.mpi != "pmix":
        return ()
    said = tuple(each for each in environment if each.name == PMIX_FENCE)
    return said or (EnvVar(PMIX_FENCE, "ring", "hpclaunch"),)
