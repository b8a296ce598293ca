#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-socket=2 --sockets-per-node=2 -t 10
STEPS=5
timeout 300 srun --mpi=pmix bash <<EOF
cd /work
exec ./solve --steps $STEPS --rank \$SLURM_PROCID
EOF
