#!/bin/bash
#SBATCH --time=3:00:00
case "$1" in
 small) N=2;;
 big) N=64;;
 *) echo usage; exit 1;;
esac
srun -N $N --ntasks-per-node=8 --gpus-per-node=8 ./train
