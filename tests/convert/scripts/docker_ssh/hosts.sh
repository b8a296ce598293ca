#!/bin/bash
# No scheduler: hosts by name, containers by ssh, mpirun through docker exec.
IMAGE=teams/waves:7
HOSTS=gpu01:4,gpu02:4,gpu03:4
for h in gpu01 gpu02 gpu03; do
  ssh $h "docker rm -f waves; NV_GPU=0,1,2,3 nvidia-docker run -d --net=host -v /srv/waves:/srv/waves --name waves $IMAGE sleep infinity"
done
sleep 15
docker exec -w /srv/waves waves mpirun -np 12 -H $HOSTS --map-by ppr:4:node --mca pml ucx -mca plm_rsh_agent /srv/waves/agent.sh -x UCX_TLS=rc,cuda -x PATH --report-bindings ./waves --grid 512 512
for h in gpu01 gpu02 gpu03; do ssh $h docker rm -f waves; done
