#!/bin/bash
#SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8 -t 30
head=$(hostname)
srun --nodes=1 --ntasks=1 -w "$head" --mpi=none --container-image=a/b ray start --head --port 6379 --block &
sleep 10
srun --nodes=3 --ntasks=3 -x "$head" --mpi=none --container-image=a/b ray start --address auto --block &
sleep 5
python train.py
