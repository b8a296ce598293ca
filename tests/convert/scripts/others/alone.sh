#!/bin/bash
docker run --gpus all --rm --ipc=host -v /srv/data:/data:ro -e LEVEL=3 -w /work nvcr.io/nvidia/pytorch:24.01-py3 torchrun --standalone --nproc_per_node=8 train.py --data /data
