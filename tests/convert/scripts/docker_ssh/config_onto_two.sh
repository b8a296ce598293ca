DGXNNODES=2
DGXNGPU=4
WALLTIME=30
# line 5 is the one on which the script sources this file
RATE=0.5
