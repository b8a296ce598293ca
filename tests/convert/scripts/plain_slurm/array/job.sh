#!/bin/bash
#SBATCH --array=0-2
#SBATCH --gres=gpu:1
#SBATCH --time=12:00:00
RATES=(0.1 0.01 0.001)
RATE=${RATES[$SLURM_ARRAY_TASK_ID]}
python train.py --lr $RATE
