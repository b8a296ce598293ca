#!/bin/bash
#SBATCH -J x -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 20
(cd data && ./check || exit 1)
(
  module load cuda
  source /opt/env.sh
  [ -f done ] && exit 0
)
srun --mpi=pmix ./train
