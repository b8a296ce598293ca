#!/bin/bash
mpirun --hostfile hosts.txt -np 16 --bind-to none ./train
