#!/bin/bash
#SBATCH -N 2
#SBATCH --gres=gpu:4
#SBATCH --ntasks-per-node=4
#SBATCH -t 1:00
for lr in 0.1 0.01; do
  for seed in 1 2 3; do
    srun --mpi=pmix python train.py --lr $lr --seed $seed > out_${lr}_${seed}.log 2>&1
  done
done
