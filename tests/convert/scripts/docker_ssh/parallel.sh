#!/bin/bash
# Containers by pdsh; a loop over numbers that name the hosts, which is no loop of trials.
FLEET=gpu-[01-03]
pdsh -w $FLEET "docker run -d --rm --gpus all --net host --name birds -v /srv/birds:/birds -w /birds reg.example/birds:2 sleep infinity"
for number in 01 02 03; do
  ssh gpu-$number "docker exec -e OMP_NUM_THREADS=8 birds torchrun --nnodes=3 --nproc_per_node=4 --node_rank=$((10#$number-1)) --master_addr=gpu-01 --master_port=29400 fly.py --epochs 3" &
done
wait
pdsh -w $FLEET docker rm -f birds
