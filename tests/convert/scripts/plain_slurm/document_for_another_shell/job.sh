#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 30
N=16
bash <<EOF
mpirun -np $N ./t
EOF
