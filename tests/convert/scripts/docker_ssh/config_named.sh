export BATCH=64
export RATE="1e-3"
export DGXNGPU=8
own=7
export WALLTIME=02:00:00
