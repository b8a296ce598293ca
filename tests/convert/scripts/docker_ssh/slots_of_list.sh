#!/bin/bash
cat > hostfile <<EOF
elk-0 slots=4
elk-1 slots=4
elk-2 slots=4
EOF
for h in elk-0 elk-1 elk-2; do
  ssh $h docker run -itd --gpus all --network host -v /nfs:/nfs --name antler reg.example/antler:22 bash
done
docker exec antler deepspeed --hostfile=/nfs/hostfile --master_port 12345 /nfs/grow.py --deepspeed_config /nfs/ds.json
