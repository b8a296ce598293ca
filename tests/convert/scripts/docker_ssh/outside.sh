#!/bin/bash
# horovod over docker, no scheduler
mpirun -np 16 -H server1:8,server2:8 -bind-to none -map-by slot -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib docker exec hvd python train_imagenet.py --batch 64
