#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --time=60
#SBATCH --export=NONE
export NCCL_DEBUG=INFO
srun --mpi=pmix ./solve
