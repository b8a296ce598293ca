"""What srun and mpirun start on a node where no line says how many ranks there are."""

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.mapping.ranks import mpi
from hpclaunch.convert.mapping.slurm.numbers.sizes import Allocation
from hpclaunch.convert.mapping.slurm.srun.sruns import Step
from hpclaunch.convert.programs.layers import MPI, layers

WHY = "no line says how many tasks there are: srun starts one on each node"


def is_one_on_each(run: Step, found: Allocation) -> bool:
    """Whether srun starts one rank on each node, as it does where no line says how many."""
    said = {"tasks", "per_node", "tasks_per_gpu"} & found.places.keys()
    asked = any(each.name.startswith("ntasks") for each in run.asked)
    programs = {layer.program for layer in layers(run.command.words)}
    by_srun = "srun" in programs and programs.isdisjoint(MPI)
    return by_srun and not said and not asked and run.ranks.per_node == 1


def say(run: Step, found: Allocation, draft: Draft) -> None:
    """srun and mpirun start one on each node where nobody says otherwise; who gives sbatch the nodes, as one
    who has them of a configuration, may do that."""
    said = {"nodes", "tasks", "per_node", "tasks_per_gpu"} & found.places.keys()
    if all(place.file != run.command.place.file for place in found.places.get("nodes", ())):
        said -= {"nodes"}
    if said or any(each.name.startswith("ntasks") or each.name == "nodes" for each in run.asked):
        return
    its = layers(run.command.words)
    todo = "write `ranks_per_node` in the job file, or give --set ranks_per_node=..."
    why = "srun starts one on each node, unless the operator gave sbatch a number of them (--ntasks-per-node)"
    by_mpirun = next((layer for layer in its if layer.program in MPI), None)
    hosts = by_mpirun is not None and (by_mpirun.option("host") or by_mpirun.option("hostfile"))
    if by_mpirun is not None and not hosts and mpi.told_by(by_mpirun, lambda option: 1) is None:
        why = (
            f"without -np {by_mpirun.called} starts one in each slot: those of sbatch, or the cores it finds"
        )
    elif by_mpirun is not None or all(layer.program != "srun" for layer in its):
        return
    draft.say("question", (run.command.place,), "no line says how many ranks", why=why, todo=todo)
