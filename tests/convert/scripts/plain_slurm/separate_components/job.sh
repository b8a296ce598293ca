#!/bin/bash
#SBATCH -J rl -N 4 --ntasks-per-node=8 --gres=gpu:a100:8 -t 30 -p big
#SBATCH hetjob
#SBATCH -N 1 --ntasks-per-node=4 --gres=gpu:v100:4 -p small
srun --mpi=none --het-group=0 ./learn &
srun --mpi=none --het-group=1 ./act &
wait
