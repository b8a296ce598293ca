#!/bin/bash
#SBATCH -J two -N 4 --ntasks-per-node=8 --gpus-per-node=8 -t 10
srun --mpi=pmix -N 3 -n 24 --exclusive ./learn &
srun --mpi=pmix -N 1 -n 8 --exclusive ./act &
wait
