#!/bin/bash
# A line for each host: what differs is the number of the node alone.
clush -w ox[1-2] docker run -d --name plow --gpus '"device=0,1"' --network host -v /data/plow:/plow reg.example/plow:5 tail -f /dev/null
clush -w ox1 "docker exec -d plow bash -c 'cd /plow && . ./env.sh && NODE_RANK=0 MASTER_ADDR=ox1 MASTER_PORT=6000 ./pull.sh --first ox1'"
clush -w ox2 "docker exec -d plow bash -c 'cd /plow && . ./env.sh && NODE_RANK=1 MASTER_ADDR=ox1 MASTER_PORT=6000 ./pull.sh --first ox1'"
