#!/bin/bash
#$ -l rt_F=16
#$ -l h_rt=1:30:00
#$ -N grains
#$ -cwd
sed -e 's/$/ slots=4/' $SGE_JOB_HOSTLIST > hostfile
mpirun -npernode 4 --mca btl openib --hostfile hostfile -x KIND=fine ./bind.sh ./grains
