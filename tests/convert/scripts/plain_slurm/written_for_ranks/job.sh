#!/bin/bash
#SBATCH -J md -N 2 -t 1:00:00 --gres=gpu:4 --ntasks-per-node=4
cat > wrap.sh <<'EOF'
#!/bin/bash
case $SLURM_LOCALID in
0|1) NODE=0;;
2|3) NODE=1;;
esac
exec numactl --cpunodebind=$NODE --membind=$NODE "$@"
EOF
srun --mpi=pmix ./wrap.sh ./md -s in.tpr
