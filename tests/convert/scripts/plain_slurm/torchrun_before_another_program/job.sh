#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 30
torchrun --nproc_per_node=8 train.py
python eval.py
