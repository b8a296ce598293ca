#!/bin/bash
#SBATCH -J bound -N 2 -t 1:00:00 --gres=gpu:8 --ntasks-per-node=8
export SLURM_CPU_BIND=none SLURM_MPI_TYPE=pmi2
srun ./app &
run=$!
wait $run
