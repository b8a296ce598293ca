#!/bin/bash
#SBATCH -J x -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 10
srun --ntasks-per-node=1 enroot create -n x /shared/x.sqsh
srun --mpi=pmix enroot start --mount /data:/data x ./train
