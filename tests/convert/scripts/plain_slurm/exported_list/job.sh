#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --time=60
#SBATCH --export=NONE
export NCCL_DEBUG=INFO OMP_NUM_THREADS=7
export HIDDEN=1
srun --export=NCCL_DEBUG,LAYERS=24,FROM_THE_USER,HUB_TOKEN=abc123def --mpi=pmix ./solve
