#!/bin/bash
#SBATCH -N 2 --gpus-per-node=8 --ntasks-per-node=1 -t 60
srun --container-image=a/b:1 --container-mounts=$PWD:/code bash -c "
  torchrun --nnodes=\$SLURM_NNODES --nproc-per-node=8 --node-rank=\$SLURM_NODEID \
    --master-addr=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1) train.py"
