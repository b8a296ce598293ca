srun -p gpu -A team -N 2 --gres=gpu:8 --ntasks-per-node=8 -t 10 --mpi=pmix \
    numactl --cpunodebind=0 --membind=0 ./a.out | tee log.txt
