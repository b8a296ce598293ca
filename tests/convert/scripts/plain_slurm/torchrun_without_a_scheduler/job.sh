#!/bin/bash
NNODES=4
python -m torch.distributed.run --nnodes $NNODES --node_rank $1 --nproc_per_node 8 --master_addr 10.0.0.1 train.py
