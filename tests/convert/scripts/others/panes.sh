#!/bin/bash
tmux new-session -d -s moth "ssh n1 'docker exec c1 torchrun --nnodes 2 --node_rank 0 --nproc_per_node 8 fly.py'"
