#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 30
export A=1
B=2
bash -c 'C=3; srun --mpi=pmix ./t $A $B $C $1' x y
