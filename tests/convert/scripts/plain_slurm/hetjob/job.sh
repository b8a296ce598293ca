#!/bin/bash
#SBATCH -J pair -t 10
#SBATCH -N 1 -n 8 --gres=gpu:8
#SBATCH hetjob
#SBATCH -N 2 -n 32 --gres=gpu:16
srun --mpi=pmix ./server : ./client
