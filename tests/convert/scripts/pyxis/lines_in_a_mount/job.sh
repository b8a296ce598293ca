#!/bin/bash
#SBATCH -N 2 --gpus-per-node=8 --ntasks-per-node=8 -t 60
MODELS="/data/models
/old/models"
srun --mpi=none --container-image=a/b:1 --container-mounts="/logs:/results,$MODELS:/models" ./train
