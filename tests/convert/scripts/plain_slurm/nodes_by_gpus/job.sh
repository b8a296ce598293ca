#!/bin/bash
#SBATCH -J x --gpus=16 --gpus-per-node=8 --ntasks-per-gpu=1 -t 90
srun --mpi=pmix ./a
