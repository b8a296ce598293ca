#!/bin/bash
#SBATCH -J x -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 20
if [ "$MODE" = train ]; then
  srun --mpi=pmix ./train
fi
