#!/bin/bash
docker swarm init --advertise-addr 10.0.0.1
docker service create --name bees --replicas 4 --mount type=bind,src=/nfs,dst=/nfs reg.example/bees:1 python /nfs/hum.py
