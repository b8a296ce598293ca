#!/bin/bash
#PJM -L "rscgrp=large"
#PJM -L elapse=01:00:00,node=16
#PJM --mpi "max-proc-per-node=4"
#PJM -j
mpiexec -n 64 -of out.log ./sweep_cells
