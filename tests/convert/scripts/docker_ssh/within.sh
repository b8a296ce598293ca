#!/bin/bash
IMAGE=reg.example/yak:2
sbatch -J yak -N 2 --gpus-per-node=8 -t 2:00:00 <<EOF
#!/bin/bash
srun --ntasks-per-node=1 docker run --rm --gpus all --net=host -v /z:/z $IMAGE bash /z/go.sh 5
EOF
