#!/bin/bash
#SBATCH -J x -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 20
if [ -f ckpt/latest ]; then
  srun --mpi=pmix ./train --resume
else
  srun --mpi=pmix ./train --fresh
fi
