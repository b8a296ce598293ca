#!/bin/bash
#SBATCH -J trio -t 10 --qos=high -A "my team" -o run.out
#SBATCH --partition=first -N 1 -n 8 --gres=gpu:8
#SBATCH hetjob
#SBATCH -N 2 -n 32 --gres=gpu:16 -p second -q low
#SBATCH hetjob
#SBATCH -N 1 -n 4 --gres=gpu:4
srun --mpi=pmix --het-group 0 ./server : --het-group=1 ./client --het-group 1 : --pack-group 2 ./watch
