#!/bin/bash
#SBATCH --gres=gpu:1 -c 8 --mem=64G -t 4:00:00
#SBATCH --requeue
python3 eval.py --ckpt last.pt
