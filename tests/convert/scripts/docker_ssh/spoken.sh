#!/bin/bash
# The hosts get their commands on standard input, and mpirun its hosts from a list that has slots.
BARNS=(barn1 barn2)
for b in "${BARNS[@]}"; do
ssh $b bash -s <<EOF
docker stop hay || true
nvidia-docker run -d --rm --name hay --net=host -v /raid/hay:/hay -v ~/.ssh:/keys/.ssh:ro reg.example/hay:1 sleep infinity
EOF
done
ssh barn1 "docker exec hay horovodrun -np 8 -H barn1:4,barn2:4 --verbose python /hay/stack.py --rank-by size"
