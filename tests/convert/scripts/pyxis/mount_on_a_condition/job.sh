#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 30
[ -d /s ] && M=/s:/s
srun --mpi=pmix --container-image=a/b ${M:+--container-mounts=$M} ./t
