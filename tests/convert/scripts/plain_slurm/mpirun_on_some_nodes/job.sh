#!/bin/bash
#SBATCH -J some -N 4 --ntasks-per-node=8 --gres=gpu:8 -t 20
mpirun -np 16 ./train
