sbatch -N 2 -n 8 -t 15 --gres=gpu:4 -J bench --wrap="srun --mpi=pmix ./allreduce -b 8M"
