#!/bin/bash
# Two hosts by numbers; the loop's own number is an argument in the container.
for h in mole1 mole2; do ssh $h sudo docker run -d --name dig --gpus 8 --net=host -v /s:/s reg.example/dig:9 tail -f /dev/null; done
for r in 0 1; do ssh mole$((r+1)) "sudo docker exec dig /s/dig.sh $r 29500" & done
wait
