STYLE="tall"
DGXNNODES=2
DGXSYSTEM=$(basename $(readlink -f ${BASH_SOURCE[0]}) | sed 's/^config_//' | sed 's/\.sh$//' )
WALLTIME=00:40:00
DGXNGPU=16
DGXIBDEVICES='--device=/dev/infiniband/rdma_cm --device=/dev/infiniband/uverbs10'
