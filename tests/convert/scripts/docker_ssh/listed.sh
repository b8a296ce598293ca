#!/bin/bash
for h in $(cut -d' ' -f1 hosts.txt); do
  ssh $h docker run -d --name c --gpus 8 -v /d:/d reg.example/list:1 sleep infinity
done
docker exec c mpirun --hostfile hosts.txt -np 16 -mca pml ob1 -x OMPI_MCA_mca_base_param_files=/d/mca_params.conf ./train
