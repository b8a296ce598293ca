#!/bin/bash
#COBALT -n 16
#COBALT -t 90
#COBALT -A lab -q full-node
N=$(cat $COBALT_NODEFILE | wc -l)
export OMP_NUM_THREADS=4
$MPI_HOME/bin/mpirun -np 128 -hostfile $COBALT_NODEFILE --bind-to none -x OMP_NUM_THREADS --mca btl self ./t
