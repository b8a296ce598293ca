"""What this rank really got, as one line of JSON: node, cores, memory, GPUs, HCAs, arguments, environment.

Needs nothing but Python 3; with mpi4py, started by an MPI launcher, it also sums over all ranks.
"""

import json
import os
import socket
import sys

# Set for every rank by PMIx (srun --mpi=pmix), PMI2, and Open MPI's mpirun.
LAUNCHERS = ("PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK")


def number(*names):
    """The first of these variables that is set, as a number; None if none is."""
    return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), None)


def status(name):
    """A line of /proc/self/status."""
    with open("/proc/self/status", encoding="utf-8") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name + ":")), "")


def memory_policy():
    """This process's memory policy, "default" or "bind:3", which the first line of numa_maps has."""
    try:
        with open("/proc/self/numa_maps", encoding="utf-8") as lines:
            return lines.readline().split()[1]
    except (OSError, IndexError):
        return "unknown"


def received():
    """All that can be seen without MPI."""
    environment = dict(os.environ)
    return {
        "hello": environment.get("HELLO", ""),
        "rank": number("RANK", "SLURM_PROCID", *LAUNCHERS),
        "size": number("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"),
        "node": environment.get("SLURMD_NODENAME") or socket.gethostname(),
        "local_rank": number("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"),
        "cpus_allowed": status("Cpus_allowed_list"),
        "cpu_bind": environment.get("SLURM_CPU_BIND"),
        "mems_allowed": status("Mems_allowed_list"),
        "memory_policy": memory_policy(),
        "mem_bind": environment.get("SLURM_MEM_BIND"),
        **{
            name: environment.get(name)
            for name in (
                "CUDA_VISIBLE_DEVICES",
                "UCX_NET_DEVICES",
                "NCCL_IB_HCA",
                "MASTER_ADDR",
                "MASTER_PORT",
            )
        },
        "argv": sys.argv,
        "cwd": os.getcwd(),
        "environment": environment,
    }


def communicator():
    """(MPI's world, "") or (None, why there is none)."""
    if number(*LAUNCHERS) is None:
        return None, "no MPI: this rank was not started by an MPI launcher"
    try:
        from mpi4py import MPI
    except ImportError:
        return None, f"no MPI: {sys.executable} has no mpi4py"
    return MPI.COMM_WORLD, ""


def main():
    """Prints the line. Returns 1 when the ranks' sum is wrong."""
    mine = received()
    world, mine["mpi"] = communicator()
    if world is None:
        say([mine])
        return 0
    size = mine["size"]
    total = world.allreduce(world.Get_rank() + 1)
    right = total == size * (size + 1) // 2 and world.Get_rank() == mine["rank"]
    mine["mpi"] = f"{'sum' if right else 'WRONG sum'} of 1 to {size} over {world.Get_size()} ranks: {total}"
    # One writer: srun and mpirun forward output in pieces, and long lines of several ranks would mix.
    everybody = world.gather(mine)
    if everybody is not None:
        say(everybody)
    return 0 if right else 1


def say(ranks):
    """Writes one line for each rank, all at once."""
    sys.stdout.write("".join(json.dumps(rank) + "\n" for rank in ranks))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
