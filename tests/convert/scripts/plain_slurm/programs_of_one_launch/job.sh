#!/bin/bash
#SBATCH -J coupled
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH --time=02:00:00
export LR=1
mkdir -p out
srun --mpi=pmix -N 3 -n 24 python ocean.py --fine : -N 1 -n 8 ./atmos
