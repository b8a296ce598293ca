#!/bin/bash
#SBATCH -J x -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 20
module load cuda/12; source /opt/env.sh
source venv/bin/activate; module load gcc
srun --mpi=pmix ./train
