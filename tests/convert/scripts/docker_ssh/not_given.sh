#!/bin/bash
for h in n1 n2; do
  ssh $h docker run -d --name c --gpus 8 reg.example/list:1 sleep infinity
done
docker exec c mpirun -H n1:8,n2:8 -np 16 -x OMPI_MCA_mca_base_param_files=/d/mca_params.conf ./train
