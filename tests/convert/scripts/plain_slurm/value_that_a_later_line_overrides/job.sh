#!/bin/bash
#SBATCH -J x -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 20
export LR=0.1
ARGS="--x 1"
srun --mpi=pmix ./train $ARGS
export LR=0.2
ARGS="--x 2"
./post $ARGS
