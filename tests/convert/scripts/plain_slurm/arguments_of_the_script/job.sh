#!/bin/bash
sbatch <<EOT
#!/bin/bash
#SBATCH -J x -N ${1:-4} --ntasks-per-node=8 --gpus-per-node=8 -t 90
srun --mpi=pmix ./a
EOT
