#!/bin/bash
#SBATCH -J x -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 90
mpirun -wdir /work --bind-to none ./a
