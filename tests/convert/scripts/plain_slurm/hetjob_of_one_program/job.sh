#!/bin/bash
#SBATCH -J unlike -t 10
#SBATCH -N 1 -n 8 --gres=gpu:8
#SBATCH hetjob
#SBATCH -N 2 -n 8 --gres=gpu:4
srun --het-group=0,1 --mpi=pmix ./solve --all
