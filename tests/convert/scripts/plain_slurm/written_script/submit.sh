#!/bin/bash
NODES=${1:-2}
for lr in 0.1 0.2; do
cat > ./job_$NODES.sh <<EOT
#!/bin/bash
#SBATCH -N $NODES
#SBATCH --gpus-per-node=8 --ntasks-per-node=8
export RATE=$lr
srun --mpi=pmix python train.py --lr $lr --rank \$SLURM_PROCID
EOT
sbatch -t 90 job_$NODES.sh
done
