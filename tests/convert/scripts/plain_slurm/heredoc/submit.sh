#!/bin/bash
SIZE=1024
for n in 1 2 4; do
  mkdir -p out
  sbatch <<EOF
#!/bin/bash
#SBATCH --nodes=$n
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH -J scaling -t 30
export OMP_NUM_THREADS=2
srun --mpi=pmix bash -c "./bench --rank \$SLURM_PROCID --size $SIZE"
EOF
done
