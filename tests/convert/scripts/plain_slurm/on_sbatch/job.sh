#!/bin/bash
#SBATCH --nodes=1 --gpus-per-node=8 --time=60
#SBATCH --container-image="nvcr.io#nvidia/pytorch:24.05-py3"
#SBATCH --container-mounts=/data:/data
python -u train.py --data /data
