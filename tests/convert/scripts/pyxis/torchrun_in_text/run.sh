#!/bin/bash
#SBATCH -N 2 -n 2 --gpus-per-node=8 -t 60 --exclusive
IMAGE=/lustre/images/pt.sqsh
MASTER=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_ADDR=$MASTER MASTER_PORT=6000
srun --container-image=$IMAGE --container-mounts=/home/me/code:/code,/data --no-container-mount-home \
  bash -c "cd /code && torchrun --nproc_per_node=8 --nnodes=$SLURM_NNODES --node_rank=\$SLURM_NODEID --master_addr=$MASTER_ADDR train.py"
