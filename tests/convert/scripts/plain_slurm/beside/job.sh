#!/bin/bash
#SBATCH -N 2 --gpus-per-node=4 --ntasks-per-node=4 -t 10
nvidia-smi dmon > load.txt &
srun -N 1 -n 1 ./fetch &
wait
srun -N 1 -n 1 ./serve --forever &
srun --mpi=pmix ./solve
