#!/bin/bash
#SBATCH -J three -t 10
#SBATCH -N 1 -n 1 --gres=gpu:1
#SBATCH hetjob
#SBATCH -N 1 -n 8 --gres=gpu:8
#SBATCH hetjob
#SBATCH -N 2 -n 8 --gres=gpu:4
srun --mpi=pmix --het-group=0 ./server : --het-group=1-2 ./client
