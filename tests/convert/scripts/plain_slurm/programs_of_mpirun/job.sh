#!/bin/bash
#SBATCH -J coupled -N 4 --ntasks-per-node=8 --gres=gpu:8 -t 20
mpirun -x LR=2 --bind-to none -np 24 ./train : -np 8 ./evaluate --every 10
