#!/bin/bash
#SBATCH -N 2 -t 5 --ntasks-per-node=4 --gres=gpu:4 --exclusive
srun --mpi=none --cpu-bind=verbose,mask_cpu:0xff,0xff00 --mem-bind=prefer,mask_mem:1 -K0 \
    numactl --localalloc ./app
