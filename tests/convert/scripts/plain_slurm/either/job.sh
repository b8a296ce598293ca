#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60
if [ "$SLURM_NNODES" -gt 1 ]; then export NCCL_NET=IB; else export NCCL_NET=Socket; fi
if [ -d /scratch/x ]; then
  export DATA=/scratch/x
else
  export DATA=/lustre/x
fi
[ -f /etc/fast ] && EXTRA=--fast
export TMPDIR=/raid/tmp
srun --mpi=pmix ./solve $EXTRA
