srun -N4 --ntasks-per-node=1 --mpi=pmix --container-image nvcr.io#nvidia/caffe:20.03-py3 \
    --container-mounts /raid/imagenet:/data,/scratch:/scratch \
    caffe train --solver /scratch/solver.prototxt --gpu=all
