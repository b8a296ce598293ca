#!/bin/bash
#SBATCH -J x -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 20
export SEED=42
for i in 1 2 3; do
  srun --mpi=pmix ./train --id $i
done
