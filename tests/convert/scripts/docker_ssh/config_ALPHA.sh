#!/bin/bash
## model
BATCH=104
BACKEND="horovod"
RATE="2.5"

## system
DGXNNODES=4
WALLTIME=03:00:00
DGXNGPU=8
DGXSOCKETCORES=20
DGXHT=2
DGXIBDEVICES='--device=/dev/infiniband/rdma_cm --device=/dev/infiniband/uverbs0 --device=/dev/infiniband/uverbs1'
