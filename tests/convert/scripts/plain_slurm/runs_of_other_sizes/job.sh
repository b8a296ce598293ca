#!/bin/bash
#SBATCH -J several -N 4 --ntasks-per-node=8 --gres=gpu:8 -t 20
mpirun -np 32 ./train
mpirun -np 4 ./evaluate
mpirun -np 16 ./pack
