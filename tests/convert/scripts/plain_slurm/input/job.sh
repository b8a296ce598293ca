#!/bin/bash
#SBATCH -N 1 --gpus=4 -t 10
NP=$(nvidia-smi -L | wc -l)
IMAGE_SIZE=${IMAGE_SIZE:-224}
torchrun --standalone --nproc_per_node=$NP train.py --size $IMAGE_SIZE "a < b" < words.txt
