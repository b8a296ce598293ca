#!/bin/bash
#SBATCH -J coupled -N 4 --ntasks-per-node=8 --gres=gpu:8 -t 20
srun --mpi=pmix -n 24 ./ocean : -n 8 ./atmos
