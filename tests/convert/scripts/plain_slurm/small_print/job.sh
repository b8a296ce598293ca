#!/bin/bash
#SBATCH -J solve -N 4 -t 2:00:00 --gpus-per-node=4
#SBATCH -D /lustre/proj
module purge; module load intel/2021 impi/2021
set -a
SOLVER=amg
LEVELS=5
set +a
LOCAL_ONLY=1
cd cases/wing
mpiexec.hydra -n 16 -ppn 4 -genv OMP_NUM_THREADS 8 -genv I_MPI_PIN_DOMAIN=socket -f hosts ./app in.dat
