#!/bin/bash
salloc -N 2 --gpus-per-node=8 -t 45 srun --ntasks-per-node=8 --mpi=pmix ./solve
