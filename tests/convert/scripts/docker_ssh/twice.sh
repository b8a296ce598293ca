#!/bin/bash
# Texts in texts: the number of the host is put in by the outer shell, in both.
HERD=("a1" "a2" "a3")
for h in "${HERD[@]}"; do ssh $h docker run -d --name ram --gpus 2 -v /h:/h reg.example/ram:1 sleep infinity; done
for (( i=0; i<${#HERD[@]}; i++ )); do
  H=${HERD[$i]}
  nohup ssh $H "docker exec -w /h ram bash -lc 'torchrun --nnodes=3 --nproc_per_node=2 --node_rank=$i --master_addr=a1 --master_port=7777 run.py --part $i'" > log.$H 2>&1 &
done
